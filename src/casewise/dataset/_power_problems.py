"""From an effect and a size to a power, for each test that a study can end in."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from casewise.choices import PowerInputs, PowerTest
from casewise.dataset._power_inputs import paired_design
from casewise.statistics import (
    Level,
    Parent,
    ProportionMethod,
    context_share_error,
    mann_whitney_power,
    noether_power,
    noninferiority_power,
    normal_power,
    paired_power,
    proportions_power,
    rank_error,
    t_power,
    within_degrees,
)


class Quantity(StrEnum):
    """Quantity of an answer."""

    VOTES = "votes"
    """People who vote on a case, each person on one case of the pair only."""
    CASES = "cases"
    """Cases, each with a query of its own."""
    PAIRS = "pairs"
    """Queries with two cases."""
    QUERIES = "queries"
    """Queries with more than two cases, or with contexts."""
    EPOCHS = "epochs"
    """Times that each model judges each case."""
    POWER = "power"
    COHENS_D = "d"
    """Difference of two means in standard deviations."""
    SUPERIORITY = "superiority"
    """P(X < Y)."""
    P2_ABOVE = "p2_above"
    """The least share above p1 that is told from it."""
    P2_BELOW = "p2_below"
    """The greatest share below p1 that is told from it."""
    DIFFERENCE = "difference"
    """Difference of two accuracies, in 0..1."""
    RANK_AGREEMENT = "rank_agreement"
    """Share of pairs ordered as people do, above .5."""
    PCC_WITHIN_QUERY = "pcc_within_query"
    SEEN_CHANGE = "seen_change"
    """Change in the share of safe by seeing the context, 0..1."""
    HALF_WIDTH = "half_width"
    """Half the width of an interval."""


def _unknown(_effect: float, _size: float) -> float:
    """NaN, for a figure that is not planned for."""
    return math.nan


@dataclass(frozen=True, slots=True)
class Problem:
    """One way from an effect and a size to a power."""

    power_of: Callable[[float, float], float]
    """Power by effect and size, rising in both."""
    counted: Quantity
    arms: int
    """Factor of a size for the total."""
    effect_name: Quantity
    most_effect: float
    shown: Callable[[float], float] = lambda effect: effect
    """The effect as people name it."""
    contexts: int | None = None
    """Contexts of a query, where the study is about any number of them."""
    half_width: Callable[[float, float], float] = _unknown
    """Half the width of the figure's interval, falling with the size; NaN: not planned for."""


def make_problems(inputs: PowerInputs) -> list[Problem]:
    """The problem that inputs pose; several if an effect is asked for that has several names."""
    level = Level(inputs.alpha, inputs.two_sided)
    match inputs.test:
        case PowerTest.T:
            return [_of_votes(lambda d, n: t_power(d, n, level), Quantity.COHENS_D, math.inf)]
        case PowerTest.MANN_WHITNEY:
            return _mann_whitney(inputs, level)
        case PowerTest.PROPORTIONS:
            return _proportions(inputs, level)
        case PowerTest.PAIRS:
            return [_pairs(inputs)]
        case _:
            return _contexts(inputs)


def _of_votes(
    power_of: Callable[[float, float], float],
    effect_name: Quantity,
    most: float,
    shown: Callable[[float], float] = lambda effect: effect,
) -> Problem:
    return Problem(power_of, Quantity.VOTES, 2, effect_name, most, shown)


def _mann_whitney(inputs: PowerInputs, level: Level) -> list[Problem]:
    parent = inputs.parent or Parent.NORMAL
    by_shift = _of_votes(
        lambda d, n: mann_whitney_power(d, n, level, parent), Quantity.COHENS_D, math.inf
    )
    by_chance = _of_votes(
        lambda above, n: noether_power(0.5 + above, n, level),
        Quantity.SUPERIORITY,
        0.5,
        lambda above: 0.5 + above,
    )
    if inputs.superiority is not None:
        return [by_chance]
    return [by_shift] if inputs.effect is not None else [by_shift, by_chance]


def _proportions(inputs: PowerInputs, level: Level) -> list[Problem]:
    p1, method = inputs.p1 or 0.0, inputs.method or ProportionMethod.POOLED

    def up(step: float, n: float) -> float:
        return proportions_power(p1, min(1.0, p1 + step), n, level, method)

    def down(step: float, n: float) -> float:
        return proportions_power(p1, max(0.0, p1 - step), n, level, method)

    above = _of_votes(up, Quantity.P2_ABOVE, 1 - p1, lambda step: p1 + step)
    below = _of_votes(down, Quantity.P2_BELOW, p1, lambda step: p1 - step)
    if inputs.p2 is not None:
        return [above if inputs.p2 > p1 else below]
    return [above] * (p1 < 1) + [below] * (p1 > 0)


