"""What will be asked of models, as a table: the dry run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from casewise.cli._console import note, out

if TYPE_CHECKING:
    from casewise.evaluation import Estimate

COLUMNS = ("model", "condition", "requests", "input tokens", "output tokens", "cost $")


def note_lacking(lacking: Sequence[str]) -> None:
    """Say what a run of the plan would end for: a dry run needs no key."""
    for line in lacking:
        note(f"note: a run would end here: {line}")


def print_estimates(
    estimates: Sequence["Estimate"],
    *,
    at_most: Sequence["Estimate"] = (),
    condition: str = "condition",
) -> None:
    """Print requests, tokens and cost, and their sums.

    Args:
        estimates: What will be asked.
        at_most: What may be asked besides, at most.
        condition: The head of the column that tells the rows of a model apart.
    """
    # Imported late: a run needn't load the statistics before its first request.
    from casewise.reporting import PlainTable

    left = ("model", condition)
    table = PlainTable("", keys=len(left))
    for head in (*left, *COLUMNS[2:]):
        table.add_column(head, right=head not in left)
    for one in (*estimates, *at_most):
        cost = "unknown" if one.cost_usd is None else f"{one.cost_usd:.2f}"
        table.add_row(
            one.model,
            f"{one.condition}, at most" if one in at_most else one.condition,
            f"{one.requests:,}",
            f"~{one.input_tokens:,}",
            f"~{one.output_tokens:,}",
            cost,
        )
    console = out()
    console.print(table)
    count, least = _sum(estimates)
    more, most = _sum((*estimates, *at_most))
    bound = f", and {more - count:,} more at most" if at_most else ""
    cost = "Give --price-in and --price-out (dollars a million tokens) for the cost."
    if least is not None and most is not None:
        cost = f"About ${least:.2f}" + (f", ${most:.2f} at most." if at_most else ".")
    console.print(f"{count:,} requests{bound}; nothing was sent. {cost}")
    console.print("Tokens are estimated at 4 bytes each; reasoning models write many more.")


def _sum(estimates: Sequence["Estimate"]) -> tuple[int, float | None]:
    """Requests, and dollars; None where one of the prices is unknown."""
    costs = [one.cost_usd for one in estimates]
    known = [cost for cost in costs if cost is not None]
    return sum(one.requests for one in estimates), sum(known) if len(known) == len(costs) else None
