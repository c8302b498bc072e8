"""Exact test of a series of paired answers for a fall at its end."""

import math
from collections import Counter
from functools import cache

import numpy as np

from casewise.statistics._clustered import FloatArray, IntArray


def chance_of_fall(series: IntArray, newest: int) -> float:
    """Chance of a sum of the newest rows as low as theirs, were the order of the rows by chance.

    Where nothing changed, the answers to a query are exchangeable in time, whatever came of the
    query: one that never moved is strong evidence where it moves, one that moves each time is none.
    The distribution is exact: the convolution over queries of the sums of ``newest`` values drawn
    without replacement. With two rows it is McNemar's test (1947, doi:10.1007/BF02295996); with
    more, that of Mantel & Haenszel (1959, doi:10.1093/jnci/22.4.719) with queries as strata.
    Queries are taken to be independent.

    Args:
        series: Whole numbers, higher is better, oldest row first. Shape ``(rows, queries)``.
        newest: Rows at the end that are held against those before, 1..rows - 1.

    Returns:
        p in 0..1, one-sided; 1 where no query moved.
    """
    varied = series[:, np.ptp(series, axis=0) > 0]
    least, chances = 0, np.ones(1)
    for values, queries in Counter(tuple(sorted(column)) for column in varied.T.tolist()).items():
        sums = _sums_drawn(values, newest)
        for _ in range(queries):
            chances = np.convolve(chances, sums)
        least += queries * sum(values[:newest])
    seen = int(varied[-newest:].sum()) - least
    return min(1.0, float(chances[: seen + 1].sum()))


@cache
def _sums_drawn(values: tuple[int, ...], number: int) -> FloatArray:
    """Chances of each sum of a number of values drawn without replacement, from the least sum.

    Args:
        values: In rising order.
        number: Values drawn, 1..len(values).
    """
    steps = [value - values[0] for value in values]
    ways = np.zeros((number + 1, number * steps[-1] + 1))
    ways[0, 0] = 1
    for step in steps:
        for drawn in range(number, 0, -1):
            ways[drawn, step:] += ways[drawn - 1, : ways.shape[1] - step]
    return np.asarray(ways[number, sum(steps[:number]) :] / math.comb(len(values), number))
