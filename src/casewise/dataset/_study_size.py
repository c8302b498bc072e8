"""How many votes, cases, pairs or epochs a study needs, and what a given number can show.

Each test is a function of effect and size, solved for the one that is not given.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from enum import StrEnum

from casewise.dataset._power_inputs import (
    PowerInputs,
    PowerTest,
    Unknown,
    check_inputs,
    find_unknown,
    paired_design,
)
from casewise.errors import UsageError
from casewise.statistics import (
    MOST_EXACT,
    MOST_SIZE,
    Level,
    Parent,
    ProportionMethod,
    fisher_size,
    mann_whitney_power,
    noether_power,
    noninferiority_power,
    paired_power,
    proportions_power,
    smallest_effect,
    smallest_size,
    t_power,
    whole,
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


FEW_QUERIES = 30
"""Below this many pairs, the normal distribution of a mean promises too much power."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One thing worked out."""

    quantity: Quantity
    value: float
    """Not rounded."""
    needed: int | None = None
    """A count rounded up; None for other quantities."""
    total: int | None = None
    """Votes on both cases, or cases of all queries; None for other quantities."""
    power: float | None = None
    """Power with the rounded count; None for other quantities."""
    holds_to: int | None = None
    """With Fisher's test, the largest count that was seen to have the power as well."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What was asked, and the answers."""

    inputs: PowerInputs
    """As given, with every default that was used filled in."""
    answers: tuple[Answer, ...]
    """One; or one a direction or formula where several are worth knowing."""
    notes: tuple[str, ...]
    """What must be said beside the numbers, a sentence each."""


def plan_power(inputs: PowerInputs) -> Plan:
    """Work out the one of size, power, effect and epochs that was left out.

    Raises:
        UsageError: What is given is out of range, too little, too much, or can't be reached.
    """
    check_inputs(inputs)
    unknown = find_unknown(inputs)
    given, inputs = inputs, _with_defaults(inputs)
    problems = make_problems(inputs)
    if unknown is Unknown.SIZE:
        answers = [_size(inputs, problem) for problem in problems]
    elif unknown is Unknown.POWER:
        answers = [_power(inputs, problem) for problem in problems]
    elif unknown is Unknown.EFFECT:
        answers = _effects(inputs, problems)
    else:
        answers = [_epochs(inputs)]
    return Plan(inputs, tuple(answers), tuple(_notes(given, inputs, answers)))


def as_plan_record(plan: Plan) -> dict[str, object]:
    """A plan as plain values: the inputs that were used, the answers, the notes."""
    given = {field.name: getattr(plan.inputs, field.name) for field in fields(plan.inputs)}
    return {
        "inputs": {name: value for name, value in given.items() if value is not None},
        "answers": [
            {
                field.name: value
                for field in fields(answer)
                if (value := getattr(answer, field.name)) is not None
            }
            for answer in plan.answers
        ],
        "notes": list(plan.notes),
    }


def _with_defaults(inputs: PowerInputs) -> PowerInputs:
    """Fill in the defaults that the test uses, so that they are shown."""
    if inputs.test is PowerTest.PROPORTIONS:
        return replace(inputs, method=inputs.method or ProportionMethod.POOLED)
    if inputs.test is PowerTest.MANN_WHITNEY and inputs.superiority is None:
        return replace(inputs, parent=inputs.parent or Parent.NORMAL)
    if inputs.test is PowerTest.PAIRS:
        cases = inputs.cases_per_query or 2
        return replace(
            inputs,
            two_sided=inputs.two_sided and inputs.margin is None,
            cases_per_query=cases,
            rho=inputs.rho if inputs.rho is not None or cases == 1 else 0.0,
        )
    return inputs


def _size(inputs: PowerInputs, problem: Problem) -> Answer:
    assert inputs.power is not None
    effect = given_effect(inputs)
    holds_to = None
    if inputs.method is ProportionMethod.EXACT:
        assert inputs.p1 is not None
        assert inputs.p2 is not None
        level = Level(inputs.alpha, inputs.two_sided)
        exact = fisher_size(inputs.p1, inputs.p2, inputs.power, level)
        size = exact.n
        if math.isinf(size):
            raise UsageError(
                f"more than {MOST_EXACT} votes a case, too many for --method exact; "
                "--method pooled is as good there"
            )
        holds_to = int(exact.holds_to)
    else:
        size = smallest_size(lambda n: problem.power_of(effect, n), inputs.power)
    if math.isinf(size):
        raise UsageError(
            f"power {inputs.power:g} needs more than {MOST_SIZE:,.0f} {problem.counted}: "
            "the difference is too small"
        )
    needed = whole(size)
    power = problem.power_of(effect, needed)
    return Answer(problem.counted, size, needed, needed * problem.arms, power, holds_to)


def _power(inputs: PowerInputs, problem: Problem) -> Answer:
    assert inputs.n is not None
    return Answer(Quantity.POWER, problem.power_of(given_effect(inputs), inputs.n))


def _effects(inputs: PowerInputs, problems: list[Problem]) -> list[Answer]:
    """The smallest effect of each problem, those out of reach left out."""
    answers = []
    for problem in problems:
        answer = _smallest_effect(inputs, problem)
        if answer is not None:
            answers.append(answer)
    if not answers:
        raise UsageError(
            f"--n {inputs.n} is too few: not even the largest difference there can be is found "
            f"with power {inputs.power:g}"
        )
    return answers


def _smallest_effect(inputs: PowerInputs, problem: Problem) -> Answer | None:
    n, wanted = inputs.n, inputs.power
    assert n is not None
    assert wanted is not None
    effect_found = smallest_effect(
        lambda effect: problem.power_of(effect, n), wanted, problem.most_effect
    )
    return (
        None
        if math.isinf(effect_found)
        else Answer(problem.effect_name, problem.shown(effect_found))
    )


def _epochs(inputs: PowerInputs) -> Answer:
    assert inputs.n is not None
    assert inputs.power is not None
    effect, queries = given_effect(inputs), inputs.n

    def power_of(epochs: float) -> float:
        return pairs_power(inputs, effect, queries, epochs)

    best = power_of(math.inf)
    if best <= inputs.power:
        raise UsageError(
            f"no number of epochs gives power {inputs.power:g}: with --n {queries} even endless "
            f"epochs come to {best:.3f} only; more queries are needed"
        )
    size = smallest_size(power_of, inputs.power, least=1.0)
    if math.isinf(size):
        raise UsageError(f"power {inputs.power:g} needs more than {MOST_SIZE:,.0f} epochs")
    needed = whole(size)
    return Answer(Quantity.EPOCHS, size, needed, power=power_of(needed))


def _notes(given: PowerInputs, inputs: PowerInputs, answers: list[Answer]) -> list[str]:
    notes = []
    if inputs.method is ProportionMethod.EXACT:
        notes.append("Fisher's exact test decides; its power is summed over all outcomes.")
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
    queries = inputs.n if inputs.n is not None else answers[0].needed
    if queries is not None and queries < FEW_QUERIES:
        notes.append(
            f"Fewer than {FEW_QUERIES} queries: the normal distribution, on which this rests, "
            "promises too much power."
        )
    return notes
