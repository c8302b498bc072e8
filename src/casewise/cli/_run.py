"""``casewise run``."""

import shlex
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

from casewise.analysis import read_paths
from casewise.cases import GROUPS, open_cases
from casewise.cli._console import err, note
from casewise.cli._estimates import print_estimates
from casewise.cli._options import parse_model_args
from casewise.cli._score import print_scores
from casewise.contexts import differing_parameters, swap_cases
from casewise.errors import InputError

if TYPE_CHECKING:
    from casewise.evaluation import Plan, RunRequest, RunResult

NOT_ALL_DONE = 1


def run(
    model: Annotated[
        list[str],
        typer.Option(
            "--model",
            "-m",
            help="A model as Inspect names it (openai/gpt-4o, vllm/NAME, "
            "openai-api/SERVICE/NAME...). Repeat for several.",
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
        typer.Option(help="Folder for the logs; the same folder again resumes a stopped run."),
    ] = None,
    max_connections: Annotated[
        int | None, typer.Option(help="Requests at once for each provider. Default: Inspect's.")
    ] = None,
    max_tokens: Annotated[int | None, typer.Option(help="Longest answer, in tokens.")] = None,
    model_base_url: Annotated[str | None, typer.Option(help="Address of the model's API.")] = None,
    model_arg: Annotated[
        list[str], typer.Option("--model-arg", "-M", help="KEY=VALUE for the model's provider.")
    ] = [],  # noqa: B006
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print requests, tokens and cost; send nothing.")
    ] = False,
    price_in: Annotated[
        float | None, typer.Option(help="Dollars for a million input tokens.")
    ] = None,
    price_out: Annotated[
        float | None, typer.Option(help="Dollars for a million output tokens.")
    ] = None,
) -> None:
    """Run models over cases in their contexts, and score them against people.

    Without options, the embedded model (135 million parameters, offline) judges the bundled
    starter cases: a first look, in about a minute.

    [bold]Examples[/]

    casewise run

    casewise run --model openai/gpt-4o --cases casebench --protocol binary --dry-run

    casewise run -m vllm/Qwen/Qwen3-8B --cases mine.yaml --ablate recipient --ablate urgency

    casewise run -m openai/gpt-4o --protocol respond --delivery system,claimed,none

    casewise run -m openai/gpt-4o --protocol respond --deployment therapy-support
    """
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.evaluation import Prices, RunRequest, make_plan

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
        max_connections=max_connections,
        model_base_url=model_base_url,
        model_args=parse_model_args(model_arg),
        prices=Prices(price_in, price_out),
    )
    plan = make_plan(request)
    for line in dict.fromkeys(line for one in plan.conditions for line in one.condition.notes):
        note(f"note: {line}")
    if dry_run:
        print_estimates(plan.estimates)
        return
    _run_and_print(plan, log_dir or _new_log_dir())


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


def _run_and_print(plan: "Plan", log_dir: Path) -> None:
    from casewise.cli._progress import RunProgress
    from casewise.evaluation import run as run_plan

    console = err()
    _say_what(plan, log_dir)
    done = _already_judged(plan, log_dir)
    if done:
        note(f"going on: {done:,} of {plan.judgements:,} were judged before")
    try:
        with RunProgress(console, plan.judgements, done) as progress:
            result = run_plan(plan, log_dir, progress)
    except KeyboardInterrupt:
        _say_how_to_resume("stopped", log_dir)
        raise
    _print_result(result, log_dir)


def _already_judged(plan: "Plan", log_dir: Path) -> int:
    """Judgements of this plan that the folder holds; they are not asked for again."""
    try:
        table = read_paths([log_dir]).table.filter(pl.col("status") != "error")
    except InputError:
        return 0
    count = 0
    for planned in plan.conditions:
        condition = planned.condition
        names = ",".join(condition.ablation.names) if condition.ablation else None
        found = table.filter(
            pl.col("model").is_in(plan.request.models),
            pl.col("dataset_hash") == condition.data.hash,
            pl.col("prompt_version") == condition.prompts.version,
            pl.col("protocol") == str(condition.protocol),
            pl.col("delivery") == str(condition.delivery),
            pl.col("ablation").eq_missing(pl.lit(names)),
            _same_variant(plan.request.sampling, condition.variant),
            pl.col("case_id").is_in([case.id for case in condition.cases]),
        )
        count += len(found.unique(["model", "case_id"]))
    return count


def _same_variant(sampling: str, variant: tuple[str, ...]) -> pl.Expr:
    """Settled samplings (reference-api) begin as they were asked for (reference)."""
    first, rest = pl.col("variant").str.split(";"), ";".join(variant)
    return first.list.first().str.starts_with(sampling) & (
        first.list.slice(1).list.join(";") == rest
    )


def _say_what(plan: "Plan", log_dir: Path) -> None:
    from casewise.evaluation import SIZE_MB, SMOLLM2, weights_path

    request: RunRequest = plan.request
    judged = plan.judgements
    note(
        f"{', '.join(request.models)} on {request.deployment or request.cases}: "
        f"{judged:,} judgements "
        f"({', '.join(request.protocols)}); logs in {log_dir}"
    )
    if SMOLLM2 in request.models:
        note("the embedded model is real but tiny: it shows that all works, and judges at chance")
        if not weights_path().is_file():
            note(f"fetching its weights into {weights_path().parent} ({SIZE_MB} MB, once)")


def _say_how_to_resume(what: str, log_dir: Path) -> None:
    arguments = _without_log_dir(sys.argv[1:])
    command = shlex.join(["casewise", *arguments, "--log-dir", str(log_dir)])
    err().print(f"{what}; what was judged is kept in {log_dir}. To go on:", markup=False)
    err().print(f"  {command}", markup=False)


def _without_log_dir(arguments: list[str]) -> list[str]:
    kept = list(arguments)
    while "--log-dir" in kept:
        at = kept.index("--log-dir")
        del kept[at : at + 2]
    return [one for one in kept if not one.startswith("--log-dir=")]


def _print_result(result: "RunResult", log_dir: Path) -> None:
    judgements = read_paths([Path(path) for path in result.logs])
    print_scores(judgements.table)
    note(f"logs: {log_dir} (inspect view --log-dir {log_dir}; casewise score {log_dir})")
    if not result.complete:
        for failure in result.failures:
            err().print(f"not finished: {failure}", markup=False)
        _say_how_to_resume("not all was judged", log_dir)
        raise typer.Exit(NOT_ALL_DONE)
