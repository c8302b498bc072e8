"""Estimates with cluster-robust errors: sandwich, two-way, and by the cluster bootstrap."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from casewise.statistics._one_sided import paired_share_bounds

FloatArray = NDArray[np.float64]

CELLS = 4_000_000
"""Most numbers in a block of weights (32 MB), so that many clusters need no more memory."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """How often clusters are drawn anew, and from which seed.

    The same seed and number of clusters give the same draws, so whatever is computed over the
    same queries is resampled in pairs.
    """

    draws: int
    seed: int

    def weights(self, clusters: int) -> Iterator[FloatArray]:
        """Blocks of how often each cluster is drawn, shape ``(some draws, clusters)``.

        Each row sums to the number of clusters; all blocks together have ``draws`` rows. Efron &
        Tibshirani (1993), An Introduction to the Bootstrap, chapter 8.
        """
        step = max(1, CELLS // max(clusters, 1))
        for start in range(0, self.draws, step):
            yield _block(self.seed, start, min(step, self.draws - start), clusters)


@lru_cache(maxsize=4)
def _block(seed: int, start: int, draws: int, clusters: int) -> FloatArray:
    drawn = np.random.default_rng([seed, start]).integers(clusters, size=(draws, clusters))
    drawn += np.arange(draws)[:, None] * clusters
    counts = np.bincount(drawn.ravel(), minlength=draws * clusters)
    block = counts.reshape(draws, clusters).astype(np.float64)
    block.flags.writeable = False
    return block


def percentile_interval(replicates: FloatArray) -> tuple[float, float]:
    """The middle 95 % of bootstrap replicates; NaN if fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if 2 * len(defined) < len(replicates) or not len(defined):
        return float("nan"), float("nan")
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Formula = Callable[[NDArray[np.inexact]], NDArray[np.inexact]]
"""A figure from totals, shape ``(..., k)`` to ``(...)``: smooth, and the same if all are scaled."""

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

FEW_CLUSTERS = 30
"""Below so many clusters a proportion's interval is Wilson's, and other errors are held against
Student's t with a degree of freedom fewer than clusters."""

ROUND_OFF = 1e-12
"""Errors below this, relative to the figure, are rounding: all clusters are alike."""

FEW_EXCEPTIONS = 5
"""With fewer clusters' worth of hits, or of misses, it is Wilson's too."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which cluster (query) each row belongs to."""

    index: IntArray
    """Numbers in 0..count-1. Shape ``(n,)``."""
    count: int
    """How many clusters there are, those without rows included."""
    resampling: Resampling | None = None
    """None computes no bootstrap."""

    def only(self, kept: BoolArray | IntArray) -> Self:
        """The clusters of some rows; the count stays, so that estimates can be subtracted."""
        return type(self)(self.index[kept], self.count, self.resampling)

    def sums(self, *columns: FloatArray) -> FloatArray:
        """Columns of shape ``(n,)`` summed by cluster, shape ``(count, columns)``."""
        return np.stack(
            [np.bincount(self.index, column, minlength=self.count) for column in columns], axis=1
        )


