"""Power against simulated studies, with fixed seeds."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from casewise.statistics import (
    Clusters,
    Contexts,
    Level,
    PairedDesign,
    Pairs,
    Parent,
    ProportionMethod,
    WithinQueries,
    context_share,
    context_share_error,
    discordance_variance,
    fisher_power,
    mann_whitney_power,
    noether_power,
    normal_power,
    paired_power,
    proportions_power,
    rank_error,
    seen_context,
    t_power,
    within_degrees,
    within_queries,
)

TWO, ONE = Level(0.05), Level(0.05, two_sided=False)
DRAWS = 20_000
NOISE = 4 * math.sqrt(0.25 / DRAWS)
"""Four standard errors of a simulated power, at most: .014."""


def share(found: NDArray[np.bool_]) -> float:
    return float(found.mean())


@pytest.mark.parametrize(("effect", "n"), [(0.8, 21), (0.5, 40)])
def test_t_by_simulation(effect: float, n: int) -> None:
    generator = np.random.default_rng(1)
    x, y = generator.normal(size=(2, DRAWS, n))
    found = stats.ttest_ind(x + effect, y, axis=1)
    assert t_power(effect, n, TWO) == pytest.approx(share(found.pvalue < 0.05), abs=NOISE)
    upper = stats.ttest_ind(x + effect, y, axis=1, alternative="greater")
    assert t_power(effect, n, ONE) == pytest.approx(share(upper.pvalue < 0.05), abs=NOISE)


SPREADS: dict[Parent, Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]] = {
    Parent.NORMAL: lambda generator, size: generator.normal(size=size),
    # Logistic and Laplace in standard deviations; the least efficient spread is a parabola,
    # which is a beta of 2 and 2.
    Parent.LOGISTIC: lambda generator, size: generator.logistic(size=size) * math.sqrt(3) / math.pi,
    Parent.LAPLACE: lambda generator, size: generator.laplace(size=size) / math.sqrt(2),
    Parent.MINIMUM: lambda generator, size: generator.beta(2, 2, size=size) * math.sqrt(20),
}


@pytest.mark.parametrize("parent", Parent)
def test_mann_whitney_by_simulation(parent: Parent) -> None:
    # Both are approximations: the widest miss is the efficiency of Laplace, .03 too high here.
    draws, n, effect = 4000, 40, 0.6
    x, y = SPREADS[parent](np.random.default_rng(2), (2, draws, n))
    ranks = stats.rankdata(np.concatenate([x + effect, y], axis=1), axis=1)
    u = ranks[:, :n].sum(axis=1) - n * (n + 1) / 2
    z = (np.abs(u - n * n / 2) - 0.5) / math.sqrt(n * n * (2 * n + 1) / 12)
    simulated = share(z > TWO.critical)
    assert mann_whitney_power(effect, n, TWO, parent) == pytest.approx(simulated, abs=0.04)
    above = float((x[:, :, None] + effect > y[:, None, :]).mean())
    assert noether_power(above, n, TWO) == pytest.approx(simulated, abs=0.04)


def test_proportions_by_simulation() -> None:
    p1, p2, n = 0.5, 0.75, 50
    generator = np.random.default_rng(3)
    a, b = generator.binomial(n, p1, DRAWS), generator.binomial(n, p2, DRAWS)
    mean = (a + b) / (2 * n)
    z = np.abs(a - b) / n / np.sqrt(2 * mean * (1 - mean) / n)
    # The formulas are approximate: the test is discrete.
    simulated = share(z > TWO.critical)
    assert proportions_power(p1, p2, n, TWO, ProportionMethod.POOLED) == pytest.approx(
        simulated, abs=0.03
    )
    assert proportions_power(p1, p2, n, TWO, ProportionMethod.ARCSINE) == pytest.approx(
        simulated, abs=0.03
    )


def test_fisher_by_simulation() -> None:
    n, generator = 21, np.random.default_rng(4)
    a, b = generator.binomial(n, 0.9, DRAWS), generator.binomial(n, 0.5, DRAWS)
    table = {
        (x, y): stats.fisher_exact([[x, n - x], [y, n - y]])[1] <= 0.05
        for x, y in set(zip(a.tolist(), b.tolist(), strict=True))
    }
    found = [table[pair] for pair in zip(a.tolist(), b.tolist(), strict=True)]
    assert fisher_power(0.9, 0.5, n, TWO) == pytest.approx(np.mean(found), abs=NOISE)


def rejects(means: NDArray[np.float64]) -> float:
    """Share of studies whose clustered normal test rejects. Shape ``(studies, queries)``."""
    error = means.std(axis=1) / math.sqrt(means.shape[1])
    return share(np.abs(means.mean(axis=1)) / error > TWO.critical)


def test_pairs_by_simulation() -> None:
    # Verdicts: the first model alone is right in .10 of the cases, the second alone in .04. With
    # chance rho the second case of a query repeats the first, else it is drawn anew.
    rho, queries, draws = 0.3, 150, 6000
    generator = np.random.default_rng(5)
    drawn = generator.choice([1, -1, 0], p=[0.10, 0.04, 0.86], size=(2, draws, queries))
    second = np.where(generator.random((draws, queries)) < rho, drawn[0], drawn[1])
    design = PairedDesign(discordance_variance(0.14, 0.06), rho)
    expected = paired_power(0.06, queries, 1, design, TWO)
    assert rejects((drawn[0] + second) / 2) == pytest.approx(expected, abs=0.025)


def test_epochs_by_simulation() -> None:
    variance, rho, noise, queries, epochs, draws = 0.16, 0.2, 0.5, 100, 3, 6000
    generator = np.random.default_rng(6)
    shape = (draws, queries)
    shared = generator.normal(size=shape) * math.sqrt(variance * rho)
    own = generator.normal(size=(2, *shape)) * math.sqrt(variance * (1 - noise - rho))
    anew = generator.normal(size=(2, epochs, *shape)) * math.sqrt(variance * noise)
    means = 0.07 + (shared + own + anew.mean(axis=1)).mean(axis=0)
    design = PairedDesign(variance, rho, noise=noise)
    expected = paired_power(0.07, queries, epochs, design, TWO)
    assert rejects(means) == pytest.approx(expected, abs=0.02)


QUERIES, K, STUDIES = 60, 5, 300
LUCK = 3 * math.sqrt(0.25 / STUDIES)
"""Three standard errors of a power from so many studies, at most: .087."""

CLUSTERS = Clusters(np.repeat(np.arange(QUERIES), K), QUERIES)
EVERY_TWO = np.array(
    [(q * K + i, q * K + j) for q in range(QUERIES) for i in range(K) for j in range(i + 1, K)]
)


def in_contexts(relation: float, rng: np.random.Generator) -> WithinQueries:
    """A study of people and a model whose figures within queries have this correlation."""
    people, own = rng.normal(size=(2, QUERIES, K))
    model = relation * people + math.sqrt(1 - relation**2) * own
    # Queries differ too, for people otherwise than for the model.
    people, model = (side + rng.normal(size=(QUERIES, 1)) for side in (people, model))
    nothing = np.full(QUERIES * K, np.nan)
    cases = Contexts(
        said=(model.ravel() > 0).astype(float),
        p_safe=model.ravel(),
        safe=(people.ravel() > 0).astype(float),
        rate=people.ravel(),
        votes_safe=nothing,
        votes_unsafe=nothing,
    )
    return within_queries(cases, EVERY_TWO, CLUSTERS)


def test_contexts_by_simulation() -> None:
    relation, rng = 0.18, np.random.default_rng(7)
    studies = [in_contexts(relation, rng) for _ in range(STUDIES)]
    agreement = 0.5 + math.asin(relation) / math.pi
    error = rank_error(agreement, QUERIES, K)
    told = np.array([one.rank_agreement.interval[0] > 0.5 for one in studies])
    assert share(told) == pytest.approx(normal_power((agreement - 0.5) / error, TWO), abs=LUCK)
    margin = np.mean([one.rank_agreement.margin for one in studies])
    assert margin == pytest.approx(TWO.critical * error, rel=0.05)

    told = np.array([one.pcc_within_query.p < 0.05 for one in studies])
    shift = math.atanh(relation) * math.sqrt(within_degrees(QUERIES, K))
    assert share(told) == pytest.approx(normal_power(shift, TWO), abs=LUCK)


def test_context_share_by_simulation() -> None:
    part, rng = 0.4, np.random.default_rng(8)
    margins = []
    for _ in range(STUDIES):
        values = rng.normal(size=(QUERIES, 1)) * math.sqrt(1 - part)
        values = values + rng.normal(size=(QUERIES, K)) * math.sqrt(part)
        margins.append(context_share(values.ravel(), CLUSTERS).margin)
    planned = TWO.critical * context_share_error(part, QUERIES, K)
    assert np.mean(margins) == pytest.approx(planned, rel=0.1)


def test_a_seen_context_by_simulation() -> None:
    # Of what is safe without its context .25 turns unsafe, of what is unsafe .1 safe.
    off, on, rng = 0.25, 0.1, np.random.default_rng(9)
    change, discordance = (on - off) / 2, (on + off) / 2
    variance = discordance_variance(discordance, change)
    rho = ((on + off) / 2) ** 2 / variance
    found = []
    for _ in range(STUDIES):
        alone = np.repeat(rng.random(QUERIES) < 0.5, K)
        turned = rng.random(QUERIES * K) < np.where(alone, off, on)
        said = np.stack([alone, alone ^ turned], axis=1).astype(float)
        pairs = Pairs(said=said, right=said, p_safe=said, safe=said, rate=said)
        found.append(seen_context(pairs, CLUSTERS).model_change.p < 0.05)
    power = paired_power(-change, QUERIES, 1, PairedDesign(variance, rho, K), TWO)
    assert share(np.array(found)) == pytest.approx(power, abs=LUCK)
