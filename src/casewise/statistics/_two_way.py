"""Errors of rows that are clustered two ways, such as by query and by person."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from casewise.statistics._clustered import Estimate
from casewise.statistics._clusters import Clusters, number_clusters


@dataclass(frozen=True, slots=True)
class TwoWay:
    """A figure with an error for both ways; NaN is undefined."""

    value: float
    se: float
    interval: tuple[float, float]
    """95 %, by Student's t with a degree of freedom fewer than the fewer clusters."""
    p: float
    """Two-sided, of the figure being 0."""

    def without_error(self) -> "TwoWay":
        """The figure alone, where its error can't be told."""
        return TwoWay(self.value, math.nan, (math.nan, math.nan), math.nan)


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
