"""One-sided bounds, against exact sums over all outcomes and against hand arithmetic."""

import math

import numpy as np
import pytest
from scipy.stats import beta, binom

from casewise.statistics import (
    Clusters,
    Estimate,
    Level,
    alike_bounds,
    clustered_mean,
    clustered_ratio,
    noninferiority_power,
    null_variance,
    paired_share_bounds,
    share_bounds,
)

ONE = Level(0.05, two_sided=False)


def share(hits: int, n: int) -> Estimate:
    values = np.arange(n) < hits
    return clustered_mean(values.astype(float), Clusters(np.arange(n), n), kind="share")


def difference(worse: int, better: int, n: int) -> Estimate:
    values = np.zeros(n)
    values[:worse], values[worse : worse + better] = -1, 1
    return clustered_ratio(values, np.ones(n), Clusters(np.arange(n), n), kind="change")


def test_none_of_ten_is_no_certainty() -> None:
    # 1 - .05^(1/10) = .2589: the rule of three for few.
    for bounds in (share_bounds(share(0, 10), 0.95), alike_bounds(0, 10, 0.95, (0, 1))):
        assert bounds.low == 0
        assert bounds.high == pytest.approx(0.25887, abs=1e-5)
    nothing_moved = paired_share_bounds(difference(0, 0, 10), 0.95)
    assert nothing_moved.low == pytest.approx(-0.25887, abs=1e-5)
    assert nothing_moved.high == pytest.approx(0.25887, abs=1e-5)
    # All alike in a range of 0 to 2: at most .2589 of the clusters reach another end.
    found = alike_bounds(0.5, 10, 0.95, (0, 2))
    assert (found.low, found.high) == pytest.approx((0.37056, 0.88830), abs=1e-5)


def test_few_clusters_widen_an_exact_bound() -> None:
    # 3 of 40 independent rows, whose jackknife's error is that of 39: Clopper & Pearson on
    # 39 (z / t)^2 rows, t with 39 degrees.
    size = 39 * (1.6448536 / 1.6848751) ** 2
    hits = 3 / 40 * size
    bounds = share_bounds(share(3, 40), 0.95)
    assert bounds.high == pytest.approx(beta.ppf(0.95, hits + 1, size - hits), abs=1e-6)
    assert bounds.low == pytest.approx(beta.ppf(0.05, hits, size - hits + 1), abs=1e-6)


def test_undefined_is_not_bounded() -> None:
    nothing = clustered_mean(np.empty(0), Clusters(np.empty(0, np.int64), 0), kind="share")
    for bounds in (
        share_bounds(nothing, 0.95),
        alike_bounds(math.nan, 0, 0.95, (0, 1)),
    ):
        assert math.isnan(bounds.low)
        assert math.isnan(bounds.high)


def test_null_variance_by_its_likelihood() -> None:
    # The closed form against a search: worse b, better c of 1, the rest unmoved.
    for b, c, shift in [(0.1, 0.05, -0.1), (0.02, 0.0, -0.05), (0.3, 0.2, 0.1), (0, 0, -0.2)]:
        up = np.linspace(max(0, shift), (1 + shift) / 2, 200_001)[1:-1]
        with np.errstate(divide="ignore"):
            fit = (1 - b - c) * np.log(1 - 2 * up + shift)
            fit = fit + (b * np.log(up - shift) if b else 0) + (c * np.log(up) if c else 0)
        best = up[np.argmax(fit)]
        expected = 2 * best - shift - shift**2
        assert null_variance(b, c, shift) == pytest.approx(expected, abs=1e-4)
    assert null_variance(0, 0, -0.2) == pytest.approx(0.2 - 0.04)


@pytest.mark.parametrize(("n", "limit"), [(10, 0.4), (40, 0.1), (200, 0.02)])
def test_a_share_at_the_limit_passes_in_five_per_cent(n: int, limit: float) -> None:
    # Exact: the sum over all outcomes.
    passing = [share_bounds(share(hits, n), 0.95).high <= limit for hits in range(n + 1)]
    assert binom.pmf(np.arange(n + 1), n, limit) @ np.array(passing) <= 0.05


def passes(n: int, worse: float, better: float, margin: float) -> float:
    """Chance that models that differ so pass a margin: the sum over all outcomes."""
    total = 0.0
    for b in range(int(binom.isf(1e-7, n, worse)) + 1):
        for c in range(int(binom.isf(1e-7, n, better)) + 1 if better else 1):
            if paired_share_bounds(difference(b, c, n), 0.95).low >= -margin:
                chance = binom.pmf(b, n, worse) * binom.pmf(c, n - b, better / (1 - worse))
                total += float(chance)
    return total


@pytest.mark.parametrize(
    ("n", "margin", "better"),
    [(60, 0.1, 0.0), (60, 0.05, 0.03)],
)
def test_worse_by_the_margin_passes_in_five_per_cent(n: int, margin: float, better: float) -> None:
    # Outcomes are whole numbers, so the chance goes in saw teeth around .05, up to .06.
    assert passes(n, margin + better, better, margin) <= 0.06


def test_bounds_of_a_change_are_of_nothing_else() -> None:
    with pytest.raises(ValueError, match="no change of shares, but a share"):
        paired_share_bounds(share(3, 40), 0.95)


def test_many_queries_come_to_the_normal_bound() -> None:
    bounds = paired_share_bounds(difference(2000, 2000, 40_000), 0.95)
    # sd sqrt(.1 / 40,000) = .00158, times 1.645.
    assert bounds.low == pytest.approx(-0.0026, abs=3e-5)
    assert bounds.high == pytest.approx(-bounds.low)


def test_power_where_nothing_is_known_to_move() -> None:
    # Models that hardly ever differ: 59 queries, all alike, leave 1 - .05^(1/59) = .0495.
    assert noninferiority_power(0.05, 58, 1e-9, 1.0, ONE) == 0
    assert noninferiority_power(0.05, 59, 1e-9, 1.0, ONE) == pytest.approx(1)
    # Without steps it is the normal: .05 / sqrt(.09 / 223) = 2.489 = 1.645 + .844.
    assert noninferiority_power(0.05, 223, 0.09, None, ONE) == pytest.approx(0.80, abs=0.001)
