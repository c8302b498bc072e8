"""What the results would be without those whom screening flags."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise.annotation.study import Arm
from casewise.annotation.votes._cells import mean_share, pairs_of_arms
from casewise.annotation.votes._screening import Rule, Screened
from casewise.annotation.votes._table import VoteTable
from casewise.statistics import TwoWay, agreement

EVERYBODY = "everybody"
NOBODY_FLAGGED = "without flagged"


@dataclass(frozen=True, slots=True)
class SensitivityRow:
    """The results with some people left out."""

    name: str
    people: int
    votes: int
    share_safe: dict[Arm, TwoWay]
    """By arm: the mean over cells of the share of safe votes."""
    alpha: float
    """Krippendorff's, over all cells; NaN where it is undefined."""
    ac1: float
    """Gwet's."""
    differences: dict[tuple[Arm, Arm], TwoWay]
    """By two arms: the share of safe votes in the first less that in the second."""
    flipped: int
    """Cells whose majority is the other one with everybody."""
    to_tie: int
    """Cells that have a majority with everybody, and none here."""
    from_tie: int
    """Cells that are even with everybody, and aren't here."""
    empty: int
    """Cells with votes of everybody that have none here."""


def sensitivity(table: VoteTable, screened: Screened) -> tuple[SensitivityRow, ...]:
    """With everybody, without those whom each rule flags, and without any of them."""
    rows = [(EVERYBODY, frozenset[str]())]
    rows += [(f"without {rule.replace('_', ' ')}", screened.flagged(rule)) for rule in Rule]
    rows.append((NOBODY_FLAGGED, screened.flagged()))
    return tuple(_row(name, table, out) for name, out in rows)


def _row(name: str, table: VoteTable, out: frozenset[str]) -> SensitivityRow:
    kept = table.without(out) if out else table
    whole, here = _leaning(table), _leaning(kept)
    voted = table.counts > 0
    left = kept.counts > 0
    found = _agreement(kept)
    return SensitivityRow(
        name=name,
        people=len(table.raters) - len(out),
        votes=len(kept.safe),
        share_safe={arm: mean_share(kept.only(kept.in_arm(arm))) for arm in _arms(table)},
        alpha=found[0],
        ac1=found[1],
        differences={(one.first, one.second): one.difference for one in pairs_of_arms(kept)},
        flipped=int((whole * here < 0).sum()),
        to_tie=int(((whole != 0) & (here == 0) & left).sum()),
        from_tie=int(((whole == 0) & (here != 0) & voted).sum()),
        empty=int((voted & ~left).sum()),
    )


def _leaning(table: VoteTable) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.sign(2 * table.counts_safe - table.counts)


def _agreement(table: VoteTable) -> tuple[float, float]:
    safe = table.counts_safe
    found = agreement(safe, table.counts - safe)
    return found.krippendorff_alpha.value, found.gwet_ac1.value


def _arms(table: VoteTable) -> Sequence[Arm]:
    present = {cell.arm for cell in table.cells}
    return [arm for arm in Arm if arm in present]
