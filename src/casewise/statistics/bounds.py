"""One-sided bounds of shares and of their changes."""

import math

from casewise.statistics.estimates import Bounds, Estimate, beta_bounds, student_quantile

NO_BOUNDS = Bounds(math.nan, math.nan)


def alike_bounds(
    value: float, clusters: int, confidence: float, ends: tuple[float, float]
) -> Bounds:
    """Bounds where all clusters are alike, and so show no spread.

    With the confidence, at most ``1 - (1 - confidence)^(1 / clusters)`` of clusters are not like
    those seen (at 95 % some 3 in the number seen: the rule of three, Hanley & Lippman-Hand 1983,
    doi:10.1001/jama.1983.03330370053031). They may lie at either end of the range. Exact for
    means over clusters of one weight, a rule of thumb for correlations and F1.

    Args:
        value: What all show.
        clusters: How many, 0 and up.
        confidence: In 0..1.
        ends: The range of the figure.
    """
    if not clusters or not math.isfinite(value):
        return NO_BOUNDS
    unlike = 1 - (1 - confidence) ** (1 / clusters)
    return Bounds(value - unlike * (value - ends[0]), value + unlike * (ends[1] - value))


def share_bounds(estimate: Estimate, confidence: float) -> Bounds:
    """Exact bounds of a proportion (Clopper & Pearson 1934) on its effective size.

    Korn & Graubard (1998), Survey Methodology 24: the rows that, if independent, would have the
    clustered error, fewer by Student's t for few clusters. Wilson's interval is on average right
    and too short near 0 and 1, where one bound of it misses more often than it says.
    """
    size = estimate.effective_size
    if not size > 0 or not math.isfinite(estimate.value) or estimate.unavailable:
        return NO_BOUNDS
    size *= (
        student_quantile(math.inf, confidence) / student_quantile(estimate.degrees, confidence)
    ) ** 2
    return beta_bounds(min(estimate.value, 1.0) * size, size, confidence)


def paired_share_bounds(difference: Estimate, confidence: float) -> Bounds:
    """Bounds of a paired change of shares, clustered.

    The score bound of Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>
    3.0.CO;2-B, with clusters in place of cases: the variance is the one that the bound itself
    would have, so that a few lucky clusters don't make a small error. Two added queries, which
    hold on both sides together, would miss a rare worsening twice as often as a bound may. Against
    Student's t it is the wider of the two; where nothing moved, ``alike_bounds``.

    Args:
        difference: Of two proportions over one denominator.
        confidence: In 0..1.

    Raises:
        ValueError: It is no change of shares.
    """
    if difference.kind != "change":
        raise ValueError(f"no change of shares, but a {difference.kind}")
    n, value, error = difference.clusters, difference.value, difference.se
    if difference.unavailable or math.isnan(value):
        return NO_BOUNDS
    if not error > 0:
        return alike_bounds(value, n, confidence, (-1.0, 1.0))
    # Clusters as steps down, up, or none, with the mean and the variance of the change. A cluster
    # that did not move has the influence of the mean alone, one without rows has none.
    moved = [abs(n * influence + value) for influence in difference.influence.tolist() if influence]
    length = sum(step**2 for step in moved) / sum(moved)
    square = n * error**2 + value**2
    active, shift = min(1.0, max(square / length**2, abs(value) / length)), value / length
    down, up = (active - shift) / 2, (active + shift) / 2
    critical = student_quantile(difference.degrees - 2, confidence)
    low = _score_bound(down, up, n, critical) * length
    high = -_score_bound(up, down, n, critical) * length
    return Bounds(min(low, value - critical * error), max(high, value + critical * error))


def _score_bound(down: float, up: float, clusters: int, critical: float) -> float:
    """The lowest difference that lies within ``critical`` errors of its own of the one seen."""
    from scipy.optimize import brentq

    shift = up - down

    def excess(other: float) -> float:
        return (shift - other) ** 2 * clusters - critical**2 * null_variance(down, up, other)

    # Just below what was seen: there the two differ by nothing, which is no bound.
    upper = shift - 1e-9
    if upper <= -1 or excess(upper) >= 0:
        return shift
    return float(brentq(excess, -1.0, upper, xtol=1e-12))


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
