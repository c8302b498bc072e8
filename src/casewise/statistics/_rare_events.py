"""Events: rates of rare ones, and how long something holds until it first fails.

Rates have exact intervals, clustered, and of draws that favour likely units; survival is by turns.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from casewise.statistics._clustered import (
    NO_INTERVAL,
    ROUND_OFF,
    Z_95,
    BoolArray,
    Clusters,
    FloatArray,
    IntArray,
    beta_bounds,
    student_quantile,
)

EVEN = 0.5
"""Share of a draw in which each unit is as likely as any other. No unit then weighs more than
1 / EVEN, so a first look that is wrong costs at most that much in variance."""

CONFIDENCE = 0.975
"""Confidence of each end of an interval: 95 % for both."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnUnits:
    """Units that were drawn, and the chance that each had."""

    drawn: BoolArray
    """Shape ``(n,)``."""
    probability: FloatArray
    """Probability of each unit to be drawn, above 0 up to 1. Shape ``(n,)``."""


def draw_units(look: FloatArray, size: int, seed: int) -> DrawnUnits:
    """Draw units without replacement, those the likelier that a first look holds for likely.

    The probabilities are a mixture of equal ones and of the look's (defensive importance sampling:
    Hesterberg 1995, doi:10.1080/00401706.1995.10484303). The units are drawn by systematic
    sampling in random order, so their number is exact, and each has exactly its probability
    (Hartley & Rao 1962, doi:10.1214/aoms/1177704564).

    Args:
        look: How likely an event is thought, 0 and up; only ratios count. Shape ``(n,)``.
        size: How many to draw; all, if there are no more.
        seed: Of the order.
    """
    n = len(look)
    if size >= n:
        return DrawnUnits(np.ones(n, np.bool_), np.ones(n))
    share = np.full(n, 1 / n)
    if look.sum() > 0:
        share = EVEN / n + (1 - EVEN) * look / look.sum()
    probability = _capped(share, size)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    points = rng.random() + np.arange(size)
    places = np.searchsorted(np.cumsum(probability[order]), points, side="right")
    drawn = np.zeros(n, np.bool_)
    # Rounding may put the sum of all a little below the last point.
    drawn[order[np.minimum(places, n - 1)]] = True
    return DrawnUnits(drawn, probability)


def _capped(share: FloatArray, size: int) -> FloatArray:
    """Probabilities in proportion to shares that sum to the size, none above 1."""
    certain = np.zeros(len(share), np.bool_)
    while True:
        left = size - certain.sum()
        found = np.where(certain, 1.0, share * (left / share[~certain].sum()))
        if not (found > 1).any():
            return found
        certain |= found >= 1


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Units of a domain, all or some of them drawn. Shapes ``(n,)``."""

    hit: FloatArray
    """1 an event, 0 none; NaN of what was drawn and can't be told. Read of drawn units alone."""
    possible: BoolArray
    """True where a unit can be an event, as far as that is known without drawing it."""
    draw: DrawnUnits
    clusters: Clusters

    def only(self, kept: BoolArray) -> Self:
        """The units of a part of the domain, such as a category."""
        draw = DrawnUnits(self.draw.drawn[kept], self.draw.probability[kept])
        return type(self)(self.hit[kept], self.possible[kept], draw, self.clusters.only(kept))


@dataclass(frozen=True, slots=True)
class RareRate:
    """The rate of an event, with a 95 % interval; NaN where it can't be had, with the reason."""

    value: float
    """Share in 0..1."""
    interval: tuple[float, float]
    events: int
    """Seen among what was drawn."""
    size: int
    """Drawn units that can be told."""
    unread: int
    """Drawn units that can't be told."""
    effective_size: float
    """Independent units, drawn with equal chances, that would tell the rate as closely."""
    reason: str = ""


def rare_rate(units: Units) -> RareRate:
    """The rate of an event among the units that can be told.

    The estimate is the mean over drawn units of event times weight, with weights in inverse
    proportion to the probabilities, of mean 1 in the domain (Hansen & Hurwitz 1943,
    doi:10.1214/aoms/1177731356): unbiased, whatever the first look was worth, and close to it
    where units can't be told.

    The interval is Clopper and Pearson's (1934), exact, where units are independent and weigh
    alike. Else it is theirs on the effective size (Korn & Graubard 1998, Survey Methodology 24),
    with Student's t for few clusters, and with the upper end of Fay & Feuer (1997,
    doi:10.1002/(SICI)1097-0258(19970415)16:7<791::AID-SIM500>3.0.CO;2-#), a beta in place of their
    gamma: as if one more event had been seen, in the unit that weighs most. So the interval covers
    also where no event was drawn of those that weigh much. Of rates above a half it is the
    complement's. Draws without replacement are taken for draws with it, as the events in the file
    are themselves a sample of those that users bring.
    """
    drawn, probability = units.draw.drawn, units.draw.probability
    hit = units.hit[drawn]
    unread = np.isnan(hit)
    told, m = int((~unread).sum()), len(hit)
    events = int(np.nansum(hit))

    def rate_of(value: float, ends: tuple[float, float], size: float, reason: str = "") -> RareRate:
        return RareRate(value, ends, events, told, m - told, size, reason)

    if not told:
        reason = "none was asked" if not m else "no reply could be told"
        return rate_of(math.nan, NO_INTERVAL, math.nan, reason)
    weights = probability.mean() / probability
    weight = weights[drawn]
    share = 1 - float((weight * unread).mean())
    if share <= 0:
        share = float((weight * ~unread).mean())
    value = float((weight * np.where(unread, 0, hit)).mean()) / share
    clusters = units.clusters.only(drawn)
    sizes = np.bincount(clusters.index)
    if sizes.max() == 1 and np.ptp(weights) < _ALIKE:
        exact = beta_bounds(events, told, CONFIDENCE)
        return rate_of(value, (exact.low, exact.high), float(told))
    count = int((sizes > 0).sum())
    if count < 2:
        reason = "all that was asked is of one cluster: it shows no spread"
        return rate_of(value, NO_INTERVAL, math.nan, reason)
    # A unit's part in the rate, by which the ratio's error is told.
    part = weight * np.where(unread, value, hit) / share
    spread = _Spread.of_parts(part, clusters, m, count)
    # Where every unit tells the same, each cluster counts as one.
    scale = spread.design if spread.variance > 0 else m / count
    most = float(weights[units.possible].max()) if units.possible.any() else 1.0
    step = most * scale / (m * share)
    value = min(1.0, value)
    rate = min(value, 1 - value)
    low, high = spread.low(rate), spread.high(rate, step)
    size = value * (1 - value) / spread.variance if spread.variance > 0 else 1 / step
    return rate_of(value, (low, high) if value <= 0.5 else (1 - high, 1 - low), size)


