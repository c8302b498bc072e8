"""Votes, cases, pairs or epochs that a study needs, and the power of a given number.

Each test is a function of effect and size, solved for the one that is not given.
"""

import math
from dataclasses import asdict, dataclass, replace

from casewise.choices import PowerInputs, PowerTest
from casewise.dataset._power_inputs import (
    OF_CONTEXTS,
    Unknown,
    check_inputs,
    find_unknown,
)
from casewise.dataset._power_problems import (
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
    contexts: int | None = None
    """Contexts of each query, where the plan is for any number of them."""
    half_width: float | None = None
    """Half the width of the interval of the figure, with the rounded count; None elsewhere."""
    holds_to: int | None = None
    """With Fisher's test, the largest count that was seen to have the power as well."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Inputs and answers."""

    inputs: PowerInputs
    """As given, with every default that was used filled in."""
    answers: tuple[Answer, ...]
    """One; or one a direction or formula where several are worth knowing."""
    notes: tuple[str, ...]
    """Notes on the numbers, a sentence each."""


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
    return {
        "inputs": _given(plan.inputs),
        "answers": [_given(answer) for answer in plan.answers],
        "notes": list(plan.notes),
    }


def _given(record: PowerInputs | Answer) -> dict[str, object]:
    return {name: value for name, value in asdict(record).items() if value is not None}


def _with_defaults(inputs: PowerInputs) -> PowerInputs:
    """Fill in the defaults that the test uses, so that they are shown."""
    if inputs.test is PowerTest.PROPORTIONS:
        return replace(inputs, method=inputs.method or ProportionMethod.POOLED)
    if inputs.test is PowerTest.MANN_WHITNEY and inputs.superiority is None:
        return replace(inputs, parent=inputs.parent or Parent.NORMAL)
    if inputs.test is PowerTest.SEEN_CHANGE:
        alone = inputs.cases_per_query == 1
        return replace(inputs, rho=inputs.rho if inputs.rho is not None or alone else 0.0)
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
    effect = given_effect(inputs)
    holds_to = None
    if inputs.interval is not None:
        wanted = 1 - inputs.interval
        size = smallest_size(lambda n: 1 - problem.half_width(effect, n), wanted)
    elif inputs.method is ProportionMethod.EXACT:
        assert inputs.p1 is not None
        assert inputs.p2 is not None
        assert inputs.power is not None
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
        assert inputs.power is not None
        power = inputs.power
        size = smallest_size(lambda n: problem.power_of(effect, n), power)
    if math.isinf(size):
        wanted_text = (
            f"power {inputs.power:g}" if inputs.power else f"--interval {inputs.interval:g}"
        )
        small = "difference" if inputs.power else "interval"
        raise UsageError(
            f"{wanted_text} needs more than {MOST_SIZE:,.0f} {problem.counted}: "
            f"the {small} is too small"
        )
    needed = whole(size)
    return Answer(
        problem.counted,
        size,
        needed,
        needed * problem.arms,
        _known(problem.power_of(effect, needed)),
        holds_to=holds_to,
        contexts=problem.contexts,
        half_width=_known(problem.half_width(effect, needed)),
    )


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _power(inputs: PowerInputs, problem: Problem) -> Answer:
    assert inputs.n is not None
    effect = given_effect(inputs)
    power, half_width = (of(effect, inputs.n) for of in (problem.power_of, problem.half_width))
    if inputs.test is PowerTest.CONTEXT_SHARE:
        return Answer(Quantity.HALF_WIDTH, half_width, contexts=problem.contexts)
    return Answer(Quantity.POWER, power, contexts=problem.contexts, half_width=_known(half_width))


def _effects(inputs: PowerInputs, problems: list[Problem]) -> list[Answer]:
    """The smallest effect of each problem, those out of reach left out."""
    found = [_smallest_effect(inputs, problem) for problem in problems]
    answers = [answer for answer in found if answer is not None]
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
    if math.isinf(found):
        return None
    half_width = _known(problem.half_width(found, n))
    shown = problem.shown(found)
    return Answer(problem.effect_name, shown, contexts=problem.contexts, half_width=half_width)


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


_OF_CONTEXTS = {
    PowerTest.RANK_AGREEMENT: "Found is what has an interval without 1/2, which is chance. Counted "
    "is with normal figures that never tie; of few votes many do, and their pairs order nothing.",
    PowerTest.PCC_WITHIN_QUERY: "Chance in votes makes the correlation smaller: give the one that "
    "is expected with so many votes a case.",
    PowerTest.CONTEXT_SHARE: "Counted is with normal figures. Verdicts are 0 or 1: see "
    "docs/method/statistics-appendix.md for how much wider their intervals are.",
    PowerTest.SEEN_CHANGE: "Each case in context stands beside the case of its query without one.",
}
"""Note on each plan of contexts."""


def _notes(given: PowerInputs, inputs: PowerInputs, answers: list[Answer]) -> list[str]:
    notes = []
    if inputs.method is ProportionMethod.EXACT:
        notes.append("Fisher's exact test decides; its power is summed over all outcomes.")
    if inputs.test in _OF_CONTEXTS:
        notes.append(_OF_CONTEXTS[inputs.test])
    if inputs.test is not PowerTest.PAIRS and inputs.test not in OF_CONTEXTS:
        return notes
    if inputs.margin is not None:
        notes.append(
            "Power is the chance that a model equal to the other is shown not to be worse by the "
            "margin, in the test of casewise gate; one-sided."
        )
    if given.rho is None and inputs.rho is not None:
        why = "if models differ on both or on neither, more queries are needed."
        if inputs.test is PowerTest.SEEN_CHANGE:
            why = "they share the verdict without a context, so more queries are needed if it tips."
        notes.append(f"Without --rho, the cases of one query are taken as unrelated; {why}")
    queries = inputs.n or min((one.needed for one in answers if one.needed), default=None)
    if queries is not None and queries < FEW_QUERIES:
        notes.append(
            f"Fewer than {FEW_QUERIES} queries: the normal distribution, on which this rests, "
            "promises too much power."
        )
    return notes
