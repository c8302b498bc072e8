"""What will be asked of models, as a table: the dry run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from casewise.cli._console import note, out
from casewise.sheets import Cell, Column, Kind, Row, Table, count, figures, money, terminal

if TYPE_CHECKING:
    from casewise.evaluation import Estimate


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
    table = estimates_table(estimates, at_most=at_most, condition=condition)
    requests, least = _sum(estimates)
    more, most = _sum((*estimates, *at_most))
    bound = f", and {count(more - requests)} more at most" if at_most else ""
    cost = "Give --price-in and --price-out (dollars a million tokens) for the cost."
    if least is not None and most is not None:
        cost = f"About {money(least, '$')}" + (f", {money(most, '$')} at most." if at_most else ".")
    out().print(
        terminal(
            table,
            f"{count(requests)} requests{bound}; nothing was sent. {cost}",
            "Tokens are estimated at 4 bytes each; reasoning models write many more.",
        )
    )


def estimates_table(
    estimates: Sequence["Estimate"],
    *,
    at_most: Sequence["Estimate"] = (),
    condition: str = "condition",
    with_total: bool = False,
) -> Table:
    """Requests, tokens (estimated) and cost of every model under every condition.

    Args:
        estimates: What will be asked.
        at_most: What may be asked besides, at most.
        condition: The head of the column that tells the rows of a model apart.
        with_total: Whether the last row is the sum of the others.
    """
    rows = [Row([one.model, one.condition, *_cells([one])]) for one in estimates]
    rows += [Row([one.model, f"{one.condition}, at most", *_cells([one])]) for one in at_most]
    if with_total:
        rows.append(Row(["total", "", *_cells([*estimates, *at_most])], apart=True))
    numbers = figures(Kind.COUNT, "requests", "input tokens", "output tokens")
    columns = [Column("model"), Column(condition), *numbers, Column("cost $", Kind.MONEY)]
    return Table(columns, rows, keys=2)


def _cells(estimates: Sequence["Estimate"]) -> list[Cell]:
    requests, cost = _sum(estimates)
    tokens = (
        sum(one.input_tokens for one in estimates),
        sum(one.output_tokens for one in estimates),
    )
    return [requests, *tokens, "unknown" if cost is None else cost]


def _sum(estimates: Sequence["Estimate"]) -> tuple[int, float | None]:
    """Requests, and dollars; None where one of the prices is unknown."""
    costs = [one.cost_usd for one in estimates]
    known = [cost for cost in costs if cost is not None]
    return sum(one.requests for one in estimates), sum(known) if len(known) == len(costs) else None
