"""What a rehearsal shows, on a terminal and for programs."""

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from casewise.annotation.study import Study
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    figures,
    money,
    number,
    seconds,
    terminal,
)

if TYPE_CHECKING:
    from casewise.annotation.rehearsal import Rehearsal


def rehearsal_renderable(found: "Rehearsal", study: Study) -> RenderableType:
    """Three tables: how it went, what the votes tell, whom the screening flags."""
    return terminal(_run_table(found, study), _recovery_table(found), _screening_table(found))


def _run_table(found: "Rehearsal", study: Study) -> Table:
    held = found.integrity
    lines: list[tuple[str, Cell]] = [
        (f"people who {outcome.replace('_', ' ')}", count)
        for outcome, count in sorted(found.outcomes.items())
        if outcome != "full"
    ]
    lines += [
        (f"cases with exactly {study.votes} votes", f"{held.full} of {held.cells}"),
        ("people who saw a query in two contexts", held.two_arms),
        ("votes lost", held.lost),
        ("votes doubled", held.doubled),
        ("votes that nobody gave", held.foreign),
        ("other broken rules", len(held.oddities)),
        ("hours of people, in the study's time", number(found.hours, 1)),
        ("cost", money(found.cost or None, study.pay.currency)),
        ("a page takes, in the median", f"{number(1000 * found.wait(50), 0)} ms"),
        ("99 % take at most", f"{number(1000 * found.wait(99), 0)} ms"),
        ("the rehearsal took", seconds(found.seconds)),
    ]
    return Table([Column(""), Column("", Kind.COUNT)], list(map(Row, lines)), "The rehearsal")


def _recovery_table(found: "Rehearsal") -> Table:
    both = (found.recovery, found.unflagged)
    told_apart = (f"{one.told_apart} of {one.pairs}" for one in both)
    return Table(
        [Column(""), *figures(Kind.SHARE, "all", "without flagged")],
        [
            Row(["95 % intervals that hold the true share", *(one.coverage for one in both)]),
            Row(["mean error of a share", *(one.mean_error for one in both)]),
            Row(["queries whose contexts are told apart", *told_apart]),
        ],
        "Do the votes tell the truth?",
    )


def _screening_table(found: "Rehearsal") -> Table:
    return Table(
        [Column("people"), *figures(Kind.COUNT, "done", "flagged"), Column("share", Kind.SHARE, 2)],
        [Row([one.manner, one.n, one.flagged, one.share]) for one in found.flagged],
        "Whom does the screening flag?",
    )


def rehearsal_record(found: "Rehearsal", study: Study) -> dict[str, Any]:
    """The same for programs."""
    held = found.integrity
    recovered = {
        name: {
            "cells": one.cells,
            "coverage": one.coverage,
            "mean_error": one.mean_error,
            "pairs": one.pairs,
            "told_apart": one.told_apart,
        }
        for name, one in (("all", found.recovery), ("without_flagged", found.unflagged))
    }
    return {
        "outcomes": dict(found.outcomes),
        "sound": held.sound,
        "cells": held.cells,
        "full": held.full,
        "two_arms": held.two_arms,
        "lost": held.lost,
        "doubled": held.doubled,
        "foreign": held.foreign,
        "oddities": list(held.oddities),
        "recovery": recovered,
        "flagged": {one.manner: {"n": one.n, "flagged": one.flagged} for one in found.flagged},
        "hours": found.hours,
        "cost": found.cost,
        "currency": study.pay.currency,
        "requests": len(found.waits),
        "median_ms": 1000 * found.wait(50),
        "p99_ms": 1000 * found.wait(99),
        "retries": found.retries,
        "seconds": found.seconds,
    }
