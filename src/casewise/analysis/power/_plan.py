"""How many votes, cases, pairs or epochs a study needs, and what a given number can show."""

import math
from dataclasses import dataclass, fields, replace

from casewise.analysis.power._inputs import (
    PowerInputs,
    PowerTest,
    Unknown,
    check_inputs,
    find_unknown,
)
from casewise.analysis.power._problems import (
    Problem,
    Quantity,
    given_effect,
    make_problems,
    pairs_power,
)
from casewise.errors import UsageError
from casewise.statistics import (
    MOST_EXACT,
    MOST_SIZE,
    Level,
    Parent,
    ProportionMethod,
    fisher_size,
    smallest_effect,
    smallest_size,
    whole,
)

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
    given = {one.name: getattr(plan.inputs, one.name) for one in fields(plan.inputs)}
    return {
        "inputs": {name: value for name, value in given.items() if value is not None},
        "answers": [
            {
                one.name: value
                for one in fields(answer)
                if (value := getattr(answer, one.name)) is not None
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
        found = fisher_size(inputs.p1, inputs.p2, inputs.power, level)
        size = found.n
        if math.isinf(size):
            raise UsageError(
                f"more than {MOST_EXACT} votes a case, too many for --method exact; "
                "--method pooled is as good there"
            )
        holds_to = int(found.holds_to)
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
    found = smallest_effect(lambda effect: problem.power_of(effect, n), wanted, problem.most_effect)
    return None if math.isinf(found) else Answer(problem.effect_name, problem.shown(found))


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
