"""Survival by turns: how long something holds until it first fails."""

from dataclasses import dataclass

import numpy as np

from casewise.statistics.estimates import (
    LEAST_QUERIES,
    ROUND_OFF,
    Z_95,
    BoolArray,
    Clusters,
    FloatArray,
    IntArray,
)


@dataclass(frozen=True, slots=True, eq=False)
class SurvivalCurve:
    """The share that has not failed, turn by turn. Every array has shape ``(turns,)``."""

    turns: IntArray
    """The turns at which anything failed or was last seen, rising."""
    at_risk: IntArray
    """Conversations that reached the turn without having failed before it."""
    events: IntArray
    """Conversations that failed at the turn."""
    survival: FloatArray
    """The share that holds after the turn, 0..1."""
    low: FloatArray
    """Lower end of the pointwise 95 % interval; NaN where fewer than ten clusters make the
    survival, where it is 0 or 1, and where all clusters are alike."""
    high: FloatArray
    """Upper end of it; NaN where the lower is."""
    makers: IntArray
    """Clusters that make the survival: those that have failed by the turn, or that hold out, if
    these are fewer."""

    @property
    def median(self) -> float:
        """The first turn after which half or fewer hold; NaN where more than half hold to the end.

        By 1e-12 more than half is half: products of fractions are not exact.
        """
        reached = self.turns[self.survival <= 0.5 + 1e-12]
        return float(reached[0]) if len(reached) else float("nan")


def kaplan_meier(turn: IntArray, event: BoolArray, clusters: Clusters) -> SurvivalCurve:
    """Kaplan & Meier (1958), doi:10.1080/01621459.1958.10501452: survival under censoring.

    Whoever is censored at a turn was at risk in it. The variance adds up the influence of each
    cluster's rows (Williams 1995, doi:10.1007/BF01985768), and is Greenwood's where each row is a
    cluster. The interval is normal for log(-log(survival)), so that it stays inside 0..1:
    Kalbfleisch & Prentice (2002), The Statistical Analysis of Failure Time Data, 2nd ed., section
    1.4.

    Args:
        turn: When each failed, or was last seen without having failed. Shape ``(n,)``.
        event: Whether it failed then. Shape ``(n,)``.
        clusters: The query of each.

    Returns:
        The curve; with empty arrays where there are no rows.
    """
    turns, place, seen = np.unique(turn, return_inverse=True, return_counts=True)
    events = np.bincount(place, event, minlength=len(turns)).astype(np.int64)
    at_risk = np.cumsum(seen[::-1])[::-1].astype(np.int64)
    survival = np.cumprod(1 - events / at_risk).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        # By row and turn: how far the log of survival would fall with more of the row.
        due = (turn[:, None] >= turns) * (events / at_risk)
        beyond = (turn[:, None] == turns) * event[:, None] - due
        influence = np.cumsum(beyond / (at_risk - events), axis=1)
        sums = clusters.sums(*influence.T)
        error = np.sqrt((sums**2).sum(axis=0))
        half = Z_95 * error / np.abs(np.log(survival))
        low, high = survival ** np.exp(half), survival ** np.exp(-half)
    query = clusters.index
    failed = [event & (turn <= last) for last in turns]
    sides = [(len(np.unique(query[one])), len(np.unique(query[~one]))) for one in failed]
    makers = np.array([min(both) for both in sides], np.int64)
    open_ended = (makers < LEAST_QUERIES) | (survival == 0) | (survival == 1) | ~(error > ROUND_OFF)
    return SurvivalCurve(
        turns=turns.astype(np.int64),
        at_risk=at_risk,
        events=events,
        survival=survival,
        low=np.where(open_ended, np.nan, low),
        high=np.where(open_ended, np.nan, high),
        makers=makers,
    )
