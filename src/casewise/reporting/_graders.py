"""Views of a grader's agreement with hand labels, and of lines of conversations."""

from casewise.choices import RULES
from casewise.replies import Agreement, Fate, GraderReport, LineTally, grader_record
from casewise.sheets import Cell, Column, Kind, Row, Sheet, Table, figures, markdown, terminal


def grader_sheet(report: GraderReport) -> Sheet:
    """One table: the grader, the baselines and people against the hand labels."""
    table = _table(report)
    return Sheet(lambda: terminal(table), lambda: markdown(table), lambda: grader_record(report))


def _table(report: GraderReport) -> Table:
    columns = [Column("grader"), *figures(Kind.COUNT, "n"), Column("graded", Kind.SHARE)]
    heads = ("accuracy", "kappa", "refusal\nor not", "precision", "recall")
    for head in heads:
        columns += [Column(head, Kind.NUMBER), Column("95 %", Kind.INTERVAL)]
    notes = [f"{len(report.mistakes)} classed otherwise than by hand (--format json lists them)."]
    if report.fitted:
        notes.append(
            f"The {RULES} were fitted to {report.fitted} of these replies, so they agree too well "
            "(docs/method/replies.md has their figures on models left out)."
        )
    rows = [Row(_cells(one)) for one in report.rows]
    return Table(columns, rows, f"Against the hand labels of {report.file}", " ".join(notes))


def _cells(one: Agreement) -> list[Cell]:
    found = (one.accuracy, one.kappa, one.refusal_or_not, one.precision, one.recall)
    return [one.name, one.n, one.graded, *(cell for e in found for cell in (e.value, e.interval))]


_FATES = {
    Fate.GRADED: "placed in a case and graded",
    Fate.DUPLICATE: "duplicate: id and text of an earlier one, counts once",
    Fate.CONTRADICTORY: "id of an earlier one with another text; the earlier one counts",
    Fate.UNKNOWN: "unknown: no case has the id, or asks the query",
    Fate.AMBIGUOUS: "ambiguous: several cases ask the query, and nothing tells which",
    Fate.NO_REPLY: "no reply of the model",
    Fate.BROKEN: "broken",
}


def tally_table(tally: LineTally, name: str) -> Table:
    """Lines of a file of conversations by what became of them; the rows add up to all lines."""
    rows = [
        Row([what, tally.counts[fate], _first(tally, fate)])
        for fate, what in _FATES.items()
        if fate is Fate.GRADED or tally.counts[fate]
    ]
    rows.append(Row(["all", tally.total, ""], apart=True))
    columns = [Column("conversations"), *figures(Kind.COUNT, "number"), Column("first at")]
    return Table(columns, rows, f"What became of {name}")


def _first(tally: LineTally, fate: Fate) -> str:
    if fate is Fate.GRADED:
        return ""
    first = tally.first.get(fate, ())
    return ", ".join([*map(str, first), *(["..."] if tally.counts[fate] > len(first) else [])])
