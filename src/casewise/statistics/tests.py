"""Tests of several hypotheses, and the difference that a test can show."""

from collections.abc import Sequence

import numpy as np

from casewise.statistics.estimates import FloatArray

DETECTABLE = 2.801585218112969
"""Standard errors that a difference must have to be found in 80 % of tries, two-sided at .05: the
normal quantiles of .975 and .80 added up."""


def holm(p: Sequence[float] | FloatArray) -> list[float]:
    """Adjust p-values for their number; NaN stays and isn't counted.

    Holm (1979), www.jstor.org/stable/4615733.
    """
    # Not by statsmodels' multipletests, which collects garbage in each of its calls (70 ms).
    values = np.array(p, float)
    defined = values[~np.isnan(values)]
    order = np.argsort(defined)
    factors = np.arange(len(defined), 0, -1)
    adjusted = np.empty_like(defined)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * defined[order]))
    values[~np.isnan(values)] = adjusted
    return [float(value) for value in values]
