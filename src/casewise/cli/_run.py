"""``casewise run``: models under conditions, or a sweep of both."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.choices import EngineName, check_name, is_target
from casewise.cli._console import err, note, note_all, working
from casewise.cli._options import OptionSubset, OptionValues, grouped
from casewise.cli._running import (
    end,
    note_lacking,
    print_estimates,
    print_judged,
    run_with_progress,
)
from casewise.errors import UsageError
from casewise.files import address_of, place_of
from casewise.options import NONE, RunOptions, StartOptions, options_of
from casewise.sheets import count, money, plural

if TYPE_CHECKING:
    from casewise.runs import Plan


@grouped
def run(
    context: typer.Context,  # noqa: ARG001 - it tells which options were given
    options: Annotated[OptionValues, OptionSubset(RunOptions)],
    start: StartOptions,
) -> None:
    """Run models over cases in their contexts, and score them against people.

    Without options, the embedded model (135 million parameters, offline) judges the bundled
    starter cases: a first look, in a few minutes.

    [bold]Examples[/]

    casewise run

    casewise run --model openai/gpt-4o --cases casebench --protocol binary --dry-run

    casewise run -m vllm/Qwen/Qwen3-8B --cases mine.yaml --ablate none --ablate recipient

    casewise run -m casewise-hf/./my-checkpoint -M dtype=bfloat16

    casewise run -m openai/gpt-5 --protocol binary --generate reasoning_effort=high

    casewise run -m openai/gpt-4o --protocol respond --delivery system,claimed,none

    casewise run -m openai/gpt-4o --protocol respond --deployment therapy-support

    casewise run --model target.yaml --protocol respond --deployment our-card.yaml

    casewise run -m openai/gpt-4o --cases casebench --protocol binary --batch --log-dir logs/a

    casewise run sweep.yaml --max-cost 20

    casewise run sweep.yaml --engine ray --address 10.0.0.1:6379 --log-dir s3://bucket/run
    """
    for model in options.get("model", ()):
        if not is_target(model):
            check_name(model)
    _check_cluster(start)
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.runs import check_models, make_plan, plan_sweep, read_progress
    if start.sweep is None:
        # The plain run comes with its changes.
        options |= {name: (NONE, *options[name]) for name in ("swap", "vary") if name in options}
        plan, usual = make_plan(options), new_log_dir()
    else:
        if options:
            spelling = options_of(RunOptions)[next(iter(options))].spelling
            raise UsageError(f"{spelling}: the sweep's file sets this; leave the option out")
        with working("planning"):
            plan, usual = plan_sweep(start.sweep), Path("logs") / start.sweep.stem
    folder = usual if start.log_dir is None else place_of(start.log_dir)
    note_all(plan.notes)
    if start.dry_run:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        if judged := read_progress(plan.cells, folder).judged:
            note(f"{judged:,} of {plan.judgements:,} are judged already, and not asked again")
        return
    _note_plan(plan, folder)
    cluster = start if start.engine is EngineName.RAY else None
    result = run_with_progress(
        plan.cells, folder, start.max_cost, cluster, same_server=start.same_server
    )
    # It holds all cases; the scores of many need the room.
    del plan
    print_judged(result, folder)
    end(result, folder)


def new_log_dir() -> Path:
    """Folder of a run's logs where none is named: by its start."""
    return Path("logs") / datetime.now().strftime("%Y-%m-%dT%H-%M-%S")


def _check_cluster(start: StartOptions) -> None:
    """Refuse options of a cluster without it.

    Raises:
        UsageError: There is one.
    """
    for name in ("address", "shard_cpus", "shard_gpus"):
        if getattr(start, name) is not None and start.engine is not EngineName.RAY:
            raise UsageError(f"--{name.replace('_', '-')} is for --engine ray")


def _note_plan(plan: "Plan", folder: Path) -> None:
    from casewise.runs import total

    models = dict.fromkeys(cell.model for cell in plan.cells)
    conditions = [cell.condition for cell in plan.cells]
    data = dict.fromkeys(condition.data.name for condition in conditions)
    protocols = dict.fromkeys(str(condition.protocol) for condition in conditions)
    requests, tokens_in, tokens_out, dollars = total(plan.estimates)
    note(
        f"{', '.join(models)} on {', '.join(data)}: {plural(plan.judgements, 'judgement')} "
        f"({', '.join(protocols)}); logs in {address_of(folder)}"
    )
    cost = "prices unknown" if dollars is None else money(dollars, "$")
    note(
        f"estimate: {plural(requests, 'request')}, {count(tokens_in)} tokens in, "
        f"{count(tokens_out)} tokens out, {cost}"
    )
