"""P-values adjusted for their number, and errors clustered twice."""

import numpy as np
import pytest
from numpy.typing import NDArray

from casewise.statistics import (
    Clusters,
    Estimate,
    benjamini_hochberg,
    clustered_mean,
    number_clusters,
    two_way,
)

FloatArray = NDArray[np.float64]


def test_benjamini_and_hochberg() -> None:
    # .01 * 4 / 1, .02 * 4 / 2, .03 * 4 / 3, .5: from the largest down, none above the next.
    found = benjamini_hochberg(np.array([0.02, np.nan, 0.5, 0.01, 0.03]))
    assert found == pytest.approx([0.04, np.nan, 0.5, 0.04, 0.04], nan_ok=True)
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(2).random(50) ** 3
    assert benjamini_hochberg(p) == pytest.approx(multipletests(p, method="fdr_bh")[1])
    assert len(benjamini_hochberg(np.empty(0))) == 0


def test_errors_of_two_ways() -> None:
    # Rows 1, 0, 1, 0 of persons a a b b and queries x y x y: the mean is 1/2, the influences
    # are +-1/8. Persons' sums are 0 and 0; queries' 1/4 and -1/4; rows' squares add up to 1/16.
    # 0 + 1/8 - 1/16 lies below the queries' own 1/8, which stands.
    values = np.array([1.0, 0, 1, 0])
    people, queries = (number_clusters(np.array(list(names))) for names in ("aabb", "xyxy"))

    def mean(clusters: Clusters) -> Estimate:
        return clustered_mean(values, clusters)

    found = two_way(mean, people, queries)
    assert found.value == 0.5
    assert found.se == pytest.approx(np.sqrt(1 / 8))
    one = number_clusters(np.zeros(4, int))
    assert np.isnan(two_way(mean, one, queries).se)
