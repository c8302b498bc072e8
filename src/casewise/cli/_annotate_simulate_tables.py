"""What a rehearsal shows, on a terminal and for programs."""

import math
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType

from casewise.annotation.study import Study
from casewise.reporting import PlainTable, plain_table

if TYPE_CHECKING:
    from casewise.annotation.rehearsal import Rehearsal


def rehearsal_renderable(found: "Rehearsal", study: Study) -> RenderableType:
    """Three tables: how it went, what the votes tell, whom the screening flags."""
    return Group(_run_table(found, study), _recovery_table(found), _screening_table(found))


def _run_table(found: "Rehearsal", study: Study) -> PlainTable:
    table = plain_table("The rehearsal", ("", ""))
    held = found.integrity
    rows: list[tuple[str, object]] = [
        (f"people who {outcome.replace('_', ' ')}", count)
        for outcome, count in sorted(found.outcomes.items())
        if outcome != "full"
    ]
    rows += [
        (f"cases with exactly {study.votes} votes", f"{held.full} of {held.cells}"),
        ("people who saw a query in two contexts", held.two_arms),
        ("votes lost", held.lost),
        ("votes doubled", held.doubled),
        ("votes that nobody gave", held.foreign),
        ("other broken rules", len(held.oddities)),
        ("hours of people, in the study's time", f"{found.hours:.1f}"),
        ("cost", f"{found.cost:.2f} {study.pay.currency}" if found.cost else "–"),
        ("a page takes, in the median", f"{1000 * found.wait(50):.0f} ms"),
        ("99 % take at most", f"{1000 * found.wait(99):.0f} ms"),
        ("the rehearsal took", f"{found.seconds:.0f} s"),
    ]
    for name, value in rows:
        table.add_row(name, str(value))
    return table


def _recovery_table(found: "Rehearsal") -> PlainTable:
    table = plain_table("Do the votes tell the truth?", ("", "all", "without flagged"))
    both = (found.recovery, found.unflagged)
    table.add_row(
        "95 % intervals that hold the true share", *(f"{one.coverage:.3f}" for one in both)
    )
    table.add_row("mean error of a share", *(f"{one.mean_error:.3f}" for one in both))
    table.add_row(
        "queries whose contexts are told apart",
        *(f"{one.told_apart} of {one.pairs}" for one in both),
    )
    return table


def _screening_table(found: "Rehearsal") -> PlainTable:
    table = plain_table("Whom does the screening flag?", ("people", "done", "flagged", "share"))
    for one in found.flagged:
        table.add_row(one.manner, str(one.n), str(one.flagged), f"{one.share:.2f}")
    return table


def rehearsal_record(found: "Rehearsal", study: Study) -> dict[str, Any]:
    """The same for programs."""
    held = found.integrity
    recovered = {
        name: {
            "cells": one.cells,
            "coverage": _known(one.coverage),
            "mean_error": _known(one.mean_error),
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
        "median_ms": _known(1000 * found.wait(50)),
        "p99_ms": _known(1000 * found.wait(99)),
        "retries": found.retries,
        "seconds": found.seconds,
    }


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
