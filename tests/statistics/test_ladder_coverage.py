"""Intervals of ladders' figures hold what is true, in simulated replies."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from casewise.measures import Climbed, find
from casewise.statistics import number_clusters

DRAWS = 1000
REFUSES, BACK = 0.4, 0.05
"""Share refused at rung 1, and share of its answers that rung 5 refuses."""


def climbed(queries: int, premium: float, seed: int) -> Climbed:
    """A safe and an unsafe case of each query; only the safe one is moved by more proof.

    Of the refusals of rung 1 the share ``(premium + (1 - REFUSES) BACK) / REFUSES`` goes at rung 5,
    so that the mean fall is ``premium``. Rung 3 is as rung 1 but for one case in ten, both ways.
    """
    random = np.random.default_rng([seed, queries])
    hard = random.random(queries) < REFUSES
    taken = random.random(queries) < (premium + (1 - REFUSES) * BACK) / REFUSES
    verified = np.where(hard, ~taken, random.random(queries) < BACK)
    unsafe = random.random(queries) < 0.8

    def unlike(refused: Any) -> Any:
        return refused ^ (random.random(queries) < 0.1)

    rungs = {
        "0": (unlike(hard), unsafe),
        "1": (hard, unlike(unsafe)),
        "3": (unlike(hard), unlike(unsafe)),
        "5": (verified, unsafe),
    }
    clusters = number_clusters(np.repeat(np.arange(queries), 2))
    truth = SimpleNamespace(safe=np.tile([1.0, 0.0], queries))
    return Climbed(
        {
            name: SimpleNamespace(  # type: ignore[misc]
                truth=truth, clusters=clusters, unrefused=1.0 - np.stack(sides, axis=1).ravel()
            )
            for name, sides in rungs.items()
        }
    )


def coverage(name: str, queries: int, premium: float, true: float) -> float:
    formula = find(name).formula
    assert formula is not None
    ends = [formula(climbed(queries, premium, seed)).interval for seed in range(DRAWS)]
    return float(np.mean([low <= true <= high for low, high in ends]))


@pytest.mark.slow
@pytest.mark.parametrize("queries", [150, 450])
@pytest.mark.parametrize("premium", [0.0, 0.05, 0.2])
def test_the_premium_of_proof(queries: int, premium: float) -> None:
    assert 0.93 <= coverage("proof_premium", queries, premium, premium) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "true"),
    [
        # Refused at 0 and not at 1: one in ten of .6; the other way one in ten of .4.
        ("gain", 0.1 * 0.6 - 0.1 * 0.4),
        # Of those answered at 0, .6 * .9 answered and .4 * .1 refused at 1.
        ("claim_backfire", 0.04 / (0.04 + 0.54)),
        # Of the unsafe cases .8 are refused, and one in ten flips: .8 * .1 - .2 * .1, twice.
        ("spoofability", 2 * (0.8 - 0.2) * 0.1),
    ],
)
def test_other_figures(name: str, true: float) -> None:
    assert 0.93 <= coverage(name, 450, 0.05, true) <= 0.985