def number_clusters(names: NDArray[np.generic], resampling: Resampling | None = None) -> Clusters:
    """Number clusters by the order of their names, so that equal names are resampled alike."""
    unique, index = np.unique(names, return_inverse=True)
    return Clusters(index.astype(np.int64), len(unique), resampling)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A figure with its uncertainty; NaN where it is undefined.

    Estimates over the same clusters can be subtracted and scaled: the result has the paired
    error, since each cluster's influence is subtracted from its own.
    """

    value: float
    influence: FloatArray
    """What each cluster adds to the figure's error. Shape ``(clusters,)``; empty if undefined."""
    replicates: FloatArray
    """The figure on each bootstrap draw. Shape ``(draws,)``; empty without a bootstrap."""
    clusters: int = 0
    """Clusters that the figure rests on."""
    size: float = math.nan
    """Rows under a proportion's denominator; NaN where the figure is no proportion."""
    is_share_change: bool = False
    """Whether it is the paired difference of two proportions over one denominator."""

    @property
    def se(self) -> float:
        """Clustered standard error; NaN of fewer than two clusters."""
        if self.clusters < 2 or not math.isfinite(self.value):
            return math.nan
        error = float(np.sqrt((self.influence**2).sum()))
        return error if error > ROUND_OFF * max(1.0, abs(self.value)) else 0.0

    @property
    def margin(self) -> float:
        """Half the width of the 95 % interval."""
        low, high = self.interval
        return (high - low) / 2

    @property
    def is_wilson(self) -> bool:
        """Whether the interval is Wilson's: few clusters, or a proportion close to 0 or 1.

        Close enough, too, where a normal interval would leave 0..1.
        """
        if math.isnan(self.size) or math.isnan(self.value):
            return False
        rare = min(self.value, 1 - self.value)
        few = self.clusters < FEW_CLUSTERS or rare * self.clusters < FEW_EXCEPTIONS
        return few or Z_95 * self.se > rare

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval: Wilson's where ``is_wilson``, else normal, or t of few clusters.

        Of a change of shares both ends are one-sided bounds at 97.5 % (``paired_share_bounds``).
        NaN where all clusters of another figure are alike: they show no spread to tell it from.
        """
        if self.is_wilson:
            return wilson_interval(self.value, self.effective_size)
        if self.is_share_change:
            bounds = paired_share_bounds(self, 0.975)
            return bounds.low, bounds.high
        if self.clusters >= FEW_CLUSTERS and self.se > 0:
            half = Z_95 * self.se
        elif self.se > 0:
            from scipy.special import stdtrit

            half = float(stdtrit(self.clusters - 1, 0.975)) * self.se
        else:
            half = math.nan
        return self.value - half, self.value + half

    @property
    def effective_size(self) -> float:
        """Of a proportion, the independent rows that would give this error.

        Korn & Graubard (1998), Survey Methodology 24.

        Without an error to tell it from, each cluster counts as one.
        """
        se = self.se
        if not se > 0:
            return min(float(self.clusters), self.size)
        return min(self.value * (1 - self.value) / se**2, self.size)

    @property
    def bootstrap_interval(self) -> tuple[float, float] | None:
        """The middle 95 % of the replicates, or None without a bootstrap."""
        return percentile_interval(self.replicates) if len(self.replicates) else None

    @property
    def p(self) -> float:
        """Two-sided p of the figure being 0, by the distribution of its interval.

        Of a change of shares it is Tango's score test, with Student's t. 1 if the figure is
        exactly 0; NaN where all clusters are alike, or where there is but one.
        """
        if self.value == 0 and self.clusters:
            return 1.0
        if not self.se > 0:
            return math.nan
        # Were there no change, the mean square of the clusters' moves would be their variance.
        shift = self.value**2 / self.clusters if self.is_share_change else 0.0
        z = abs(self.value) / math.sqrt(self.se**2 + shift)
        if self.clusters >= FEW_CLUSTERS and not self.is_share_change:
            return math.erfc(z / math.sqrt(2))
        from scipy.special import stdtr

        return 2 * float(stdtr(self.clusters - 1, -z))

    def summed_up(self) -> Self:
        """The same figure and error with the influences added up; it can't be subtracted then.

        For keeping many: a figure over a million cases then needs no more than one number. A
        change of shares stays as it is: its interval needs what every cluster moved by.
        """
        if len(self.influence) < 2 or self.is_share_change:
            return self
        return replace(self, influence=np.array([np.sqrt((self.influence**2).sum())]))

    def __sub__(self, other: "Estimate") -> "Estimate":
        """The paired difference; both must stand over the same clusters."""
        return combine([(1.0, self), (-1.0, other)])


_NOTHING: FloatArray = np.empty(0)

UNDEFINED = Estimate(math.nan, _NOTHING, _NOTHING)


def combine(terms: list[tuple[float, Estimate]]) -> Estimate:
    """A weighted sum of estimates over the same clusters, with its paired error.

    Raises:
        ValueError: They stand over different numbers of clusters, or are summed up.
    """
    if any(len(one.influence) < one.clusters for _, one in terms):
        raise ValueError("estimates that were summed up have no paired error")
    if len({len(one.influence) for _, one in terms if math.isfinite(one.value)}) > 1:
        raise ValueError("estimates over different clusters")
    value = sum(weight * one.value for weight, one in terms)
    if not math.isfinite(value):
        return UNDEFINED
    influence = sum((weight * one.influence for weight, one in terms), start=np.zeros(1))
    resampled = all(len(one.replicates) for _, one in terms)
    replicates = (
        sum((weight * one.replicates for weight, one in terms), start=np.zeros(1))
        if resampled
        else _NOTHING
    )
    return Estimate(value, influence, replicates, max(one.clusters for _, one in terms))


def paired_change(before: Estimate, after: Estimate) -> Estimate:
    """``after - before`` of one figure over the same cases, with its paired error.

    Two proportions over one denominator have a change of shares.
    """
    change = after - before
    is_share = math.isfinite(change.value) and before.size == after.size
    return replace(change, is_share_change=is_share)


def estimate(sums: FloatArray, formula: Formula, clusters: Clusters) -> Estimate:
    """A figure of totals, its influence by the delta method, and its replicates.

    Args:
        sums: What the formula needs, summed by cluster. Shape ``(clusters, k)``.
        formula: The figure; its gradient is taken by a complex step, so it must be analytic.
        clusters: Where the sums come from, and how to resample them.
    """
    totals = sums.sum(axis=0)
    value = float(np.real(formula(totals)))
    if not math.isfinite(value):
        return Estimate(value, _NOTHING, _NOTHING)
    step = 1e-20
    gradient = np.imag(formula(totals + 1j * step * np.eye(len(totals)))) / step
    return Estimate(
        value,
        sums @ gradient,
        replicate(clusters, lambda weights: formula(weights @ sums)),
        int(sums.any(axis=1).sum()),
    )


def replicate(
    clusters: Clusters, figure: Callable[[FloatArray], NDArray[np.inexact]]
) -> FloatArray:
    """A figure on each draw, from the weights of the clusters; empty without resampling."""
    if clusters.resampling is None:
        return _NOTHING
    with np.errstate(divide="ignore", invalid="ignore"):
        blocks = [
            np.real(figure(block)).astype(np.float64)
            for block in clusters.resampling.weights(clusters.count)
        ]
    return np.concatenate(blocks) if blocks else _NOTHING


def clustered_mean(values: FloatArray, clusters: Clusters, *, share: bool = False) -> Estimate:
    """A mean; NaN of no values. ``share`` says that it is a proportion. Shape ``(n,)``."""
    return clustered_ratio(values, np.ones_like(values), clusters, share=share)


def clustered_ratio(
    parts: FloatArray,
    wholes: FloatArray,
    clusters: Clusters,
    *,
    share: bool = False,
    share_change: bool = False,
) -> Estimate:
    """``sum(parts) / sum(wholes)``, such as a recall; NaN of an empty whole. Shapes ``(n,)``.

    ``share`` says that it is a proportion, ``share_change`` that the parts are the differences
    of two.
    """
    whole = float(wholes.sum())
    if not whole:
        return UNDEFINED
    found = estimate(clusters.sums(parts, wholes), _ratio, clusters)
    size = whole if share else math.nan
    return replace(found, size=size, is_share_change=share_change)


def wilson_interval(share: float, size: float) -> tuple[float, float]:
    """The 95 % score interval of a proportion of ``size`` draws, whole or not; NaN of none.

    Wilson (1927), doi:10.1080/01621459.1927.10502953.
    """
    # statsmodels has it too, and takes a second to import.
    if not size > 0:
        return math.nan, math.nan
    z2 = Z_95**2 / size
    centre, half = share + z2 / 2, math.sqrt(z2 * (share * (1 - share) + z2 / 4))
    low, high = (centre - half) / (1 + z2), (centre + half) / (1 + z2)
    # Of no hits, and of nothing but hits, the ends are 0 and 1 but for rounding.
    return max(0.0, low), min(1.0, high)


def _ratio(totals: NDArray[np.inexact]) -> NDArray[np.inexact]:
    return np.asarray(totals[..., 0] / totals[..., 1])


@dataclass(frozen=True, slots=True)
class TwoWay:
    """A figure with an error for both ways; NaN is undefined."""

    value: float
    se: float
    interval: tuple[float, float]
    """95 %, by Student's t with a degree of freedom fewer than the fewer clusters."""
    p: float
    """Two-sided, of the figure being 0."""


