"""Standard errors that know that answers to one query hang together.

The two cases of a pair share their query, so they are no independent draws. Each error here is
the square root of the sum, over clusters (queries), of the squared summed influence of their
members, without a small-sample factor: Liang & Zeger (1986), doi:10.1093/biomet/73.1.13.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its uncertainty; NaN where it is undefined."""

    value: float
    se: float
    """Clustered standard error; 0 where all points agree, or where there is but one cluster."""

    @property
    def margin(self) -> float:
        """Half the 95 % interval by the normal approximation."""
        return Z_95 * self.se

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval by the normal approximation; may leave the figure's range."""
        return self.value - self.margin, self.value + self.margin


UNDEFINED = Estimate(float("nan"), float("nan"))


def clustered_mean(values: FloatArray, clusters: IntArray) -> Estimate:
    """A mean; NaN of no values. Shapes ``(n,)``; clusters are numbered from 0."""
    return clustered_ratio(values, np.ones_like(values), clusters)


def clustered_ratio(parts: FloatArray, wholes: FloatArray, clusters: IntArray) -> Estimate:
    """``sum(parts) / sum(wholes)``, such as a recall; NaN of an empty whole. Shapes ``(n,)``."""
    whole = wholes.sum()
    if not whole:
        return UNDEFINED
    value = parts.sum() / whole
    if not np.isfinite(value):
        return Estimate(float(value), float("nan"))
    return Estimate(float(value), _error(parts - value * wholes, clusters) / float(whole))


def clustered_pearson(x: FloatArray, y: FloatArray, clusters: IntArray) -> Estimate:
    """Pearson's correlation, its error by its influence function. Shapes ``(n,)``.

    With standardised ``x`` and ``y``, the influence of a point is ``x y - r (x^2 + y^2) / 2``
    (Devlin, Gnanadesikan & Kettenring 1975, doi:10.1093/biomet/62.3.531). NaN for fewer than two
    points or a constant side.
    """
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return UNDEFINED
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    r = float((x * y).mean())
    influence = x * y - r * (x**2 + y**2) / 2
    return Estimate(r, _error(influence, clusters) / len(x))


def _error(influence: FloatArray, clusters: IntArray) -> float:
    sums = np.bincount(clusters, weights=influence)
    return float(np.sqrt((sums**2).sum()))
