"""Replay of conversations: sentences, the table and the conversations to read; JSON."""

from collections.abc import Iterator
from typing import Any

from casewise.replies import ChangeRates, ReplayReport, ReplyChange
from casewise.sheets import (
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

_TONES = {ReplyChange.REFUSED: Tone.BAD, ReplyChange.ANSWERED: Tone.DOUBT}


def replay_sheet(report: ReplayReport) -> Sheet:
    """Sentences on what changed, the table, and the conversations to read."""
    return page(_parts(report), lambda: _records(report))


def _parts(report: ReplayReport) -> Iterator[Part]:
    overall = report.rates[0]
    if overall.compared:
        yield from (_sentence(overall, change) for change in ReplyChange)
    else:
        yield "No two replies could be compared."
    yield from ("", _table(report))
    old = f"{report.old}'s, asked anew" if report.old else "the file's"
    yield f"New replies: {report.new}; old replies: {old}. A partial reply counts as an answer."
    yield (
        f"{count(overall.compared)} of {count(overall.turns)} could be compared; "
        f"{count(report.clusters)} {report.cluster}s."
    )
    for reason, n in report.left_out.items():
        yield f"Left out: {count(n)}: {reason}."
    for change in ReplyChange:
        yield from _listed(report, change)
    if any("query" not in turn for turn in report.changed):
        yield "Texts are withheld: --reveal, on a new --log-dir, keeps and shows them."


def _sentence(rates: ChangeRates, change: ReplyChange) -> Part:
    """Number of changed replies in 1,000, with its bounds."""
    share, events = rates.shares[change], rates.events[change]
    low, high = (1000 * end for end in share.interval)
    digits = 0 if high >= 10 else 2
    text = (
        f"{change.capitalize()}: {count(events)} of {count(rates.compared)} replies compared, "
        f"{number(1000 * share.value, digits)} in 1,000 ({interval((low, high), digits)})."
    )
    return Word(text, _TONES[change]) if events else text


def _table(report: ReplayReport) -> Table:
    columns = [Column("category"), *figures(Kind.COUNT, "turns", "compared")]
    for change in ReplyChange:
        columns += [Column(str(change), Kind.COUNT), Column("of all (95 %)", Kind.ESTIMATE, 4)]
    note = "Each interval is at 95 %: of 20 categories, one misses by chance."
    rows = [
        Row(
            [
                "all" if rate.category is None else rate.category,
                *(rate.turns, rate.compared),
                *(cell for name in ReplyChange for cell in (rate.events[name], rate.shares[name])),
            ]
        )
        for rate in report.rates
    ]
    return Table(columns, rows, "Changed replies", note if len(rows) > 1 else "")


def _listed(report: ReplayReport, change: ReplyChange) -> Iterator[Part]:
    """The conversations to read: ids, lines and classes; texts where they are shown."""
    changed = [turn for turn in report.changed if turn["change"] == change]
    if changed:
        yield f"To read, {change} ({report.file}):"
    for turn in changed[:SHOWN]:
        classes = f"{turn['before']} to {turn['after']}"
        words = ["", turn["conversation"], f"line {turn['line']}", classes, turn["category"] or ""]
        yield Word("  ".join(words).rstrip(), _TONES[change])
        if "query" in turn:
            yield f"    asked: {turn['query']}"
            yield f"    before: {turn['old']}"
            yield f"    after: {turn['new']}"
    if len(changed) > SHOWN:
        yield f"  ... and {count(len(changed) - SHOWN)} more (--format json lists all)"


def _records(report: ReplayReport) -> dict[str, Any]:
    names = ("new", "old", "file", "conversations", "left_out", "cluster", "clusters")
    return {
        **json_fields(report, *names),
        "rates": [
            {
                **json_fields(rate, "category", "turns", "compared"),
                **{
                    change.replace(" ", "_"): {
                        **json_fields(share, "value", "interval"),
                        "events": rate.events[change],
                    }
                    for change, share in rate.shares.items()
                },
            }
            for rate in report.rates
        ],
        "changed": report.changed,
    }
