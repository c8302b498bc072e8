"""Errors of figures of votes over people and queries both."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from casewise.statistics import Clusters, Estimate, number_clusters


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
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import stdtr, stdtrit

    crossed = number_clusters(np.asarray(first.index * second.count + second.index))
    by_first, by_second, by_both = figure(first), figure(second), figure(crossed)
    undefined = TwoWay(by_first.value, math.nan, (math.nan, math.nan), math.nan)
    if math.isnan(by_first.se) or math.isnan(by_second.se):
        return undefined
    # The crossing may have one cluster less than two only where the others have too.
    crossing = 0.0 if math.isnan(by_both.se) else by_both.se**2
    se = math.sqrt(
        max(by_first.se**2 + by_second.se**2 - crossing, by_first.se**2, by_second.se**2)
    )
    if not se > 0:
        return replace(undefined, se=se, p=1.0 if by_first.value == 0 else math.nan)
    degrees = min(by_first.clusters, by_second.clusters) - 1
    half = float(stdtrit(degrees, 0.975)) * se
    p = 2 * float(stdtr(degrees, -abs(by_first.value) / se))
    return TwoWay(by_first.value, se, (by_first.value - half, by_first.value + half), p)
