"""Whole seats from shares, in every stratum and in sum at once."""

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

_TIE = 1e-4
"""Weight of chance beside the remainders, which decide wherever they differ."""


def apportion(
    sizes: Sequence[int], shares: Sequence[Fraction], ties: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Give each stratum's members to parts, as near to their shares as whole members allow.

    Every count is its exact quota rounded down or up, and so is every part's sum over the
    strata. Within these bounds the sums go by largest remainder first, then the counts do:
    controlled rounding (Cox 1987, JASA 82:520), here as a transportation problem, whose vertices
    are whole numbers. Rounding each stratum by itself would leave a small part without any
    member of many small strata, and so of the whole.

    Args:
        sizes: Members of each stratum, shape ``(strata,)``.
        shares: The share of each part, exact, summing to 1, shape ``(parts,)``.
        ties: Numbers in 0..1 that decide among equal remainders, shape ``(strata, parts)``.

    Returns:
        Members by stratum and part, shape ``(strata, parts)``; rows sum to ``sizes``.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_array, eye_array, kron

    quotas = [[size * share for share in shares] for size in sizes]
    base = np.array([[floor(quota) for quota in row] for row in quotas], dtype=np.int64)
    rest = [[quota - floor(quota) for quota in row] for row in quotas]
    sums = [sum(column, Fraction()) for column in zip(*rest, strict=True)]
    strata, parts = base.shape
    cells = np.array(rest, dtype=float).ravel()
    ends = np.array([float(total - floor(total)) for total in sums])
    # Unknowns: whether a cell is rounded up, then whether a part's sum is.
    by_stratum = kron(eye_array(strata), np.ones((1, parts)))
    by_part = kron(np.ones((1, strata)), eye_array(parts))
    found = linprog(
        -np.concatenate([cells + _TIE * ties.ravel(), 2 * cells.size * ends]),
        A_eq=block_array([[by_stratum, None], [by_part, -eye_array(parts)]]),
        b_eq=np.concatenate([np.array(sizes) - base.sum(axis=1), [floor(one) for one in sums]]),
        bounds=[(0, float(value > 0)) for value in (*cells, *ends)],
        method="highs-ds",
    )
    up = np.rint(found.x[: cells.size]).astype(np.int64)
    counts: NDArray[np.int64] = base + up.reshape(strata, parts)
    return counts
