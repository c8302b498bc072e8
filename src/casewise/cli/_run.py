"""``casewise run``."""

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.choices import EngineName
from casewise.cli import _run_options as options
from casewise.cli._console import Format, command_line, err, note, note_all
from casewise.cli._help import OUTPUT
from casewise.cli._late import case_files, contexts
from casewise.cli._progress import note_lacking, print_estimates
from casewise.cli._running import EngineChoice, end, print_judged, run_with_progress
from casewise.cli._sweep import check_alone, run_sweep
from casewise.errors import UsageError
from casewise.files import address_of, place_of

if TYPE_CHECKING:
    from casewise.evaluation import Plan, RunRequest


MatrixFormat = Annotated[
    Format, typer.Option(help="Of a sweep: how its matrix is printed.", rich_help_panel=OUTPUT)
]


def run(
    context: typer.Context,
    sweep: options.Sweep = None,
    model: options.Model = ["casewise/smollm2"],  # noqa: B006 - typer copies it
    target: options.Targets = [],  # noqa: B006
    cases: options.Cases = "starter",
    protocol: options.Protocol = "probability",
    delivery: options.Delivery = None,
    deployment: options.Deployment = None,
    vary: options.Vary = [],  # noqa: B006
    seed: options.Seed = 0,
    grader: options.Grader = None,
    ablate: options.Ablate = [],  # noqa: B006
    swap: options.Swap = [],  # noqa: B006
    prompt: options.Prompt = None,
    verdict_words: options.VerdictWords = None,
    sampling: options.Sampling = "greedy",
    samples: options.Samples = None,
    limit: options.Limit = None,
    log_dir: options.LogDir = None,
    max_connections: options.MaxConnections = None,
    attempt_timeout: options.AttemptTimeout = None,
    max_tokens: options.MaxTokens = None,
    epochs: options.Epochs = 1,
    model_base_url: options.ModelBaseUrl = None,
    model_arg: options.ModelArg = [],  # noqa: B006
    generate: options.Generate = [],  # noqa: B006
    client: options.Client = "auto",
    batch: options.Batch = False,
    dry_run: options.DryRun = False,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
    grader_price_in: options.GraderPriceIn = None,
    grader_price_out: options.GraderPriceOut = None,
    max_cost: options.MaxCost = None,
    status: options.Status = False,
    format: MatrixFormat = Format.TABLE,
    engine: options.Engine = EngineName.PROCESS,
    address: options.Address = None,
    shard_size: options.Size = None,
    shard_cpus: options.Cpus = None,
    shard_gpus: options.Gpus = None,
) -> None:
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
    log_dir = None if log_dir is None else place_of(log_dir)
    where = EngineChoice(engine, address, shard_size, shard_cpus, shard_gpus)
    if sweep is not None:
        check_alone(context)
        run_sweep(
            sweep,
            log_dir=log_dir,
            dry_run=dry_run,
            status=status,
            max_cost=max_cost,
            attempt_timeout=attempt_timeout,
            format=format,
            engine=where,
        )
        return
    if status or format is not Format.TABLE:
        raise UsageError("--status and --format tell of a sweep: casewise run SWEEP --status")
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.evaluation import Prices, RunRequest, check_models, make_plan, refuse_password

    refuse_password("--model-base-url", model_base_url)

    source = context.get_parameter_source("model")
    alone = target and source is not None and source.name == "DEFAULT"
    request = RunRequest(
        models=() if alone else tuple(dict.fromkeys(model)),
        targets=tuple(dict.fromkeys(target)),
        cases=cases,
        protocols=_list(protocol),
        deliveries=_list(delivery) if delivery is not None else (),
        deployment=deployment,
        variations=(None, *dict.fromkeys(name for names in vary for name in _list(names))),
        seed=seed,
        grader=grader,
        ablations=tuple(ablate) or (None,),
        swaps=_swaps(swap, cases),
        prompt=prompt,
        verdict_words=None if verdict_words is None else str(verdict_words),
        sampling=sampling,
        samples=samples,
        limit=limit,
        max_tokens=max_tokens,
        epochs=epochs,
        max_connections=max_connections,
        attempt_timeout=attempt_timeout,
        batch=batch,
        model_base_url=model_base_url,
        model_args=options.parse_model_args(model_arg),
        generate=options.parse_settings(generate),
        prices=Prices(price_in, price_out),
        grader_prices=Prices(grader_price_in, grader_price_out),
        client=client,
    )
    plan = make_plan(request)
    note_all(line for cell in plan.cells for line in cell.notes)
    folder = log_dir or Path("logs") / datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    _offer_whole(plan, log_dir if dry_run else folder)
    if dry_run:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    cluster = where.cluster()
    _say_what(plan, folder)
    result = run_with_progress(plan.cells, folder, max_cost, cluster)
    # It holds all cases; the scores of many need the room.
    del plan
    print_judged(result, folder)
    end(result, folder)


def _swaps(given: list[str], cases: str) -> tuple[str | None, ...]:
    names = [name for names in given for name in _list(names)]
    if "each" in names:
        loaded = case_files.open_cases(cases).cases
        every = [*contexts.differing_parameters(loaded), *case_files.GROUPS]
        every = [name for name in every if contexts.swap_cases(loaded, name)]
        names = [
            name
            for given_name in names
            for name in (every if given_name == "each" else (given_name,))
        ]
    return (None, *dict.fromkeys(names))


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",")))


def _offer_whole(plan: "Plan", folder: Path | None) -> None:
    """Offer the run over whole contexts, where there are shortened ones alone.

    Args:
        plan: What will be run.
        folder: Of the logs, which may hold it already; None of a dry run that names none.
    """
    from casewise.evaluation import lone_ablations, make_plan, read_done
    from casewise.scores import resume_line

    lone = lone_ablations(plan.cells)
    if not lone:
        return
    whole = make_plan(replace(plan.request, ablations=(None,))).cells
    if folder is not None and read_done(whole, folder).judged:
        return
    note(
        f"only contexts without {' or '.join(lone)} are judged: no run over whole contexts is "
        "beside it to say what that changes. With both:"
    )
    arguments = [*sys.argv[1:], "--ablate", "none"]
    command_line(resume_line(arguments, folder))


def _say_what(plan: "Plan", log_dir: Path) -> None:
    from casewise.evaluation import SMOLLM2

    request: RunRequest = plan.request
    judged, models = plan.judgements, dict.fromkeys(cell.model for cell in plan.cells)
    note(
        f"{', '.join(models)} on {request.deployment or request.cases}: "
        f"{judged:,} judgements "
        f"({', '.join(request.protocols)}); logs in {address_of(log_dir)}"
    )
    if SMOLLM2 in models:
        note("the embedded model is real but tiny: it shows that all works, and judges at chance")
