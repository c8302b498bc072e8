"""Votes, cases or pairs that a study needs, and the power of a given number.

Each test is a function of effect and size, solved for the one that is not given.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from casewise.choices import PowerInputs, PowerTest
from casewise.errors import UsageError
from casewise.options import options_of
from casewise.statistics import (
    MOST_SIZE,
    Level,
    PairedDesign,
    discordance_variance,
    noninferiority_power,
    paired_power,
    proportions_power,
    smallest_effect,
    smallest_size,
    whole,
)


class Quantity(StrEnum):
    """Quantity that is worked out."""

    VOTES = "votes"
    """People who vote on a case, each person on one case of the pair only."""
    CASES = "cases"
    """Cases, each with a query of its own."""
    PAIRS = "pairs"
    """Queries with two cases."""
    QUERIES = "queries"
    """Queries with more than two cases."""
    POWER = "power"
    P2_ABOVE = "p2_above"
    """The least share above p1 that is told from it."""
    P2_BELOW = "p2_below"
    """The greatest share below p1 that is told from it."""
    DIFFERENCE = "difference"
    """Difference of two accuracies, in 0..1."""


FEW_QUERIES = 30
"""Queries below which the normal distribution of a mean promises too much power."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One quantity that was worked out."""

    quantity: Quantity
    value: float
    """Not rounded."""
    needed: int | None = None
    """A count rounded up; None for other quantities."""
    total: int | None = None
    """Votes on both cases, or cases of all queries; None for other quantities."""
    power: float | None = None
    """Power with the rounded count; None for other quantities."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Inputs and answers."""

    inputs: PowerInputs
    """As given, with every default that was used filled in."""
    answers: tuple[Answer, ...]
    """One; or one a direction where a share is asked for."""
    notes: tuple[str, ...]
    """Cautions about the numbers, a sentence each."""


@dataclass(frozen=True, slots=True)
class _Problem:
    """A test's power by effect and size, and the names of both."""

    power_of: Callable[[float, float], float]
    """Power by effect and size, rising in both."""
    effect_name: Quantity
    most_effect: float
    shown: Callable[[float], float] = lambda effect: effect
    """The effect as people name it."""
    counted: Quantity = Quantity.VOTES
    arms: int = 2
    """Factor of a size for the total."""


def plan_power(inputs: PowerInputs) -> Plan:
    """Work out the one of size, power and effect that was left out.

    Raises:
        UsageError: What is given is out of range, too little, too much, or can't be reached.
    """
    _check(inputs)
    notes = []
    if inputs.test is PowerTest.PAIRS:
        cases, rho = inputs.cases_per_query or 2, inputs.rho
        if inputs.margin is not None:
            notes.append(
                "Power is the chance that a model equal to the other is shown not to be worse by "
                "the margin, in the test of casewise gate; one-sided."
            )
        if cases > 1 and rho is None:
            notes.append(
                "Without --rho, the cases of one query are taken as unrelated; if models differ on "
                "both or on neither, more queries are needed."
            )
        inputs = replace(
            inputs,
            two_sided=inputs.two_sided and inputs.margin is None,
            cases_per_query=cases,
            rho=rho if cases == 1 else rho or 0.0,
        )
    answers = _answers(inputs)
    queries = inputs.n or answers[0].needed
    if inputs.test is PowerTest.PAIRS and queries is not None and queries < FEW_QUERIES:
        notes.append(
            f"Fewer than {FEW_QUERIES} queries: the normal distribution, on which this rests, "
            "promises too much power."
        )
    return Plan(inputs, answers, tuple(notes))


def as_plan_record(plan: Plan) -> dict[str, object]:
    """A plan as plain values: the inputs that were used, the answers, the notes."""

    def given(record: PowerInputs | Answer) -> dict[str, object]:
        return {name: value for name, value in asdict(record).items() if value is not None}

    return {
        "inputs": given(plan.inputs),
        "answers": list(map(given, plan.answers)),
        "notes": list(plan.notes),
    }


def _answers(inputs: PowerInputs) -> tuple[Answer, ...]:
    """Answers to what is left out: size, power, or the effects that can be found."""
    problems = [_pairs(inputs)] if inputs.test is PowerTest.PAIRS else _proportions(inputs)
    effect, n, power = _effect(inputs), inputs.n, inputs.power
    if effect is not None and n is not None:
        return tuple(Answer(Quantity.POWER, one.power_of(effect, n)) for one in problems)
    assert power is not None
    if effect is not None:
        return tuple(_size(one, effect, power) for one in problems)
    assert n is not None
    answers = []
    for one in problems:

        def power_of(effect: float, of: _Problem = one) -> float:
            return of.power_of(effect, n)

        found = smallest_effect(power_of, power, one.most_effect)
        if math.isfinite(found):
            answers.append(Answer(one.effect_name, one.shown(found)))
    if not answers:
        raise UsageError(
            f"--n {n} is too few: not even the largest difference there can be is found "
            f"with power {power:g}"
        )
    return tuple(answers)


def _size(problem: _Problem, effect: float, power: float) -> Answer:
    size = smallest_size(lambda n: problem.power_of(effect, n), power)
    if math.isinf(size):
        raise UsageError(
            f"power {power:g} needs more than {MOST_SIZE:,.0f} {problem.counted}: the difference "
            "is too small"
        )
    needed = whole(size)
    reached = problem.power_of(effect, needed)
    return Answer(problem.counted, size, needed, needed * problem.arms, reached)


