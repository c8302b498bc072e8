"""Correlations over queries: their value, their error, and what each is without a query."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from casewise.statistics._clustered import (
    MOST_LEFT_OUT,
    UNDEFINED,
    Clusters,
    Estimate,
    FloatArray,
    IntArray,
    estimate,
    replicate,
    weighed,
)

_CONSTANT = 1e-12
"""A variance of standardised values, or a relative range, below which a side is constant."""


def clustered_pearson(x: FloatArray, y: FloatArray, clusters: Clusters) -> Estimate:
    """Pearson's correlation, in -1..1, its error by its influence function. Shapes ``(n,)``.

    With standardised ``x`` and ``y``, the influence of a point is ``x y - r (x^2 + y^2) / 2``
    (Devlin, Gnanadesikan & Kettenring 1975, doi:10.1093/biomet/62.3.531). NaN for fewer than two
    points or a constant side. The interval is the jackknife's (``Estimate.without``).
    """
    if _is_constant(x) or _is_constant(y):
        return UNDEFINED
    # Of the values as they are: standardised, those of every query would move with one.
    parts = clusters.sums(x, x * x, x * y)
    # Standardised first: a correlation from raw sums of squares would cancel.
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    sums = clusters.sums(np.ones_like(x), x, y, x * x, y * y, x * y)
    found = replace(
        estimate(sums, _pearson, clusters), scale="fisher", reason=_reason(x, y), parts=parts
    )
    return weighed(found, sums[:, 0])


FEW_CARRIERS = 5.0
"""Least effective number of points that must make the spread of either side."""


def _reason(x: FloatArray, y: FloatArray) -> str:
    """Why no interval is given: a few points make the correlation, as one of nearly equal answers.

    The effective number is ``(sum d^2)^2 / sum d^4`` of the deviations ``d`` from the mean.
    """
    n = len(x)
    if min(n * n / float((side**4).sum()) for side in (x, y)) >= FEW_CARRIERS:
        return ""
    return "nearly all answers, or shares, are alike: a few cases make the correlation"


def _is_constant(values: FloatArray) -> bool:
    """Tell whether values are all alike, but for round-off; so is one value, and none."""
    return len(values) < 2 or bool(np.ptp(values) <= _CONSTANT * np.abs(values).max())


def _pearson(totals: NDArray[np.inexact]) -> NDArray[np.inexact]:
    n, x, y, xx, yy, xy = np.moveaxis(totals, -1, 0)
    var_x, var_y = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    constant = (np.real(var_x) < _CONSTANT) | (np.real(var_y) < _CONSTANT)
    spread = np.sqrt(np.where(constant, np.nan, var_x * var_y))
    return np.asarray((xy / n - x * y / n**2) / spread)


def clustered_spearman(x: FloatArray, y: FloatArray, clusters: Clusters) -> Estimate:
    """Spearman's rank correlation, in -1..1: Pearson's of mid-ranks. Shapes ``(n,)``.

    The error takes in that the ranks are estimated too: with ``F`` and ``G`` the mid-distribution
    functions, a point moves ``cov(F(X), G(Y))`` by its own product and by the ranks of all others
    (Hoeffding 1948, doi:10.1214/aoms/1177730196, section 9). NaN for fewer than two points or a
    constant side. The interval is the jackknife's, with the ranks taken anew without each query.
    """
    if _is_constant(x) or _is_constant(y):
        return UNDEFINED
    left, right = _Ranked.of(x), _Ranked.of(y)
    f, g = left.middle, right.middle
    covariance, var_f, var_g = (f * g).mean(), (f * f).mean(), (g * g).mean()
    moved = f * g - covariance + left.moved(g) + right.moved(f)
    moved_f = f * f - var_f + 2 * left.moved(f)
    moved_g = g * g - var_g + 2 * right.moved(g)
    spread = float(np.sqrt(var_f * var_g))
    rho = float(covariance) / spread
    influence = moved / spread - rho / 2 * (moved_f / var_f + moved_g / var_g)
    by_cluster = clusters.sums(influence, np.ones_like(x))

    def again(weights: FloatArray) -> FloatArray:
        parts = np.array_split(weights, weights.shape[0] * len(x) // _AT_ONCE + 1)
        return np.concatenate(
            [_weighted(left, right, np.take(part, clusters.index, axis=1)) for part in parts]
        )

    found = Estimate(
        rho,
        by_cluster[:, 0] / len(x),
        replicate(clusters, again),
        int(np.count_nonzero(by_cluster[:, 1])),
        scale="fisher",
        parts=clusters.sums(x, x * x, x * y),
    )
    found = weighed(found, by_cluster[:, 1])
    if clusters.count > MOST_LEFT_OUT:
        return found
    without = np.full(clusters.count, rho)
    for places in np.array_split(np.flatnonzero(by_cluster[:, 1]), len(x) // _ROWS + 1):
        weights = (clusters.index != places[:, None]).astype(float)
        without[places] = _weighted(left, right, weights)
    return replace(found, without=without)


_AT_ONCE = 20_000
"""Weights that are worked on together: few enough for the processor's cache."""

_ROWS = 200
"""Rows for each part of the clusters that is left out in one go, so that memory stays small."""


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Ranks of values."""

    place: IntArray
    distinct: int
    middle: FloatArray
    """The mid-distribution function at each point, less its mean 1/2. Shape ``(n,)``."""

    @classmethod
    def of(cls, values: FloatArray) -> "_Ranked":
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        middle = (np.cumsum(counts) - counts / 2) / len(values) - 0.5
        return cls(place.astype(np.int64), len(counts), middle[place])

    def centred(self, weights: FloatArray) -> FloatArray:
        """``middle`` with weighted rows. Shapes ``(draws, n)``."""
        at = self.place + self.distinct * np.arange(len(weights))[:, None]
        counts = np.bincount(at.ravel(), weights.ravel(), self.distinct * len(weights))
        counts = counts.reshape(len(weights), self.distinct)
        below = np.cumsum(counts, axis=1) - counts / 2
        shares = below / np.maximum(weights.sum(axis=1, keepdims=True), 1) - 0.5
        return np.asarray(np.take_along_axis(shares, self.place[None], axis=1))

    def moved(self, other: FloatArray) -> FloatArray:
        """Influence of each point on the mean of ``F(X) other`` by way of the others' ranks.

        ``mean_j (1[x_i < x_j] + 1[x_i = x_j] / 2 - F(x_j)) other_j`` for each i.
        """
        sums = np.bincount(self.place, other, minlength=self.distinct)
        above = sums.sum() - np.cumsum(sums) + sums / 2
        mean = float(((self.middle + 0.5) * other).mean())
        return np.asarray(above[self.place] / len(other) - mean)


def _weighted(left: _Ranked, right: _Ranked, weights: FloatArray) -> FloatArray:
    """The correlation at each draw of weights, NaN where a side is constant."""
    f, g = left.centred(weights), right.centred(weights)
    covariance = (weights * f * g).sum(axis=1)
    product = (weights * f * f).sum(axis=1) * (weights * g * g).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(product > _CONSTANT, covariance / np.sqrt(product), np.nan)