_ALIKE = 1e-9
"""Weights that differ by less are the same."""


@dataclass(frozen=True, slots=True)
class _Spread:
    """The error of a rate, and how much of it is the clusters'."""

    variance: float
    design: float
    """Design effect: the variance over that of independent units, 1 and up."""
    widen: float
    """Student's t of so many clusters, squared, in units of the normal's."""

    @classmethod
    def of_parts(cls, part: FloatArray, clusters: Clusters, m: int, count: int) -> Self:
        from scipy.special import ndtri

        off = (part - part.mean()) / m
        alone = m / (m - 1) * float((off**2).sum())
        together = count / (count - 1) * float((np.bincount(clusters.index, off) ** 2).sum())
        design = max(1.0, together / alone) if alone > 0 else 1.0
        t = student_quantile(count - 1, CONFIDENCE) / float(ndtri(CONFIDENCE))
        return cls(design * alone, design, t**2)

    def low(self, rate: float) -> float:
        """The lower end of a rate up to a half."""
        if not (rate > 0 and self.variance > 0):
            return 0.0
        size = rate * (1 - rate) / (self.variance * self.widen)
        return beta_bounds(rate * size, size, CONFIDENCE).low

    def high(self, rate: float, step: float) -> float:
        """The upper end, with one more event that moves the rate by a step."""
        more = rate + step
        if more >= 1:
            return 1.0
        from scipy.special import betaincinv

        size = more * (1 - more) / ((self.variance + step**2) * self.widen)
        return float(betaincinv(more * size, (1 - more) * size, CONFIDENCE))


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
    """Lower end of the pointwise 95 % interval; NaN where survival is 0 or 1, and where all
    clusters are alike."""
    high: FloatArray
    """Upper end of it; NaN where the lower is."""

    @property
    def median(self) -> float:
        """The first turn after which half or fewer hold; NaN where more than half hold to the end.

        By 1e-12 more than half is half: products of fractions are not exact.
        """
        reached = self.turns[self.survival <= 0.5 + 1e-12]
        return float(reached[0]) if len(reached) else float("nan")


def kaplan_meier(
    turn: IntArray, event: BoolArray, clusters: Clusters | None = None
) -> SurvivalCurve:
    """Kaplan & Meier (1958), doi:10.1080/01621459.1958.10501452: survival under censoring.

    Whoever is censored at a turn was at risk in it. The variance adds up the influence of each
    cluster's rows (Williams 1995, doi:10.1007/BF01985768), and is Greenwood's where each row is a
    cluster. The interval is normal for log(-log(survival)), so that it stays inside 0..1:
    Kalbfleisch & Prentice (2002), The Statistical Analysis of Failure Time Data, 2nd ed., section
    1.4.

    Args:
        turn: When each failed, or was last seen without having failed. Shape ``(n,)``.
        event: Whether it failed then. Shape ``(n,)``.
        clusters: The query of each; None takes the rows as independent.

    Returns:
        The curve; with empty arrays where there are no rows.

    Raises:
        ValueError: The shapes differ, or a turn is below 1.
    """
    if turn.ndim != 1 or turn.shape != event.shape:
        raise ValueError(f"shapes {turn.shape} and {event.shape}")
    if len(turn) and turn.min() < 1:
        raise ValueError("turns are counted from 1")
    turns, place, seen = np.unique(turn, return_inverse=True, return_counts=True)
    events = np.bincount(place, event, minlength=len(turns)).astype(np.int64)
    at_risk = np.cumsum(seen[::-1])[::-1].astype(np.int64)
    survival = np.cumprod(1 - events / at_risk).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        # By row and turn: how far the log of survival would fall with more of the row.
        due = (turn[:, None] >= turns) * (events / at_risk)
        beyond = (turn[:, None] == turns) * event[:, None] - due
        influence = np.cumsum(beyond / (at_risk - events), axis=1)
        sums = influence if clusters is None else clusters.sums(*influence.T)
        error = np.sqrt((sums**2).sum(axis=0))
        half = Z_95 * error / np.abs(np.log(survival))
        low, high = survival ** np.exp(half), survival ** np.exp(-half)
    open_ended = (survival == 0) | (survival == 1) | ~(error > ROUND_OFF)
    return SurvivalCurve(
        turns=turns.astype(np.int64),
        at_risk=at_risk,
        events=events,
        survival=survival,
        low=np.where(open_ended, np.nan, low),
        high=np.where(open_ended, np.nan, high),
    )
