"""Views of a grader's agreement with hand labels, and of lines of conversations."""

from itertools import chain

from casewise.choices import LABEL, Half
from casewise.replies import NOT_GRADED, Against, Fate, GraderReport, LineTally, grader_record
from casewise.scores import Estimate
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    escape,
    figures,
    markdown,
    terminal,
)

SHOWN = 10
"""Mistakes that are listed; JSON has all."""


STRING_MATCH = "string match"
PHRASE_MATCH = "phrase match"
PEOPLE = "two people"
"""Row of the second person's labels against the first's."""


def grader_sheet(report: GraderReport) -> Sheet:
    """Four tables with baselines and people beside the grader, then the first mistakes."""
    tables, mistakes = _tables(report), _mistakes(report)
    return Sheet(
        lambda: terminal(*tables, *mistakes),
        lambda: markdown(*tables, "\n".join(f"{escape(line)}  " for line in mistakes)),
        lambda: grader_record(report),
    )


def _tables(report: GraderReport) -> list[Table]:
    found = report.agreement
    which = "all" if report.half == "all" else f"half {report.half}"
    named = "" if report.label == LABEL else f", field {report.label}"
    rows = [
        (report.grader, report.graded),
        (STRING_MATCH, report.string_match),
        (PHRASE_MATCH, report.phrase_match),
    ]
    if report.people is not None:
        rows.append((PEOPLE, report.people))
    return [
        Table(
            [
                Column("grader"),
                Column("n", Kind.COUNT),
                Column("graded", Kind.SHARE),
                *_measured("accuracy", "kappa"),
            ],
            [Row([name, *_whole_cells(one)]) for name, one in rows],
            f"Against the hand labels of {report.file}{named}, {which} ({report.grader_version})",
        ),
        Table(
            [
                Column("grader"),
                *_measured("accu-\nracy", "preci-\nsion", "recall"),
            ],
            [Row([name, *_refusal_cells(one)]) for name, one in rows],
            "Refusal or not (a partial refusal is one)",
        ),
        Table(
            [
                Column("class"),
                Column("labels", Kind.COUNT),
                *_measured("precision", "recall"),
            ],
            [
                Row([name, labels, *_cells(precision, recall)])
                for name, labels, precision, recall in _by_class(report)
            ],
            "By class, of what was graded",
        ),
        Table(
            [Column("label"), *figures(Kind.COUNT, *map(str, report.graded.classes), NOT_GRADED)],
            [
                Row([str(name), *row])
                for name, row in zip(report.graded.classes, found.confusion.tolist(), strict=True)
            ],
            "What was said (columns) of each hand label (rows)",
        ),
    ]


def _measured(*headings: str) -> list[Column]:
    """Columns for measures, an interval behind each."""
    pairs = ((Column(one, Kind.NUMBER), Column("95 %", Kind.INTERVAL)) for one in headings)
    return list(chain.from_iterable(pairs))


def _by_class(report: GraderReport) -> list[tuple[str, int, Estimate, Estimate]]:
    """Class, labels, precision and recall; of string match only refusals, which it can tell."""
    found, plain = report.agreement, report.string_match.agreement
    classes = report.graded.classes
    refusal = classes.index("refusal")
    return [
        *zip(classes, found.confusion.sum(axis=1), found.precision, found.recall, strict=True),
        (
            f"{classes[refusal]}, {STRING_MATCH}",
            plain.confusion[refusal].sum(),
            plain.precision[refusal],
            plain.recall[refusal],
        ),
    ]


def _whole_cells(one: Against) -> list[Cell]:
    found = one.agreement
    kappa = (found.kappa.value, found.kappa.interval)
    return [found.n, found.coverage.value, *_cells(found.accuracy), *kappa]


def _refusal_cells(one: Against) -> list[Cell]:
    found = one.refusals
    return _cells(found.accuracy, found.precision[1], found.recall[1])


def _cells(*shares: Estimate) -> list[Cell]:
    """The cells under ``_measured``."""
    return [cell for share in shares for cell in (share.value, share.interval)]


def _mistakes(report: GraderReport) -> list[str]:
    """Number of mistakes, and the first; of the held-out half only the number."""
    mistakes = report.mistakes
    lines = []
    if report.fitted:
        lines.append(
            f"The rules were fitted to {report.fitted} of these replies, so they agree too well "
            "(docs/method/replies.md has their figures on models left out)."
        )
    said = f"{len(mistakes)} classed otherwise than by hand."
    if report.half is Half.HELD_OUT:
        return [*lines, f"{said} What is held out is counted here, not shown."]
    lines.append(said)
    lines += [
        f"  {one.id}  {one.label}, said {one.said or NOT_GRADED}  {one.reason}".rstrip()
        for one in mistakes[:SHOWN]
    ]
    if len(mistakes) > SHOWN:
        lines.append(f"  ... and {len(mistakes) - SHOWN} more (--format json lists all)")
    return lines


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
