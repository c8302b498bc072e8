"""``casewise run``."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cases import GROUPS, address_of, open_cases, place_of
from casewise.cli._console import err, note
from casewise.cli._progress import note_lacking, print_estimates
from casewise.cli._run_options import (
    AddressOption,
    CpusOption,
    EngineName,
    EngineOption,
    GpusOption,
    SizeOption,
    chosen_cluster,
    parse_model_args,
    parse_settings,
)
from casewise.cli._running import print_result, run_with_progress
from casewise.cli._sweep import MatrixFormat, check_alone, run_sweep
from casewise.contexts import differing_parameters, swap_cases
from casewise.errors import UsageError

if TYPE_CHECKING:
    from casewise.evaluation import Cluster, Plan, RunRequest


def run(
    context: typer.Context,
    sweep: Annotated[
        Path | None,
        typer.Argument(
            metavar="[SWEEP]",
            help="A file of models, protocols, deliveries... to run as one job (docs/sweeps.md).",
        ),
    ] = None,
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            help="A model as Inspect names it (openai/gpt-4o, vllm/NAME, "
            "openai-api/SERVICE/NAME, casewise-hf/FOLDER...). Repeat for several.",
        ),
    ] = ["casewise/smollm2"],  # noqa: B006 - typer copies it
    cases: Annotated[
        str, typer.Option(help="starter (bundled), casebench (fetched), or a file of cases.")
    ] = "starter",
    protocol: Annotated[
        str,
        typer.Option(
            help="binary, score or probability (the model judges), guard (a moderation model "
            "does), respond (it is the chatbot, and its reply is graded); several joined by commas."
        ),
    ] = "probability",
    delivery: Annotated[
        str | None,
        typer.Option(
            help="Where the context stands. Judging: judge (in the prompt; the default) or none. "
            "respond and guard: system (the deployer's description; the default), claimed (by the "
            "user), none; respond also history (over earlier turns). Several joined by commas."
        ),
    ] = None,
    deployment: Annotated[
        str | None,
        typer.Option(
            help="respond: a deployment card instead of cases: customer-support, "
            "creative-writing, therapy-support, security-training, or a file."
        ),
    ] = None,
    vary: Annotated[
        list[str],
        typer.Option(
            help="respond: also with every conversation changed, for example urgency, persona, "
            "twin-claim, filler-4k, revocation (docs/acting.md). Several joined by commas."
        ),
    ] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="Of the changed conversations.")] = 0,
    grader: Annotated[
        str | None,
        typer.Option(help="respond: a model that grades the replies. Default: by rules, offline."),
    ] = None,
    ablate: Annotated[
        list[str],
        typer.Option(
            help="Groups or parameters to remove from every context (recipient,urgency). "
            "Repeat for several ablations."
        ),
    ] = [],  # noqa: B006
    swap: Annotated[
        list[str],
        typer.Option(
            help="Also with a parameter or group of every context taken from the twin's: which "
            "change flips the model? 'each' is every single one. Several joined by commas."
        ),
    ] = [],  # noqa: B006
    prompt: Annotated[
        str | None,
        typer.Option(
            help="upstream, a template file with {query} and {context}, or ours in one language "
            "(casewise:en, de, es, fr, zh). Default: ours, in each case's language."
        ),
    ] = None,
    verdict_words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of words by which answers in other languages are read (docs/cases.md).",
        ),
    ] = None,
    sampling: Annotated[
        str,
        typer.Option(help="greedy, or as the published runs: reference[-api|-open]."),
    ] = "greedy",
    samples: Annotated[
        int | None, typer.Option(help="Answers that the protocol score averages. Default: 3.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N cases of the file.")] = None,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the logs, or an address such as s3://bucket/folder; the same folder "
            "again resumes a stopped run."
        ),
    ] = None,
    max_connections: Annotated[
        int | None,
        typer.Option(
            help="Requests at once for each provider, over all shards. Default: Inspect's, for "
            "each process."
        ),
    ] = None,
    attempt_timeout: Annotated[
        int | None,
        typer.Option(
            metavar="SECONDS",
            envvar="CASEWISE_ATTEMPT_TIMEOUT",
            show_envvar=False,
            help="When a request is given up and sent again. Default: 300.",
        ),
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest answer, in tokens.")] = None,
    epochs: Annotated[int, typer.Option(help="How often each case is asked.")] = 1,
    model_base_url: Annotated[str | None, typer.Option(help="Address of the model's API.")] = None,
    model_arg: Annotated[
        list[str], typer.Option("--model-arg", "-M", help="KEY=VALUE for the model's provider.")
    ] = [],  # noqa: B006
    generate: Annotated[
        list[str],
        typer.Option(
            metavar="KEY=VALUE",
            help="A setting of the model's generation, as Inspect names it: reasoning_effort, "
            "top_p, stop_seqs, extra_body... (docs/sweeps.md). Repeat for several.",
        ),
    ] = [],  # noqa: B006
    client: Annotated[
        str,
        typer.Option(
            help="What sends the requests of openai-api models: auto (a lean client, where the "
            "options allow it) or inspect (Inspect's own; docs/speed.md)."
        ),
    ] = "auto",
    batch: Annotated[
        bool,
        typer.Option(
            "--batch",
            help="Send through the provider's batch interface: half the price, answers within a "
            "day (docs/batches.md). For openai, anthropic, google, grok and together.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print requests, tokens and cost; send nothing.")
    ] = False,
    price_in: Annotated[
        float | None, typer.Option(help="Dollars for a million input tokens.")
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Dollars for a million output tokens.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            help="Stop when so much is spent, earlier starts in the same folder included; what "
            "was judged is kept.",
        ),
    ] = None,
    status: Annotated[
        bool, typer.Option("--status", help="Of a sweep: what is done; asks nothing.")
    ] = False,
    format: Annotated[
        MatrixFormat, typer.Option(help="Of a sweep: how its matrix is printed.")
    ] = MatrixFormat.TABLE,
    engine: EngineOption = EngineName.PROCESS,
    address: AddressOption = None,
    shard_size: SizeOption = None,
    shard_cpus: CpusOption = None,
    shard_gpus: GpusOption = None,
) -> None:
    """Run models over cases in their contexts, and score them against people.

    Without options, the embedded model (135 million parameters, offline) judges the bundled
    starter cases: a first look, in about a minute.

    [bold]Examples[/]

    casewise run

    casewise run --model openai/gpt-4o --cases casebench --protocol binary --dry-run

    casewise run -m vllm/Qwen/Qwen3-8B --cases mine.yaml --ablate recipient --ablate urgency

    casewise run -m casewise-hf/./my-checkpoint -M dtype=bfloat16

    casewise run -m openai/gpt-5 --protocol binary --generate reasoning_effort=high

    casewise run -m openai/gpt-4o --protocol respond --delivery system,claimed,none

    casewise run -m openai/gpt-4o --protocol respond --deployment therapy-support

    casewise run -m openai/gpt-4o --cases casebench --protocol binary --batch --log-dir logs/a

    casewise run sweep.yaml --max-cost 20

    casewise run sweep.yaml --engine ray --address 10.0.0.1:6379 --log-dir s3://bucket/run
    """
    log_dir = None if log_dir is None else place_of(log_dir)
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
            engine=(engine, address, shard_size, shard_cpus, shard_gpus),
        )
        return
    if status or format is not MatrixFormat.TABLE:
        raise UsageError("--status and --format tell of a sweep: casewise run SWEEP --status")
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.evaluation import (
            Prices,
            RunRequest,
            check_models,
            make_plan,
            refuse_password,
        )

    refuse_password("--model-base-url", model_base_url)

    request = RunRequest(
        models=tuple(dict.fromkeys(model)),
        cases=cases,
        protocols=_list(protocol),
        deliveries=_list(delivery) if delivery else (),
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
        model_args=parse_model_args(model_arg),
        generate=parse_settings(generate),
        prices=Prices(price_in, price_out),
        client=client,
    )
    plan = make_plan(request)
    for line in dict.fromkeys(line for one in plan.cells for line in one.notes):
        note(f"note: {line}")
    if dry_run:
        note_lacking(check_models(plan.cells))
        print_estimates(plan.estimates)
        return
    cluster = chosen_cluster(engine, address, shard_size, shard_cpus, shard_gpus)
    _run_and_print(plan, log_dir or _new_log_dir(), max_cost, cluster)


def _swaps(given: list[str], cases: str) -> tuple[str | None, ...]:
    names = [name for names in given for name in _list(names)]
    if "each" in names:
        found = open_cases(cases).cases
        every = [*differing_parameters(found), *GROUPS]
        every = [name for name in every if swap_cases(found, name).cases]
        names = [name for one in names for name in (every if one == "each" else (one,))]
    return (None, *dict.fromkeys(names))


def _list(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part.strip() for part in text.split(",")))


def _new_log_dir() -> Path:
    return Path("logs") / datetime.now().strftime("%Y-%m-%dT%H-%M-%S")


def _run_and_print(
    plan: "Plan", log_dir: Path, max_cost: float | None, cluster: "Cluster | None"
) -> None:
    _say_what(plan, log_dir)
    result = run_with_progress(plan.cells, log_dir, max_cost, cluster)
    print_result(result, log_dir)


def _say_what(plan: "Plan", log_dir: Path) -> None:
    from casewise.evaluation import SMOLLM2

    request: RunRequest = plan.request
    judged = plan.judgements
    note(
        f"{', '.join(request.models)} on {request.deployment or request.cases}: "
        f"{judged:,} judgements "
        f"({', '.join(request.protocols)}); logs in {address_of(log_dir)}"
    )
    if SMOLLM2 in request.models:
        note("the embedded model is real but tiny: it shows that all works, and judges at chance")
