"""Votes, cases or pairs that a study needs, and the power of a given number.

Each test is a function of effect and size, solved for the one that is not given.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum

from casewise.choices import PowerInputs, PowerTest
from casewise.errors import UsageError
from casewise.statistics import (
    LEAST_SIZE,
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


def plan_power(inputs: PowerInputs) -> Plan:
    """Work out the one of size, power and effect that was left out.

    Raises:
        UsageError: What is given is out of range, too little, too much, or can't be reached.
    """
    _check(inputs)
    unknown = _unknown(inputs)
    given, inputs = inputs, _with_defaults(inputs)
    problems = [_pairs(inputs)] if inputs.test is PowerTest.PAIRS else _proportions(inputs)
    match unknown:
        case _Unknown.SIZE:
            answers = [_size(inputs, problem) for problem in problems]
        case _Unknown.POWER:
            answers = [_power(inputs, problem) for problem in problems]
        case _Unknown.EFFECT:
            answers = _effects(inputs, problems)
    return Plan(inputs, tuple(answers), tuple(_notes(given, inputs, answers)))


def as_plan_record(plan: Plan) -> dict[str, object]:
    """A plan as plain values: the inputs that were used, the answers, the notes."""
    return {
        "inputs": _given(plan.inputs),
        "answers": [_given(answer) for answer in plan.answers],
        "notes": list(plan.notes),
    }


def _given(record: PowerInputs | Answer) -> dict[str, object]:
    return {name: value for name, value in asdict(record).items() if value is not None}


def _with_defaults(inputs: PowerInputs) -> PowerInputs:
    """Fill in the defaults that the test uses, so that they are shown."""
    if inputs.test is not PowerTest.PAIRS:
        return inputs
    cases, rho = inputs.cases_per_query, inputs.rho
    return replace(
        inputs,
        two_sided=inputs.two_sided and inputs.margin is None,
        cases_per_query=cases or 2,
        rho=rho if cases == 1 else rho or 0.0,
    )


# --- checks -------------------------------------------------------------------------------------


class _Unknown(StrEnum):
    """Input that is left out, and so worked out."""

    SIZE = "size"
    POWER = "power"
    EFFECT = "effect"


_QUESTIONS = {
    PowerTest.PROPORTIONS: ("p1 p2", "--p2 (beside --p1)"),
    PowerTest.PAIRS: (
        "effect margin discordance sd rho cases_per_query",
        "--effect (the difference of the accuracies) or --margin",
    ),
}
"""Own inputs of each test, and the options that give its effect."""


def _option(name: str) -> str:
    """The command's option for an input."""
    return "--" + name.replace("_", "-")


def _check(inputs: PowerInputs) -> None:
    """Refuse inputs that are out of range or belong to another test.

    Raises:
        UsageError: Which option, and what it takes.
    """
    own = f"test n power alpha two_sided {_QUESTIONS[inputs.test][0]}".split()
    for field in fields(inputs):
        if field.name not in own and getattr(inputs, field.name) is not None:
            raise UsageError(f"{_option(field.name)} doesn't belong to --test {inputs.test}")
    _within(inputs, 0, 1, "alpha", "margin", open_ends=True)
    _within(inputs, 0, 1, "p1", "p2", "discordance", "sd")
    _within(inputs, -1, 1, "rho")
    _within(inputs, int(LEAST_SIZE), int(MOST_SIZE), "n")
    _within(inputs, 1, int(MOST_SIZE), "cases_per_query")
    if inputs.power is not None and not inputs.alpha < inputs.power < 1:
        raise UsageError(
            f"--power {inputs.power:g}: above --alpha ({inputs.alpha:g}) and below 1; "
            "alpha is reached without any votes or cases"
        )
    if inputs.test is PowerTest.PROPORTIONS:
        _check_proportions(inputs)
    else:
        _check_pairs(inputs)


def _within(
    inputs: PowerInputs, low: float, high: float, *names: str, open_ends: bool = False
) -> None:
    for name in names:
        value = getattr(inputs, name)
        # Written so that NaN is refused too.
        if value is None or (low < value < high if open_ends else low <= value <= high):
            continue
        ends = f"above {low:,} and below {high:,}" if open_ends else f"{low:,} to {high:,}"
        raise UsageError(f"{_option(name)} {value:g}: {ends}")


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
    for name in ("sd", "discordance"):
        if getattr(inputs, name) == 0:
            raise UsageError(f"{_option(name)} 0: two models that never differ can't be told apart")
    if inputs.effect is not None and not 0 < inputs.effect <= 1:
        raise UsageError(
            f"--effect {inputs.effect:g}: above 0 and at most 1; no study finds a difference of "
            "nothing"
        )
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


