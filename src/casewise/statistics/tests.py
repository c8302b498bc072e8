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


def benjamini_hochberg(p: FloatArray) -> FloatArray:
    """Adjust p-values so that those below q hold a share of false ones of at most q.

    Benjamini & Hochberg (1995), doi:10.1111/j.2517-6161.1995.tb02031.x. NaN stays and isn't
    counted. Shape ``(n,)``.
    """
    adjusted = np.full(len(p), np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known])]
    scaled = p[order] * len(known) / np.arange(1, len(known) + 1)
    adjusted[order] = np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])
    return adjusted
