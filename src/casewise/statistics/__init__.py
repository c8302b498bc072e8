"""Measures on arrays: pure functions, frozen results, no knowledge of cases."""

from casewise.statistics._classification import Classification, classify, ratio
from casewise.statistics._probabilities import REFERENCE_EPSILON, brier, cross_entropy, pearson

__all__ = [
    "Classification",
    "REFERENCE_EPSILON",
    "brier",
    "classify",
    "cross_entropy",
    "pearson",
    "ratio",
]