def _proportions(inputs: PowerInputs) -> list[_Problem]:
    """The problem of two shares; of one that is looked for, above and below the other."""
    p1, level = inputs.p1 or 0.0, Level(inputs.alpha, inputs.two_sided)

    def toward(sign: int, name: Quantity, most: float) -> _Problem:
        def power_of(step: float, n: float) -> float:
            return proportions_power(p1, min(1.0, max(0.0, p1 + sign * step)), n, level)

        return _Problem(power_of, name, most, lambda step: p1 + sign * step)

    above = toward(1, Quantity.P2_ABOVE, 1 - p1)
    below = toward(-1, Quantity.P2_BELOW, p1)
    if inputs.p2 is not None:
        return [above if inputs.p2 > p1 else below]
    return [above] * (p1 < 1) + [below] * (p1 > 0)


def _pairs(inputs: PowerInputs) -> _Problem:
    """The problem of finding a difference, or of showing that equal models are within a margin."""
    level, cases = Level(inputs.alpha, inputs.two_sided), inputs.cases_per_query or 2

    def found(effect: float, queries: float) -> float:
        return paired_power(effect, queries, _design(inputs, effect), level)

    def within(margin: float, queries: float) -> float:
        design = _design(inputs, 0.0)
        variance = design.query_variance
        step = None
        if inputs.discordance is not None:
            # Where both cases of a query flip together, it moves by more than one case's weight.
            step = max(variance / design.variance, 1 / design.cases)
        return noninferiority_power(margin, queries, variance, step, level) if variance else 1.0

    return _Problem(
        found if inputs.margin is None else within,
        Quantity.DIFFERENCE,
        inputs.discordance or 1.0,
        counted={1: Quantity.CASES, 2: Quantity.PAIRS}.get(cases, Quantity.QUERIES),
        arms=cases,
    )


def _design(inputs: PowerInputs, difference: float) -> PairedDesign:
    """The spread of the differences, from either way to give it."""
    if inputs.sd is not None:
        variance = inputs.sd**2
    else:
        variance = discordance_variance(inputs.discordance or 0.0, difference)
    return PairedDesign(variance, inputs.rho or 0.0, inputs.cases_per_query or 2)


def _effect(inputs: PowerInputs) -> float | None:
    """The given effect on the scale of the problem."""
    if inputs.p1 is not None and inputs.p2 is not None:
        return abs(inputs.p2 - inputs.p1)
    return inputs.effect if inputs.margin is None else inputs.margin


_OWN = {
    PowerTest.PROPORTIONS: ("--p2 (beside --p1)", "p1 p2"),
    PowerTest.PAIRS: (
        "--effect (the difference of the accuracies) or --margin",
        "effect margin discordance sd rho cases_per_query",
    ),
}
"""Options that give the effect of each test, and its own inputs."""

_OPEN = {"alpha": (0, 1), "margin": (0, 1)} | dict.fromkeys(("effect", "sd", "discordance"), (0,))
"""Ends of ranges at which nothing could be told."""


def _check(inputs: PowerInputs) -> None:
    """Refuse inputs that are out of range, too few or too many, or belong to another test.

    Raises:
        UsageError: Which option, and what it takes.
    """
    effect, own = _OWN[inputs.test]
    names = f"test n power alpha two_sided {own}".split()
    for name, option in options_of(PowerInputs).items():
        value, low, high = getattr(inputs, name), option.about.least, option.about.most
        if value is None:
            continue
        if name not in names:
            raise UsageError(f"{option.spelling} doesn't belong to --test {inputs.test}")
        # Written so that NaN is refused too.
        if low is not None and not low <= value <= (high or MOST_SIZE):
            raise UsageError(f"{option.spelling} {value:g}: {low:g} to {high or MOST_SIZE:g}")
        if value in _OPEN.get(name, ()):
            raise UsageError(f"{option.spelling} can't be {value:g}: nothing would be left to find")
    if inputs.power is not None and not inputs.alpha < inputs.power < 1:
        raise UsageError(
            f"--power {inputs.power:g}: above --alpha ({inputs.alpha:g}) and below 1; "
            "alpha is reached without any votes or cases"
        )
    if inputs.test is PowerTest.PROPORTIONS:
        _check_proportions(inputs)
    else:
        _check_pairs(inputs)
    asked = {effect: _effect(inputs), "--n": inputs.n, "--power": inputs.power}
    left_out = [name for name, value in asked.items() if value is None]
    if len(left_out) != 1:
        raise UsageError(
            f"too {'little' if left_out else 'much'} is given: two of {effect}, --n and --power "
            f"are needed, and the third is worked out (left out: {', '.join(left_out) or 'none'})"
        )


def _check_proportions(inputs: PowerInputs) -> None:
    if inputs.p1 is None:
        raise UsageError("--test proportions needs --p1, the share of safe votes on one case")
    if inputs.p1 == inputs.p2:
        raise UsageError(f"--p1 and --p2 are both {inputs.p1:g}: there is no difference to find")


def _check_pairs(inputs: PowerInputs) -> None:
    if (inputs.sd is None) == (inputs.discordance is None):
        raise UsageError(
            "--test pairs needs either --discordance (the share of cases on which just one model "
            "is right) or --sd (of a case's difference)"
        )
    if inputs.margin is not None and inputs.effect is not None:
        raise UsageError("--margin stands instead of --effect; give one of them")
    if inputs.effect is not None and inputs.effect > (inputs.discordance or 1):
        raise UsageError(
            f"--effect {inputs.effect:g}: at most --discordance ({inputs.discordance:g}); shares "
            "can't differ by more than verdicts do"
        )
    design = _design(inputs, 0.0)
    if design.cases == 1 and inputs.rho is not None:
        raise UsageError("--rho is about several cases of a query; --cases-per-query is 1")
    if not design.possible:
        raise UsageError(
            f"--rho {design.rho:g} can't be with {design.cases} cases a query: at least "
            f"{-1 / (design.cases - 1):g}"
        )