def two_way(figure: Callable[[Clusters], Estimate], first: Clusters, second: Clusters) -> TwoWay:
    """Cameron, Gelbach & Miller (2011), doi:10.1198/jbes.2010.07136.

    The variances of both clusterings less that of their crossing, and not below either of them,
    which with few clusters it can fall under by chance.

    Args:
        figure: The estimate under a clustering.
        first: One clustering of the rows.
        second: The other.
    """
    crossed = number_clusters(np.asarray(first.index * second.count + second.index))
    one, other, each = figure(first), figure(second), figure(crossed)
    single = max(one.se, other.se) if one.se >= 0 and other.se >= 0 else math.nan
    if not single >= 0:
        return TwoWay(one.value, math.nan, (math.nan, math.nan), math.nan)
    # The crossing may have one cluster less than two only where the others have too.
    crossing = each.se**2 if each.se >= 0 else 0.0
    se = math.sqrt(max(one.se**2 + other.se**2 - crossing, single**2))
    if not se > 0:
        p = 1.0 if one.value == 0 else math.nan
        return TwoWay(one.value, se, (math.nan, math.nan), p)
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import stdtr, stdtrit

    degrees = min(one.clusters, other.clusters) - 1
    half = float(stdtrit(degrees, 0.975)) * se
    p = 2 * float(stdtr(degrees, -abs(one.value) / se))
    return TwoWay(one.value, se, (one.value - half, one.value + half), p)
