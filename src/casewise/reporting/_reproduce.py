"""Tables of published figures beside recomputed ones, and of the works that have them."""

from collections.abc import Iterator, Sequence
from itertools import chain

from casewise.reproduce import Figure, Reproduction, Work
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    escape,
    figures,
    folded,
    json_interval,
    markdown,
    number,
    signed,
    terminal,
    to_markdown,
)

_BY_READER = (
    Column("run"),
    Column("figure"),
    *figures(Kind.NUMBER, "by the labels", "by the reader"),
    Column("difference", Kind.CHANGE),
)
_READER = (
    Column("run"),
    *figures(Kind.COUNT, "replies", "unread", "refusals", "missed", "added"),
    Column("share refused,\ndifference", Kind.CHANGE),
    Column("95 %", Kind.INTERVAL),
)

_FIGURES = (
    Column("run"),
    Column("figure"),
    Column("published", Kind.NUMBER),
    Column("recomputed", Kind.NUMBER),
    Column("difference", Kind.CHANGE),
    Column("equal within"),
)


def works_sheet(works: dict[str, Work]) -> Sheet:
    """The works that ship."""
    table = Table(
        [
            Column("name"),
            Column("work"),
            Column("figures", Kind.COUNT),
            Column("files", Kind.COUNT),
            Column("MB", Kind.NUMBER, 1),
            Column("licence"),
        ],
        [Row([name, *_summary(work)]) for name, work in works.items()],
    )
    records = [{"name": name, **work.model_dump(mode="json")} for name, work in works.items()]
    return Sheet(lambda: terminal(table), lambda: markdown(table), lambda: records)


def _summary(work: Work) -> list[Cell]:
    size = sum(file.bytes for file in work.files) / 1e6
    return [work.title, work.figures, len(work.files), size, work.licence]


def reproduction_sheet(found: Sequence[Reproduction]) -> Sheet:
    """A sentence, the works, and for each place that states figures a table, folded in Markdown."""
    return Sheet(
        lambda: terminal(_sentence(found), _overview(found), *chain(*map(_shown, found))),
        lambda: markdown(_sentence(found), _overview(found), *chain(*map(_section, found))),
        lambda: list(chain.from_iterable(map(_records, found))),
    )


def _overview(found: Sequence[Reproduction]) -> Table:
    rows = [
        Row([one.name, len(one.figures), one.equal, one.explained, one.unexplained])
        for one in found
    ]
    headings = ("figures", "equal", "differ for\na reason", "differ\nwithout")
    return Table([Column("work"), *figures(Kind.COUNT, *headings)], rows)


def _about(one: Reproduction) -> Iterator[str]:
    work = one.work
    yield f"{work.title}. {work.citation}. {work.address}"
    if work.left_out:
        yield f"Left out: {work.left_out}"


def _shown(one: Reproduction) -> Iterator[Table | str]:
    yield f"\n{one.name}"
    yield from _about(one)
    yield from _tables(one)


def _section(one: Reproduction) -> Iterator[str]:
    yield f"### {one.name}"
    yield from map(escape, _about(one))
    for table in _tables(one):
        yield folded(f"{len(table.rows)} figures: {table.title}", to_markdown(table))


def _sentence(found: Sequence[Reproduction]) -> str:
    n, equal, explained, unexplained = (
        sum(counts)
        for counts in zip(
            *((len(one.figures), one.equal, one.explained, one.unexplained) for one in found),
            strict=True,
        )
    )
    parts = [f"{equal} of {n} published figures are equal within their tolerance"]
    for count, why in (
        (explained, ", for the reason beside it"),
        (unexplained, ", and no reason is known"),
    ):
        if count:
            parts.append(f"{count} {'is' if count == 1 else 'are'} not{why}")
    return "; ".join(parts) + "."


def _tables(one: Reproduction) -> list[Table]:
    sources = dict.fromkeys(figure.source for figure in one.figures)
    published = [
        Table(
            _FIGURES,
            [Row(_cells(figure)) for figure in one.figures if figure.source == source],
            source,
            keys=2,
        )
        for source in sources
    ]
    return [*published, *_by_reader(one)]


def _by_reader(one: Reproduction) -> Iterator[Table]:
    """Errors of our own reader against the labels, and each figure by both."""
    if one.by_reader is None:
        return
    rows = [
        Row(
            [
                *(row.row, row.n, row.unread, row.labelled, row.missed, row.added),
                *(row.difference.value, row.difference.interval),
            ]
        )
        for row in one.by_reader.rows
    ]
    yield Table(_READER, rows, "casewise's reader against the authors' labels", keys=1)
    both = [(label, one.by_reader.figures.get(label.key)) for label in one.figures]
    cells = [
        [
            *(label.row, label.name, number(label.recomputed, 1), number(read, 1)),
            signed(read - label.recomputed, 1),
        ]
        for label, read in both
        if read is not None
    ]
    yield Table(_BY_READER, list(map(Row, cells)), "the figures by the reader", keys=2)


def _cells(figure: Figure) -> list[Cell]:
    digits = len(f"{figure.tolerance:.9f}".rstrip("0").partition(".")[2])
    if figure.is_equal:
        verdict: Cell = number(figure.tolerance, digits) if figure.tolerance else "exactly"
    elif figure.reason:
        verdict = Word(f"no: {figure.reason}", Tone.DOUBT)
    else:
        verdict = Word("no", Tone.BAD)
    values = (number(one, digits) for one in (figure.published, figure.recomputed))
    return [figure.row, figure.name, *values, signed(figure.difference, digits + 2), verdict]


def _records(one: Reproduction) -> Iterator[dict[str, object]]:
    """A record for each figure; by our own reader, too, and for each run its errors."""
    read = one.by_reader
    values = read.figures if read is not None else {}
    for figure in one.figures:
        by_reader = {"by_reader": values[figure.key]} if figure.key in values else {}
        yield _record(one, figure) | by_reader
    for row in read.rows if read is not None else ():
        counts = {name: getattr(row, name) for name in ("n", *_COUNTS)}
        difference = row.difference
        yield {"work": one.name, "run": row.row, "reader": counts} | {
            "difference": difference.value,
            "ci": json_interval(difference.interval),
        }


_COUNTS = ("unread", "labelled", "missed", "added")


def _record(one: Reproduction, figure: Figure) -> dict[str, object]:
    return {
        "work": one.name,
        "source": figure.source,
        "run": figure.row,
        "figure": figure.name,
        "published": figure.published,
        "recomputed": figure.recomputed,
        "difference": figure.difference,
        "tolerance": figure.tolerance,
        "equal": figure.is_equal,
        "reason": figure.reason,
    }
