"""``casewise contexts generate``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cli._console import err, note, note_all
from casewise.cli._console import out as results
from casewise.cli._help import OUTPUT
from casewise.cli._options import (
    OptionSubset,
    OptionValues,
    argument,
    grouped,
    out_option,
)
from casewise.cli._running import CountProgress, note_lacking, print_estimates, stoppable
from casewise.options import MakingOptions, RunOptions, StartOptions
from casewise.sheets import plural

if TYPE_CHECKING:
    from casewise.contexts import Fault
    from casewise.runs import MakingPlan

NOT_ALL_MADE = 1


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
    options: MakingOptions,
    shared: Annotated[
        OptionValues,
        OptionSubset(RunOptions, "model_base_url", "model_arg", "price_in", "price_out"),
    ],
    start: Annotated[OptionValues, OptionSubset(StartOptions, "dry_run")],
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
        from casewise.models import refuse_password, refuse_secret
        from casewise.runs import check_making, estimate_making, plan_making

    refuse_password("--model-base-url", shared.get("model_base_url"))
    for name in shared.get("model_arg", {}):
        refuse_secret("--model-arg", name)
    plan = plan_making(queries, out, options, shared)
    if "dry_run" in start:
        note_lacking(check_making(plan))
        print_estimates(estimate_making(plan))
        return
    faults = _make(plan, queries)
    done = len(plan.queries) - len(faults)
    where = f": {out}" if done else ""
    results().print(f"{done:,} of {len(plan.queries):,} queries have contexts{where}", markup=False)
    if not faults:
        return
    kinds = Counter(
        rule for query_faults in faults for rule in {fault.rule for fault in query_faults}
    )
    counts = ", ".join(f"{rule} {number}" for rule, number in sorted(kinds.items()))
    results().print(f"{len(faults):,} kept aside ({counts}): {plan.faulty_path}", markup=False)
    every = (fault for query_faults in faults for fault in query_faults)
    note_all(f"{fault.rule}: {fault.reason}" for fault in every if fault.rule == "unread")
    note("The same command asks for those again.")
    raise typer.Exit(NOT_ALL_MADE)


def _make(plan: "MakingPlan", queries: Path) -> "list[Sequence[Fault]]":
    from casewise.runs import command_line as process_command
    from casewise.runs import make_contexts

    note(
        f"{plan.options.model} on {queries}: {plural(len(plan.queries), 'query')}, "
        f"critic {plan.critic or 'none (rules alone)'}"
    )
    if before := len(plan.read_pairs()):
        note(f"{before:,} were made before")
    progress = CountProgress(err(), "writing", 10)

    def saved_pairs() -> str:
        return plural(len(plan.read_pairs()), "pair")

    with stoppable(progress, saved_pairs, plan.out, process_command()):
        return make_contexts(plan, progress, progress.report_fault)
