"""Errors over people and queries both, by hand."""

import numpy as np
import pytest

from casewise.statistics import clustered_mean, number_clusters
from casewise_study.statistics import two_way

A = np.array


def test_errors_of_two_ways() -> None:
    # Rows 1, 0, 1, 0 of persons a a b b and queries x y x y: the mean is 1/2, the influences
    # are +-1/8. Persons' sums are 0 and 0; queries' 1/4 and -1/4; rows' squares add up to 1/16.
    # 0 + 1/8 - 1/16 lies below the queries' own 1/8, which stands.
    values = A([1.0, 0, 1, 0])
    people, queries = (number_clusters(A(list(names))) for names in ("aabb", "xyxy"))

    way = two_way.two_way(lambda clusters: clustered_mean(values, clusters), people, queries)
    assert way.value == 0.5
    assert way.se == pytest.approx(np.sqrt(1 / 8))
    one = number_clusters(np.zeros(4, int))
    assert np.isnan(
        two_way.two_way(lambda clusters: clustered_mean(values, clusters), one, queries).se
    )