def pairs_power(inputs: PowerInputs, effect: float, queries: float, epochs: float) -> float:
    """Power to find a difference, or to show that equal models are within a margin."""
    level = Level(inputs.alpha, inputs.two_sided)
    if inputs.margin is None:
        return paired_power(effect, queries, epochs, paired_design(inputs, effect), level)
    design = paired_design(inputs, 0.0)
    variance = design.query_variance(epochs)
    step = None
    if inputs.discordance is not None:
        # Where both cases of a query flip together, it moves by more than one case's weight.
        step = max(variance / design.variance, 1 / design.cases)
    return noninferiority_power(effect, queries, variance, step, level) if variance else 1.0


def _pairs(inputs: PowerInputs) -> Problem:
    cases = inputs.cases_per_query or 2
    epochs = inputs.epochs or 1

    def power_of(effect: float, queries: float) -> float:
        return pairs_power(inputs, effect, queries, epochs)

    counted = {1: Quantity.CASES, 2: Quantity.PAIRS}.get(cases, Quantity.QUERIES)
    most = 1.0 if inputs.discordance is None else inputs.discordance
    return Problem(power_of, counted, cases, Quantity.DIFFERENCE, most)


SEVERAL = {False: (2, 3, 5, 10), True: (1, 2, 3, 5)}
"""Contexts a query that are counted with where none are given; True is of ``seen-change``."""


def _contexts(inputs: PowerInputs) -> list[Problem]:
    """A problem for each number of contexts a query."""
    given = inputs.cases_per_query
    several = (given,) if given else SEVERAL[inputs.test is PowerTest.SEEN_CHANGE]
    made = {
        PowerTest.RANK_AGREEMENT: _ranks,
        PowerTest.PCC_WITHIN_QUERY: _correlation,
        PowerTest.CONTEXT_SHARE: _share,
        PowerTest.SEEN_CHANGE: _seen,
    }[inputs.test]
    return [made(replace(inputs, cases_per_query=k), k) for k in several]


def _critical(inputs: PowerInputs) -> float:
    """Errors to either side of a figure that its interval reaches."""
    return Level(inputs.alpha).critical


def _ranks(inputs: PowerInputs, k: int) -> Problem:
    level, critical = Level(inputs.alpha, inputs.two_sided), _critical(inputs)

    def power_of(above: float, queries: float) -> float:
        error = rank_error(0.5 + above, queries, k)
        return normal_power(above / error, level) if error else 1.0

    return Problem(
        power_of,
        Quantity.QUERIES,
        k,
        Quantity.RANK_AGREEMENT,
        0.5,
        shown=lambda above: 0.5 + above,
        contexts=k,
        half_width=lambda above, queries: critical * rank_error(0.5 + above, queries, k),
    )


def _correlation(inputs: PowerInputs, k: int) -> Problem:
    level, critical = Level(inputs.alpha, inputs.two_sided), _critical(inputs)

    def power_of(pcc: float, queries: float) -> float:
        return normal_power(math.atanh(pcc) * math.sqrt(within_degrees(queries, k)), level)

    def half_width(pcc: float, queries: float) -> float:
        z, half = math.atanh(pcc), critical / math.sqrt(within_degrees(queries, k))
        return (math.tanh(z + half) - math.tanh(z - half)) / 2

    most, name = 1 - 1e-9, Quantity.PCC_WITHIN_QUERY
    return Problem(power_of, Quantity.QUERIES, k, name, most, contexts=k, half_width=half_width)


def _share(inputs: PowerInputs, k: int) -> Problem:
    critical = _critical(inputs)

    def half_width(share: float, queries: float) -> float:
        return critical * context_share_error(share, queries, k)

    return Problem(
        _unknown,
        Quantity.QUERIES,
        k,
        Quantity.HALF_WIDTH,
        1.0,
        contexts=k,
        half_width=half_width,
    )


def _seen(inputs: PowerInputs, k: int) -> Problem:
    level, critical = Level(inputs.alpha, inputs.two_sided), _critical(inputs)

    def power_of(change: float, queries: float) -> float:
        return paired_power(change, queries, 1, paired_design(inputs, change), level)

    def half_width(change: float, queries: float) -> float:
        variance = paired_design(inputs, change).query_variance(1)
        return critical * math.sqrt(variance / queries)

    most = inputs.discordance or 1.0
    name = Quantity.SEEN_CHANGE
    return Problem(power_of, Quantity.QUERIES, k, name, most, contexts=k, half_width=half_width)


def given_effect(inputs: PowerInputs) -> float:
    """The given effect on the scale of the problem."""
    if inputs.test is PowerTest.RANK_AGREEMENT and inputs.effect is not None:
        return inputs.effect - 0.5
    if inputs.p1 is not None and inputs.p2 is not None:
        return abs(inputs.p2 - inputs.p1)
    if inputs.superiority is not None:
        return abs(inputs.superiority - 0.5)
    if inputs.margin is not None:
        return inputs.margin
    assert inputs.effect is not None
    return inputs.effect
