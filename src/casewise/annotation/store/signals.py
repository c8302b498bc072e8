"""Signals of pages in the database: counts and seconds, and never what was written or copied."""

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, case, func, insert, select

from casewise.annotation.store.tables import page_signal
from casewise.annotation.votes.collected import SIGNALS


@dataclass(frozen=True, slots=True)
class PageWatch:
    """What the page's script counted, from showing to answer."""

    left: int
    """Times that the page lost the focus, or was hidden."""
    away: float
    """Seconds until it had it again, in all."""
    copied: int
    """Times that a part of the case was copied."""
    pasted: int
    """Times that something was pasted."""


@dataclass(frozen=True, slots=True)
class PageSignals:
    """The signals that come with the answer to a page."""

    honeypot: bool
    """Whether the page's hidden text was followed."""
    watch: PageWatch | None = None
    """None where scripts are off."""


def write_signals(
    connection: Connection, person: int, position: int, signals: PageSignals, seconds: float
) -> None:
    """Write the signals of a page; nobody is away for longer than its ``seconds``."""
    values: dict[str, Any] = {"participant": person, "position": position}
    values["honeypot"] = signals.honeypot
    if signals.watch is not None:
        values |= asdict(signals.watch) | {"away": min(signals.watch.away, seconds)}
    connection.execute(insert(page_signal).values(values))


def signals_by_person(connection: Connection) -> dict[int, dict[str, Any]]:
    """The signals of everybody who has any, summed up by the names of ``PersonRecord``.

    Keys are the numbers of participants. What no script has counted is None.
    """

    def pages(where: ColumnElement[bool]) -> ColumnElement[int]:
        return func.sum(case((where, 1), else_=0))

    signal = page_signal.c
    rows = connection.execute(
        select(
            signal.participant,
            func.count().label("trap_pages"),
            pages(signal.honeypot).label("trapped"),
            func.count(signal.left).label("watched"),
            pages(signal.left > 0).label("left"),
            func.sum(signal.away).label("away_seconds"),
            pages(signal.copied + signal.pasted > 0).label("copied"),
        ).group_by(signal.participant)
    )
    summed = {}
    for person, *values in rows:
        named = dict(zip(SIGNALS, values, strict=True))
        unseen = {} if named["watched"] else dict.fromkeys(("left", "away_seconds", "copied"))
        summed[person] = named | unseen
    return summed
