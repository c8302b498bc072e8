"""Failures as a table for a terminal, as rows for CSV and as JSON values."""

from collections.abc import Sequence

from casewise.results import failure_record, failure_sentence, first_upper
from casewise.scores import Failure
from casewise.sheets import Column, Kind, Row, Sheet, Table, count, markdown, terminal


def failure_sheet(
    failures: Sequence[Failure], limit: int, title: str = "answers that count as wrong"
) -> Sheet:
    """The first failures, a sentence a case.

    Args:
        failures: Failures, the worst first.
        limit: Most cases that are listed.
        title: Title of the group that they are of.
    """
    shown = failures[:limit]
    more = f", the first {len(shown)}" if len(failures) > len(shown) else ""
    table = failure_table(shown, f"{first_upper(title)}: {count(len(failures))}{more}")
    return Sheet(
        lambda: terminal(table),
        lambda: markdown(table),
        lambda: [failure_record(one) for one in shown],
    )


def failure_table(failures: Sequence[Failure], title: str = "") -> Table:
    """A row a case: its distance from people, its id, category and run, and why it is wrong."""
    several = len({one.run for one in failures}) > 1
    rows = [
        Row(
            [
                one.distance,
                one.case_id,
                one.category or "",
                *([one.run.title] if several else []),
                failure_sentence(one),
            ]
        )
        for one in failures
    ]
    columns = (
        Column("off by", Kind.NUMBER, 2, key="distance"),
        Column("case"),
        Column("category"),
        *([Column("run")] if several else []),
        Column("contexts, people, model"),
    )
    return Table(columns, rows, title)
