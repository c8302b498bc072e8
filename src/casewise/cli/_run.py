"""``casewise run``."""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from casewise.cli._console import Format, command_line, err, note, note_all
from casewise.cli._main import case_files, contexts
from casewise.cli._options import grouped
from casewise.cli._run_options import (
    EngineChoice,
    RunCost,
    RunOptions,
    new_log_dir,
    parse_model_args,
    parse_settings,
)
from casewise.cli._running import (
    end,
    note_lacking,
    print_estimates,
    print_judged,
    run_with_progress,
)
from casewise.cli._sweep import check_alone, run_sweep
from casewise.errors import UsageError
from casewise.files import address_of, place_of

if TYPE_CHECKING:
    from casewise.evaluation import Plan


@grouped
def run(context: typer.Context, options: RunOptions, cost: RunCost, engine: EngineChoice) -> None:
    """Run models over cases in their contexts, and score them against people.

    Without options, the embedded model (135 million parameters, offline) judges the bundled
    starter cases: a first look, in about a minute.

    [bold]Examples[/]

    casewise run

    casewise run --model openai/gpt-4o --cases casebench --protocol binary --dry-run

    casewise run -m vllm/Qwen/Qwen3-8B --cases mine.yaml --ablate none --ablate recipient

    casewise run -m casewise-hf/./my-checkpoint -M dtype=bfloat16

    casewise run -m openai/gpt-5 --protocol binary --generate reasoning_effort=high

    casewise run -m openai/gpt-4o --protocol respond --delivery system,claimed,none

    casewise run -m openai/gpt-4o --protocol respond --deployment therapy-support

    casewise run --target target.yaml --protocol respond --deployment our-card.yaml

    casewise run -m openai/gpt-4o --cases casebench --protocol binary --batch --log-dir logs/a

    casewise run sweep.yaml --max-cost 20

    casewise run sweep.yaml --engine ray --address 10.0.0.1:6379 --log-dir s3://bucket/run
    """
    if options.log_dir is not None:
        options = replace(options, log_dir=place_of(options.log_dir))
    if options.sweep is not None:
        check_alone(context)
        run_sweep(options.sweep, options, cost, engine)
        return
    if options.status or options.format is not Format.TABLE:
        raise UsageError("--status and --format tell of a sweep: casewise run SWEEP --status")
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.evaluation import RunRequest, check_models, make_plan, refuse_password

    refuse_password("--model-base-url", options.model_base_url)

    source = context.get_parameter_source("model")
    alone = options.target and source is not None and source.name == "DEFAULT"
    request = RunRequest.of(
        vars(options),
        model=() if alone else tuple(dict.fromkeys(options.model)),
        target=tuple(dict.fromkeys(options.target)),
        protocol=_list(options.protocol),
        delivery=_list(options.delivery) if options.delivery is not None else (),
        vary=(None, *dict.fromkeys(_names(options.vary))),
        ablate=options.ablate or (None,),
        swap=_swaps(options.swap, options.cases),
        model_arg=parse_model_args(options.model_arg),
        generate=parse_settings(options.generate),
        prices=cost.prices,
        grader_prices=cost.grader_prices,
    )
    plan = make_plan(request)
    note_all(line for cell in plan.cells for line in cell.notes)
    note_all(plan.unasked)
    folder = options.log_dir or new_log_dir()
    _offer_whole(plan, options.log_dir if cost.dry_run else folder)
    if cost.dry_run:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    cluster = engine.cluster()
    _note_plan(plan, folder)
    result = run_with_progress(
        plan.cells,
        folder,
        cost.max_cost,
        cluster,
        same_server=options.same_server,
    )
    # It holds all cases; the scores of many need the room.
    del plan
    print_judged(result, folder)
    end(result, folder)


def _swaps(given: Iterable[str], cases: str) -> tuple[str | None, ...]:
    """Parts to swap, after the plain run; ``each`` is all by which any two twins differ."""
    names = _names(given)
    if "each" in names:
        loaded = case_files.open_cases(cases).cases
        every = [*contexts.differing_parameters(loaded), *case_files.GROUPS]
        every = [name for name in every if contexts.swap_cases(loaded, name)]
        names = [one for name in names for one in (every if name == "each" else [name])]
    return (None, *dict.fromkeys(names))


def _names(lists: Iterable[str]) -> list[str]:
    """Names of several lists, one after another."""
    return [name for names in lists for name in _list(names)]


def _list(text: str) -> tuple[str, ...]:
    """Names joined by commas, each once."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",")))


def _offer_whole(plan: "Plan", folder: Path | None) -> None:
    """Offer the run over whole contexts, where there are shortened ones alone.

    Args:
        plan: The run.
        folder: Folder of the logs, which may hold it already; None of a dry run without one.
    """
    from casewise.evaluation import lone_ablations, make_plan, read_done
    from casewise.logs import resume_line

    lone = lone_ablations(plan.cells)
    if not lone:
        return
    whole = make_plan(replace(plan.request, ablate=(None,))).cells
    if folder is not None and read_done(whole, folder).judged:
        return
    note(
        f"only contexts without {' or '.join(lone)} are judged: no run over whole contexts is "
        "beside it to say what that changes. With both:"
    )
    arguments = [*sys.argv[1:], "--ablate", "none"]
    command_line(resume_line(arguments, folder))


def _note_plan(plan: "Plan", log_dir: Path) -> None:
    from casewise.evaluation import SMOLLM2

    request = plan.request
    judged, models = plan.judgements, dict.fromkeys(cell.model for cell in plan.cells)
    note(
        f"{', '.join(models)} on {request.deployment or request.cases}: "
        f"{judged:,} judgements "
        f"({', '.join(request.protocol)}); logs in {address_of(log_dir)}"
    )
    if SMOLLM2 in models:
        note("the embedded model is real but tiny: it shows that all works, and judges at chance")
