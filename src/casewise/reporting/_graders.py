"""Agreement of a grader with hand labels, and whether replies can tell it what to say."""

from casewise.choices import LABEL, Half
from casewise.scores import (
    NOT_GRADED,
    Against,
    Estimate,
    Fate,
    Followed,
    GraderReport,
    InjectionReport,
    LineTally,
    grader_record,
    injection_record,
    kappa_interval,
)
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
"""Mistakes that are listed for a person; JSON has all."""


STRING_MATCH = "string match"
PHRASE_MATCH = "phrase match"
PEOPLE = "two people"
"""The second of them, against the first."""


def grader_sheet(report: GraderReport) -> Sheet:
    """Four tables, with string match and the people beside the grader; then the first mistakes."""
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
                *_measured("accuracy"),
                *_measured("kappa"),
            ],
            [Row([name, *_whole_cells(one)]) for name, one in rows],
            f"Against the hand labels of {report.file}{named}, {which} ({report.grader_version})",
        ),
        Table(
            [
                Column("grader"),
                *_measured("accu-\nracy"),
                *_measured("preci-\nsion"),
                *_measured("recall"),
            ],
            [Row([name, *_refusal_cells(one)]) for name, one in rows],
            "Refusal or not (a partial refusal is one)",
        ),
        Table(
            [
                Column("class"),
                Column("labels", Kind.COUNT),
                *_measured("precision"),
                *_measured("recall"),
            ],
            [
                Row([name, labels, *_cells(precision), *_cells(recall)])
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


def _measured(heading: str) -> list[Column]:
    return [Column(heading, Kind.NUMBER), Column("95 %", Kind.INTERVAL)]


def _by_class(report: GraderReport) -> list[tuple[str, int, Estimate, Estimate]]:
    """The grader's, and string match's where it can say something: refusals."""
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
    kappa = (found.kappa.value, kappa_interval(found))
    return [found.n, found.coverage.value, *_cells(found.accuracy), *kappa]


def _refusal_cells(one: Against) -> list[Cell]:
    found = one.refusals
    shares = (found.accuracy, found.precision[1], found.recall[1])
    return [cell for share in shares for cell in _cells(share)]


def _cells(share: Estimate) -> list[Cell]:
    return [share.value, share.interval]


def _mistakes(report: GraderReport) -> list[str]:
    """Number of mistakes, and the first; those held out stay unread, or they would not be."""
    mistakes = report.mistakes
    lines = [f"{len(mistakes)} classed otherwise than by hand."]
    if report.fitted:
        lines.insert(
            0,
            f"The rules were fitted to {report.fitted} of these replies, so they agree too well "
            "(docs/method/replies.md has their figures on models left out).",
        )
    if report.half is Half.HELD_OUT:
        return [*lines[:-1], f"{lines[-1]} What is held out is counted here, not shown."]
    lines += [
        f"  {one.id}  {one.label}, said {one.said or NOT_GRADED}  {one.reason}".rstrip()
        for one in mistakes[:SHOWN]
    ]
    if len(mistakes) > SHOWN:
        lines.append(f"  ... and {len(mistakes) - SHOWN} more (--format json lists all)")
    return lines


# --- replies that try to grade themselves -------------------------------------------------------

_INJECTED = (
    "with: the share that gets the class that it demands; without: the same replies without the "
    "demand; moved: the one less the other."
)


def injected_sheet(report: InjectionReport) -> Sheet:
    """Share of each kind of injection that the grader follows."""
    table, lines = _injected(report), (_INJECTED, *_followed(report))
    return Sheet(
        lambda: terminal(table, *lines),
        lambda: markdown(table, *map(escape, lines)),
        lambda: injection_record(report),
    )


def _injected(report: InjectionReport) -> Table:
    rows: list[tuple[str, Followed]] = [*report.kinds.items(), ("all", report.all)]
    return Table(
        [
            Column("injection"),
            *figures(Kind.COUNT, "n", "not\ngraded"),
            *(column for name in ("with", "without", "moved") for column in _measured(name)),
        ],
        [
            Row([name, one.n, one.asked - one.n, *_all_cells(one)], apart=one is report.all)
            for name, one in rows
        ],
        f"Replies that try to grade themselves, by {report.grader} ({report.grader_version})",
    )


def _all_cells(one: Followed) -> list[Cell]:
    return [cell for share in (one.injected, one.plain, one.moved) for cell in _cells(share)]


def _followed(report: InjectionReport) -> list[str]:
    """The first replies that it followed."""
    lines = [f"It follows {len(report.followed)} of {report.all.n}."]
    lines += [f"  {id}  {asks_for}" for id, asks_for in report.followed[:SHOWN]]
    if len(report.followed) > SHOWN:
        lines.append(f"  ... and {len(report.followed) - SHOWN} more (--format json lists all)")
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
    """Fate of every line of a file of conversations; the rows add up to all of it."""
    rows = [
        Row([what, tally.counts[fate], _first(tally, fate)])
        for fate, what in _FATES.items()
        if fate is Fate.GRADED or tally.counts[fate]
    ]
    rows.append(Row(["all", tally.total, ""], apart=True))
    columns = [Column("conversations"), *figures(Kind.COUNT, "number"), Column("first at")]
    return Table(columns, rows, f"What became of {name}")


def _first(tally: LineTally, fate: Fate) -> str:
    lines = ", ".join(map(str, tally.first.get(fate, ())))
    more = tally.counts[fate] > len(tally.first.get(fate, ()))
    return "" if fate is Fate.GRADED else lines + (", ..." if more else "")
