"""Arrays, the clusters (queries) of their rows, and the drawing of clusters anew."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

NO_INTERVAL = (math.nan, math.nan)
"""Interval of a figure without one."""

CELLS = 4_000_000
"""Most numbers in a block of weights (32 MB), so that many clusters need no more memory."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Draws of clusters: how many, and their seed.

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
    block = counts.reshape(draws, clusters).astype(float)
    block.flags.writeable = False
    return block


def percentile_interval(replicates: FloatArray) -> tuple[float, float]:
    """The middle 95 % of bootstrap replicates; NaN if fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if 2 * len(defined) < len(replicates) or not len(defined):
        return NO_INTERVAL
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Cluster (query) of each row."""

    index: IntArray
    """Cluster of each row, in 0..count-1. Shape ``(n,)``."""
    count: int
    """Number of clusters, those without rows included."""
    resampling: Resampling | None = None
    """Draws of the bootstrap; None: no bootstrap."""

    def only(self, kept: BoolArray | IntArray) -> Self:
        """The clusters of some rows; the count stays, so that estimates can be subtracted."""
        return type(self)(self.index[kept], self.count, self.resampling)

    def sums(self, *columns: FloatArray) -> FloatArray:
        """Columns of shape ``(n,)`` summed by cluster, shape ``(count, columns)``."""
        found = [np.bincount(self.index, column, minlength=self.count) for column in columns]
        return np.stack(found, axis=1) if found else np.empty((self.count, 0))


def number_clusters(names: NDArray[np.generic], resampling: Resampling | None = None) -> Clusters:
    """Number clusters by the order of their names, so that equal names are resampled alike."""
    unique, index = np.unique(names, return_inverse=True)
    return Clusters(index.astype(np.int64), len(unique), resampling)
