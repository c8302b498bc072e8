"""Survival by turns: how long something holds until it first fails."""

import math
from dataclasses import dataclass

import numpy as np

from casewise.statistics.estimates import (
    NO_INTERVAL,
    ROUND_OFF,
    Z_95,
    BoolArray,
    Clusters,
    IntArray,
    too_few,
)


@dataclass(frozen=True, slots=True)
class SurvivalPoint:
    """The share that has not failed after a turn."""

    turn: int
    """A turn at which anything failed or was last seen."""
    at_risk: int
    """Conversations that reached the turn without having failed before it."""
    events: int
    """Conversations that failed at the turn."""
    value: float
    """The share that holds after the turn, 0..1."""
    interval: tuple[float, float]
    """Pointwise 95 % interval; NaN where fewer than ten clusters make the share, where it is 0 or
    1, and where all clusters are alike."""
    reason: str
    """Why there is no interval: few clusters have failed by the turn, or hold out."""
    p: float = math.nan
    """Undefined: a share is no difference."""


def kaplan_meier(turn: IntArray, event: BoolArray, clusters: Clusters) -> list[SurvivalPoint]:
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
        The turns at which anything failed or was last seen, rising; none where there are no rows.
    """
    turns, place, sizes = np.unique(turn, return_inverse=True, return_counts=True)
    events = np.bincount(place, event, minlength=len(turns))
    at_risk = np.cumsum(sizes[::-1])[::-1]
    survival = np.cumprod(1 - events / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        # By row and turn: how far the log of survival would fall with more of the row.
        due = (turn[:, None] >= turns) * (events / at_risk)
        beyond = (turn[:, None] == turns) * event[:, None] - due
        influence = np.cumsum(beyond / (at_risk - events), axis=1)
        error = np.sqrt((clusters.sums(*influence.T) ** 2).sum(axis=0))
        half = Z_95 * error / np.abs(np.log(survival))
        ends = np.stack([survival ** np.exp(half), survival ** np.exp(-half)], axis=1)
    points = []
    for at, last in enumerate(turns):
        failed = event & (turn <= last)
        makers = min(len(np.unique(clusters.index[group])) for group in (failed, ~failed))
        reason = too_few(makers, "figure")
        is_open = reason or not 0 < survival[at] < 1 or not error[at] > ROUND_OFF
        interval = NO_INTERVAL if is_open else (float(ends[at, 0]), float(ends[at, 1]))
        counts = int(last), int(at_risk[at]), int(events[at])
        points.append(SurvivalPoint(*counts, float(survival[at]), interval, reason))
    return points
