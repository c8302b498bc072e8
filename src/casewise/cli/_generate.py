"""``casewise contexts generate``."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.choices import same_named
from casewise.cli import _complete as complete
from casewise.cli._console import err, note
from casewise.cli._console import out as results
from casewise.cli._help import CASES, MODEL, OUTPUT, PLACE, SAMPLING
from casewise.cli._options import (
    Chosen,
    Given,
    argument,
    grouped,
    option,
    out_option,
    seed_option,
)
from casewise.cli._running import CountProgress, note_lacking, print_estimates, stoppable
from casewise.options import RunOptions, StartOptions

if TYPE_CHECKING:
    from casewise.runs import Made, MakingPlan

NOT_ALL_MADE = 1


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
    ]
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
    seed: Annotated[int, seed_option("Seed of every request.", SAMPLING)] = 0
    temperature: Annotated[
        float, option("Temperature of the model that writes.", SAMPLING, min=0)
    ] = 0.8
    language: Annotated[
        str | None, option("Language of queries that name none (en, de, pt-BR).", CASES)
    ] = None
    source: Annotated[str | None, option("Source of queries that name none.", CASES)] = None
    licence: Annotated[str | None, option("Licence of queries that name none.", CASES)] = None
    max_connections: Annotated[
        int | None, option("Queries at once. Default: 20.", PLACE, min=1)
    ] = None
    max_tokens: Annotated[int, option("Longest answer, in tokens.", SAMPLING, min=1)] = 4096


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
    start: Annotated[Given, Chosen(StartOptions, "dry_run")],
) -> None:
    """Have a model write a safe and an unsafe context for every query.

    Each pair is held to rules (all parameters there, no verdict given away, the
    query not repeated, answered or pleaded for, twins of like length, no
    near-copies), repaired once, and read by a model critic.

    FILE holds whole pairs without a fault, FILE.aside.jsonl the others with the
    reasons. Stopped or killed, the same command goes on where it was. Exit
    status: 0 all made, 1 some kept aside, 2 bad input.

    [bold]Examples[/]

    casewise contexts generate queries.csv --out cases.jsonl -m openai/gpt-4o --dry-run

    casewise contexts generate queries.csv --out cases.jsonl -m openai/gpt-4o --critic none
    """
    # Inspect takes seconds to import: --help and the other commands do without it.
    with err().status("loading"):
        from casewise.models import Prices, refuse_password, refuse_secret
        from casewise.runs import MakingOptions, check_making, estimate_making, plan_making

    refuse_password("--model-base-url", shared.get("model_base_url"))
    for name in (arguments := shared.get("model_arg", {})):
        refuse_secret("--model-arg", name)

    plan = plan_making(
        MakingOptions(
            queries=queries,
            out=out,
            **same_named(MakingOptions, vars(options)),
            model_base_url=shared.get("model_base_url"),
            model_args=arguments,
            prices=Prices(shared.get("price_in"), shared.get("price_out")),
            defaults={name: getattr(options, name) for name in ("language", "source", "licence")},
        )
    )
    if "dry_run" in start:
        note_lacking(check_making(plan))
        print_estimates(estimate_making(plan))
        return
    made = _make(plan)
    _print(plan, made)
    if made.faults:
        raise typer.Exit(NOT_ALL_MADE)


def _make(plan: "MakingPlan") -> "Made":
    from casewise.runs import Observers, make_contexts, plan_making
    from casewise.runs import command_line as process_command

    options = plan.options
    note(
        f"{options.model} on {options.queries}: {len(plan.queries):,} queries, "
        f"critic {plan.critic or 'none (rules alone)'}"
    )
    if before := len(plan.made.lines):
        note(f"{before:,} were made before")
    progress = CountProgress(err(), "writing", 10)
    observers = Observers(fault=progress.met)

    def kept() -> str:
        return f"{len(plan_making(options).made.lines):,} pairs"

    with stoppable(progress, kept, options.out, process_command()):
        return make_contexts(plan, progress, observers)


def _print(plan: "MakingPlan", made: "Made") -> None:
    console = results()
    pairs, queries = made.cases // 2, len(plan.queries)
    where = f": {plan.options.out}" if pairs else ""
    console.print(f"{pairs:,} of {queries:,} queries have contexts{where}", markup=False)
    if not made.faults:
        return
    kinds = Counter(rule for own in made.faults.values() for rule in {one.rule for one in own})
    shown = ", ".join(f"{rule} {number}" for rule, number in sorted(kinds.items()))
    console.print(f"{len(made.faults):,} kept aside ({shown}): {plan.aside.path}", markup=False)
    if "failed" in kinds:
        note("The same command asks for those that failed again.")
