"""Replay of conversations: sentences, tables and the conversations to read; JSON."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from casewise.replies import ChangeRates, ReplayReport, ReplayTexts, ReplyChange
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Part,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    count,
    figures,
    interval,
    json_fields,
    number,
    page,
)

SHOWN = 10
"""Conversations of each kind that are listed; JSON has all."""

Texts = Mapping[str, ReplayTexts]


def replay_sheet(found: ReplayReport, texts: Texts) -> Sheet:
    """Sentences on what changed, the table, and the conversations to read.

    In JSON, what does not apply is absent.
    """
    return page(_parts(found, texts), lambda: _records(found, texts))


def _parts(found: ReplayReport, texts: Texts) -> Iterator[Part]:
    yield from _sentences(found)
    yield from ("", _table(found))
    yield from _remarks(found)
    yield from _listed(found, texts)


_TONES = {ReplyChange.REFUSED: Tone.BAD, ReplyChange.ANSWERED: Tone.DOUBT}


def _sentences(found: ReplayReport) -> Iterator[Part]:
    """Number of changed replies in 1,000, with its bounds, by kind of change."""
    overall = found.rates[0]
    several = found.turns > found.conversations
    of = f"Of {count(found.turns)} {'turns' if several else 'conversations'}"
    for change, share in overall.shares.items():
        low, high = share.interval
        per = 1000 if not high * 1000 < 1 else 100_000
        digits = 0 if (share.value or high) * per >= 10 else 1
        value, ends = number(share.value * per, digits), interval((low * per, high * per), digits)
        if not overall.compared:
            yield f"{of}, no share that is {change} is known: no two replies could be compared."
        elif not overall.events[change]:
            most = number(high * per, digits)
            yield f"{of}, none is {change}: at most {most} in {per:,}."
        else:
            yield Word(f"{of}, {value} in {per:,} are {change}: {ends}.", _TONES[change])


def _remarks(found: ReplayReport) -> Iterator[str]:
    """Notes on what was compared."""
    old = f"{found.old}'s, asked anew" if found.old else "the file's"
    yield f"New replies: {found.new}; old replies: {old}. A partial reply counts as an answer."
    yield (
        f"{count(found.rates[0].compared)} of {count(found.turns)} could be compared; "
        f"{count(found.clusters)} {found.cluster}s."
    )
    for words, number_of in (*found.left_out.items(), *found.unread.items()):
        yield f"Left out: {count(number_of)}: {words}."


def _table(found: ReplayReport) -> Table:
    columns = [Column("category"), *figures(Kind.COUNT, "turns", "compared")]
    for change in ReplyChange:
        columns += [Column(str(change), Kind.COUNT), Column("of all (95 %)", Kind.ESTIMATE, 4)]
    note = "Each interval is at 95 %: of 20 categories, one misses by chance."
    rows = [Row(_cells(one)) for one in found.rates]
    return Table(columns, rows, "Changed replies", note if len(rows) > 1 else "")


def _cells(one: ChangeRates) -> list[Cell]:
    name = "all" if one.category is None else one.category
    changes = ((one.events[change], one.shares[change]) for change in ReplyChange)
    return [name, one.turns, one.compared, *(cell for both in changes for cell in both)]


def _listed(found: ReplayReport, texts: Texts) -> Iterator[Part]:
    """The conversations to read: ids, lines and classes; texts where they are shown."""
    for change in ReplyChange:
        of_kind = [one for one in found.changed if one.change is change]
        if not of_kind:
            continue
        yield f"To read, {change} ({found.file}):"
        for one in of_kind[:SHOWN]:
            words = [one.conversation, f"line {one.line}", f"{one.before} to {one.after}"]
            yield Word("  ".join(["", *words, one.category or ""]).rstrip(), _TONES[change])
            if (said := texts.get(one.case_id)) is not None:
                yield f"    asked: {said.query}"
                yield f"    before: {said.old}"
                yield f"    after: {said.new}"
        if len(of_kind) > SHOWN:
            yield f"  ... and {count(len(of_kind) - SHOWN)} more (--format json lists all)"
    if found.changed and not texts:
        yield "Texts are withheld: --reveal, on a new --log-dir, keeps and shows them."


def _records(found: ReplayReport, texts: Texts) -> dict[str, Any]:
    return {
        **json_fields(found, "new", "old", "file", "conversations", "left_out", "turns"),
        **json_fields(found, "unread", "cluster", "clusters"),
        "rates": [
            {
                "category": one.category,
                "turns": one.turns,
                "compared": one.compared,
                **{
                    str(change).replace(" ", "_"): {
                        **json_fields(share, "value", "interval"),
                        "events": one.events[change],
                    }
                    for change, share in one.shares.items()
                },
            }
            for one in found.rates
        ],
        "changed": [
            {"conversation": one.conversation, "line": one.line, "case": one.case_id}
            | json_fields(one, "category", "change", "before", "after")
            | (asdict(texts[one.case_id]) if one.case_id in texts else {})
            for one in found.changed
        ],
    }
