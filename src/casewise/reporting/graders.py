"""Views of a grader's agreement with hand labels, and of lines of conversations."""

from casewise.choices import RULES
from casewise.replies import GRADED, GraderReport, LineTally, grader_record
from casewise.sheets import Column, Kind, Row, Sheet, Table, figures, page


def grader_sheet(report: GraderReport) -> Sheet:
    """One table: the grader, the baselines and people against the hand labels."""
    return page([_table(report)], lambda: grader_record(report))


def _table(report: GraderReport) -> Table:
    columns = [Column("grader"), Column("n", Kind.COUNT), Column("graded", Kind.SHARE)]
    columns += figures(
        Kind.ESTIMATE, *(figure.replace("_", " ") for figure in report.rows[0].figures)
    )
    rows = [Row([row.name, row.n, row.graded, *row.figures.values()]) for row in report.rows]
    note = f"{len(report.mistakes)} classed otherwise than by hand (--format json lists them)."
    if report.fitted:
        note += (
            f" The {RULES} were fitted to {report.fitted} of these replies, so they agree too well "
            "(docs/method/replies.md has their figures on models left out)."
        )
    return Table(columns, rows, f"Against the hand labels of {report.file} (95 %)", note)


def tally_table(tally: LineTally, name: str) -> Table:
    """Lines of a file of conversations by what became of them; the rows add up to all lines."""
    rows = []
    for fate, n in tally.counts.items():
        first = tally.first[fate] if fate != GRADED else []
        more = ["..."] if first and n > len(first) else []
        rows.append(Row([fate, n, ", ".join([*map(str, first), *more])]))
    rows.append(Row(["all", tally.total, ""]))
    columns = [Column("conversations"), Column("number", Kind.COUNT), Column("first at")]
    return Table(columns, rows, f"What became of {name}")
