"""``casewise contexts generate``."""

import shlex
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.choices import Structured, same_named
from casewise.cli import _complete as complete
from casewise.cli._console import command_line, err, note
from casewise.cli._console import out as results
from casewise.cli._help import CASES, MODEL, OUTPUT, PLACE, SAMPLING, one_of
from casewise.cli._options import (
    Chosen,
    Given,
    argument,
    grouped,
    option,
    out_option,
    seed_option,
)
from casewise.cli._running import RoundProgress, note_lacking, observed, print_estimates
from casewise.options import RunOptions, ViewOptions

if TYPE_CHECKING:
    from casewise.evaluation import Generated, GeneratePlan

NOT_ALL_MADE = 1

SHOWN = 10
"""Queries kept aside that are named; the file holds all."""


@dataclass(frozen=True)
class GenerateOptions:
    """Options of ``casewise contexts generate`` beside its files and costs."""

    model: Annotated[
        str,
        option(
            "The model that writes, as Inspect names it.",
            MODEL,
            "PROVIDER/NAME",
            complete.models,
            "--model",
            "-m",
        ),
    ] = "casewise/smollm2"
    critic: Annotated[
        str | None,
        option(
            "The model that reviews what the rules let pass; none: rules alone. "
            "Default: the model that writes.",
            MODEL,
            "PROVIDER/NAME|none",
            complete.models,
        ),
    ] = None
    matched: Annotated[
        str | None,
        option(
            "Minimal pairs: twins that differ in these parameters only (urgency,recipient.type).",
            CASES,
            "NAMES",
            complete.parts,
        ),
    ] = None
    candidates: Annotated[
        int, option("Drafts of each context; the one with fewest faults is taken.", SAMPLING)
    ] = 1
    repairs: Annotated[
        int | None,
        option("Times that a faulty context is written again. Default: 2 (embedded: 0).", SAMPLING),
    ] = None
    structured: Annotated[
        str,
        option(
            "The answer's form as a JSON schema: on, off, or auto (on, unless it is refused).",
            SAMPLING,
            one_of(Structured),
            complete.offer(lambda: Structured),
        ),
    ] = "auto"
    seed: Annotated[int, seed_option("Of every request.", SAMPLING)] = 0
    temperature: Annotated[float, option("Of the model that writes.", SAMPLING)] = 0.8
    language: Annotated[
        str | None, option("Of queries that name none (BCP 47: en, de, pt-BR).", CASES)
    ] = None
    source: Annotated[str | None, option("Of queries that name none.", CASES)] = None
    licence: Annotated[str | None, option("Of queries that name none.", CASES)] = None
    max_connections: Annotated[
        int | None, option("Requests at once for each provider. Default: Inspect's.", PLACE)
    ] = None
    max_tokens: Annotated[int, option("Longest answer, in tokens.", SAMPLING)] = 2048


@grouped
def generate(
    context: typer.Context,  # noqa: ARG001 - it tells which options were given
    queries: Annotated[
        Path,
        argument(
            "QUERIES",
            "A file of cases without contexts: query, and if you like category, licence, source, "
            "language.",
        ),
    ],
    out: Annotated[Path, out_option("The cases to write: .jsonl.", OUTPUT)],
    options: GenerateOptions,
    shared: Annotated[
        Given, Chosen(RunOptions, "model_base_url", "model_arg", "price_in", "price_out")
    ],
    view: Annotated[Given, Chosen(ViewOptions, "dry_run")],
) -> None:
    """Have a model write a safe and an unsafe context for every query.

    Each context is held to rules (all parameters there, no verdict given away,
    nothing repeated, answered or pleaded, twins of like length, no near-copies,
    the right query), then to a model critic. Faulty ones are written again;
    those that stay faulty are kept aside with the reasons.

    FILE holds whole pairs. Beside it stand FILE.aside.jsonl, FILE.record.jsonl
    (how each was made) and the folder FILE.making with every answer: stopped or
    killed, the same command goes on where it was. Exit status: 0 all made, 1
    some kept aside, 2 bad input.

    [bold]Examples[/]

    casewise contexts generate queries.csv --out cases.jsonl -m openai/gpt-4o --dry-run

    casewise contexts generate queries.csv --out cases.jsonl -m openai/gpt-4o --candidates 2

    casewise contexts generate queries.csv --out pairs.jsonl -m vllm/Qwen/Qwen3-8B --matched urgency
    """
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.evaluation import (
            GenerateRequest,
            Prices,
            check_generation,
            check_out,
            plan_generation,
            refuse_password,
            refuse_secret,
        )

    refuse_password("--model-base-url", shared.get("model_base_url"))
    for name in (arguments := shared.get("model_arg", {})):
        refuse_secret("--model-arg", name)

    plan = plan_generation(
        GenerateRequest(
            queries=queries,
            out=out,
            **same_named(GenerateRequest, vars(options)),
            model_base_url=shared.get("model_base_url"),
            model_args=arguments,
            prices=Prices(shared.get("price_in"), shared.get("price_out")),
            defaults={name: getattr(options, name) for name in ("language", "source", "licence")},
        )
    )
    check_out(plan)
    if "dry_run" in view:
        note_lacking(check_generation(plan))
        print_estimates(plan.estimates, at_most=plan.at_most, condition="what")
        return
    result = _generate(plan)
    _print(result, len(plan.queries))
    if result.aside or result.failures:
        raise typer.Exit(NOT_ALL_MADE)


def _generate(plan: "GeneratePlan") -> "Generated":
    from casewise.evaluation import SMOLLM2, check_out, generate_contexts

    note(
        f"{plan.request.model} on {plan.request.queries}: {len(plan.queries):,} queries, "
        f"critic {plan.critic or 'none (rules alone)'}"
    )
    if SMOLLM2 in plan.models:
        note("the embedded model is real but tiny: it shows that all works; expect faults")
    progress = RoundProgress(err())
    with observed(progress, check_out(plan).folder) as observers:
        return generate_contexts(plan, progress, observers)


def _command() -> str:
    return shlex.join(["casewise", *sys.argv[1:]])


def _print(result: "Generated", queries: int) -> None:
    files = result.files
    if result.before:
        note(f"{result.before:,} answers were there before")
    cost = "" if result.cost_usd is None else f", ${result.cost_usd:.2f}"
    note(
        f"{result.asked:,} requests now; in all ~{result.input_tokens:,} tokens in, "
        f"~{result.output_tokens:,} out{cost}"
    )
    made = len(result.cases) // 2
    console = results()
    where = f": {files.cases}" if made else ""
    console.print(f"{made:,} of {queries:,} queries have contexts{where}", markup=False)
    own = [rejected for rejected in result.aside if rejected.is_own]
    if own:
        console.print(
            f"{len({rejected.query for rejected in own}):,} kept aside: {files.aside}", markup=False
        )
        kinds = Counter(str(kind) for rejected in own for kind in {f.kind for f in rejected.faults})
        shown = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
        console.print(f"faults: {shown}", markup=False)
        for rejected in own[:SHOWN]:
            console.print(
                f"  query {rejected.query} {rejected.side}: {rejected.faults[0]}", markup=False
            )
        if len(own) > SHOWN:
            console.print(f"  ... and {len(own) - SHOWN} more")
    if result.failures:
        kinds = Counter(result.failures)
        shown = ", ".join(f"{number:,} {what}" for what, number in kinds.items())
        err().print(
            f"failed requests: {len(result.failures):,} ({shown}); what the provider said is in "
            f"{result.failed}. To ask them again:",
            markup=False,
        )
        command_line(_command())