def _unknown(inputs: PowerInputs) -> _Unknown:
    """Find the input to be worked out: whichever of effect, size and power is left out.

    Raises:
        UsageError: Too little is given, or too much.
    """
    effect = _QUESTIONS[inputs.test][1]
    missing = {
        _Unknown.EFFECT: (effect, _effect(inputs) is None),
        _Unknown.SIZE: ("--n", inputs.n is None),
        _Unknown.POWER: ("--power", inputs.power is None),
    }
    left_out = {unknown: name for unknown, (name, is_missing) in missing.items() if is_missing}
    if not left_out:
        raise UsageError(
            f"too much is given: leave out {effect}, --n or --power, and it is worked out"
        )
    if len(left_out) > 1:
        raise UsageError(
            f"too little is given: two of {effect}, --n and --power are needed, and the third is "
            f"worked out (left out: {', '.join(left_out.values())})"
        )
    return next(iter(left_out))


# --- problems -----------------------------------------------------------------------------------


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


def _proportions(inputs: PowerInputs) -> list[_Problem]:
    """The problem of two shares; of one that is looked for, above and below the other."""
    p1, level = inputs.p1 or 0.0, Level(inputs.alpha, inputs.two_sided)

    def up(step: float, n: float) -> float:
        return proportions_power(p1, min(1.0, p1 + step), n, level)

    def down(step: float, n: float) -> float:
        return proportions_power(p1, max(0.0, p1 - step), n, level)

    above = _Problem(up, Quantity.P2_ABOVE, 1 - p1, lambda step: p1 + step)
    below = _Problem(down, Quantity.P2_BELOW, p1, lambda step: p1 - step)
    if inputs.p2 is not None:
        return [above if inputs.p2 > p1 else below]
    return [above] * (p1 < 1) + [below] * (p1 > 0)


def _design(inputs: PowerInputs, difference: float) -> PairedDesign:
    """The spread of the differences, from either way to give it."""
    if inputs.sd is not None:
        variance = inputs.sd**2
    else:
        variance = discordance_variance(inputs.discordance or 0.0, difference)
    return PairedDesign(variance, inputs.rho or 0.0, inputs.cases_per_query or 2)


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
        1.0 if inputs.discordance is None else inputs.discordance,
        counted={1: Quantity.CASES, 2: Quantity.PAIRS}.get(cases, Quantity.QUERIES),
        arms=cases,
    )


def _effect(inputs: PowerInputs) -> float | None:
    """The given effect on the scale of the problem."""
    if inputs.p1 is not None and inputs.p2 is not None:
        return abs(inputs.p2 - inputs.p1)
    return inputs.effect if inputs.margin is None else inputs.margin


# --- answers ------------------------------------------------------------------------------------


def _size(inputs: PowerInputs, problem: _Problem) -> Answer:
    effect, power = _effect(inputs), inputs.power
    assert effect is not None
    assert power is not None
    size = smallest_size(lambda n: problem.power_of(effect, n), power)
    if math.isinf(size):
        raise UsageError(
            f"power {power:g} needs more than {MOST_SIZE:,.0f} {problem.counted}: the difference "
            "is too small"
        )
    needed = whole(size)
    reached = problem.power_of(effect, needed)
    return Answer(problem.counted, size, needed, needed * problem.arms, reached)


def _power(inputs: PowerInputs, problem: _Problem) -> Answer:
    effect = _effect(inputs)
    assert effect is not None
    assert inputs.n is not None
    return Answer(Quantity.POWER, problem.power_of(effect, inputs.n))


def _effects(inputs: PowerInputs, problems: list[_Problem]) -> list[Answer]:
    """The smallest effect of each problem, those out of reach left out."""
    n, power = inputs.n, inputs.power
    assert n is not None
    assert power is not None
    answers = []
    for problem in problems:

        def power_of(effect: float, of: _Problem = problem) -> float:
            return of.power_of(effect, n)

        found = smallest_effect(power_of, power, problem.most_effect)
        if not math.isinf(found):
            answers.append(Answer(problem.effect_name, problem.shown(found)))
    if not answers:
        raise UsageError(
            f"--n {n} is too few: not even the largest difference there can be is found "
            f"with power {power:g}"
        )
    return answers


def _notes(given: PowerInputs, inputs: PowerInputs, answers: list[Answer]) -> list[str]:
    notes: list[str] = []
    if inputs.test is not PowerTest.PAIRS:
        return notes
    if inputs.margin is not None:
        notes.append(
            "Power is the chance that a model equal to the other is shown not to be worse by the "
            "margin, in the test of casewise gate; one-sided."
        )
    if given.rho is None and inputs.rho is not None:
        notes.append(
            "Without --rho, the cases of one query are taken as unrelated; if models differ on "
            "both or on neither, more queries are needed."
        )
    queries = inputs.n or answers[0].needed
    if queries is not None and queries < FEW_QUERIES:
        notes.append(
            f"Fewer than {FEW_QUERIES} queries: the normal distribution, on which this rests, "
            "promises too much power."
        )
    return notes
