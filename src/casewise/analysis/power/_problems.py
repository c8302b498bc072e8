"""A test as a function of effect and size, whatever the test."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from casewise.analysis.power._inputs import PowerInputs, PowerTest, paired_design
from casewise.statistics import (
    Level,
    Parent,
    ProportionMethod,
    mann_whitney_power,
    noether_power,
    noninferiority_power,
    paired_power,
    proportions_power,
    t_power,
)


class Quantity(StrEnum):
    """What a question of power is answered with."""

    VOTES = "votes"
    """People who vote on a case, each person on one case of the pair only."""
    CASES = "cases"
    """Cases, each with a query of its own."""
    PAIRS = "pairs"
    """Queries with two cases."""
    QUERIES = "queries"
    """Queries with more than two cases."""
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


@dataclass(frozen=True, slots=True)
class Problem:
    """One way from an effect and a size to a power."""

    power_of: Callable[[float, float], float]
    """Power by effect and size, rising in both."""
    counted: Quantity
    arms: int
    """What a size is multiplied with for the total."""
    effect_name: Quantity
    most_effect: float
    shown: Callable[[float], float] = lambda effect: effect
    """The effect as people name it."""


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


def given_effect(inputs: PowerInputs) -> float:
    """The given effect on the scale of the problem."""
    if inputs.p1 is not None and inputs.p2 is not None:
        return abs(inputs.p2 - inputs.p1)
    if inputs.superiority is not None:
        return abs(inputs.superiority - 0.5)
    if inputs.margin is not None:
        return inputs.margin
    assert inputs.effect is not None
    return inputs.effect
