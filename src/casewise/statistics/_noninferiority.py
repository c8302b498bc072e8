"""Power to show that a model is not worse than another by a margin."""

import math
from statistics import NormalDist

from casewise.statistics._power import Level, normal_power


def null_variance(down: float, up: float, shift: float) -> float:
    """Variance of a move (-1, 0 or 1) whose mean is ``shift``, most likely for the shares seen.

    Tango (1998), Statistics in Medicine 17, 891-908: the maximum of the likelihood under a given
    difference of paired proportions, in closed form. At least ``|shift| - shift^2``, which is the
    variance if all moves go one way.

    Args:
        down: Share of moves down that was seen, 0..1.
        up: Share of moves up; with ``down`` at most 1.
        shift: The difference, -1..1.
    """
    linear = down + up + shift * (2 - down + up)
    root = math.sqrt(max(0.0, linear * linear - 8 * up * shift * (1 + shift)))
    most_likely_up = (linear + root) / 4
    return max(0.0, 2 * most_likely_up - shift - shift * shift)


def noninferiority_power(
    margin: float, clusters: float, variance: float, step: float | None, level: Level
) -> float:
    """Chance that a model equal to the baseline is shown to be within the margin.

    The test is that of ``paired_share_bounds``, or with ``step`` None of ``student_bounds``, both
    with the normal in place of Student's t: it promises too much below some 30 clusters.

    Args:
        margin: What the model may be worse by, above 0.
        clusters: Number of queries; need not be whole.
        variance: Of a query's mean difference between equal models, above 0.
        step: How far a query's mean moves if it moves, above 0; None for figures that are no
            proportions.
        level: One-sided.

    Returns:
        In 0..1, rising with ``clusters``; 0 where even runs that are all alike would be too few.
    """
    error = math.sqrt(variance / clusters)
    if step is None:
        return normal_power(margin / error, level)
    # Where nothing moved, 1 - alpha^(1 / clusters) of the queries may still be worse.
    if margin < 1 and (1 - margin) ** clusters > level.tail:
        return 0.0
    half = min(1.0, variance / step**2) / 2
    null = step * math.sqrt(null_variance(half, half, -min(1.0, margin / step)) / clusters)
    return NormalDist().cdf((margin - level.critical * null) / error)
