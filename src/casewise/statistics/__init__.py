"""Measures on arrays: pure functions, frozen results, no knowledge of cases."""

from casewise.statistics._classification import Classification, classify, ratio
from casewise.statistics._clustered import (
    UNDEFINED,
    Estimate,
    clustered_mean,
    clustered_pearson,
    clustered_ratio,
)
from casewise.statistics._probabilities import REFERENCE_EPSILON, brier_scores, cross_entropies

__all__ = [
    "Classification",
    "Estimate",
    "REFERENCE_EPSILON",
    "UNDEFINED",
    "brier_scores",
    "classify",
    "clustered_mean",
    "clustered_pearson",
    "clustered_ratio",
    "cross_entropies",
    "ratio",
]
