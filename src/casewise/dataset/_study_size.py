"""Votes, cases, pairs or epochs that a study needs, and the power of a given number.

Each test is a function of effect and size, solved for the one that is not given.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from casewise.choices import PowerInputs, PowerTest
from casewise.dataset._power_inputs import (
    OF_CONTEXTS,
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
    context_share_error,
    fisher_size,
    mann_whitney_power,
    noether_power,
    noninferiority_power,
    normal_power,
    paired_power,
    proportions_power,
    rank_error,
    smallest_effect,
    smallest_size,
    t_power,
    whole,
    within_degrees,
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
    """Cautions about the numbers, a sentence each."""


def plan_power(inputs: PowerInputs) -> Plan:
    """Work out the one of size, power, effect and epochs that was left out.

    Raises:
        UsageError: What is given is out of range, too little, too much, or can't be reached.
    """
    check_inputs(inputs)
    unknown = find_unknown(inputs)
    given, inputs = inputs, _with_defaults(inputs)
    problems = _problems(inputs)
    match unknown:
        case Unknown.SIZE:
            answers = [_size(inputs, problem) for problem in problems]
        case Unknown.POWER:
            answers = [_power(inputs, problem) for problem in problems]
        case Unknown.EFFECT:
            answers = _effects(inputs, problems)
        case Unknown.EPOCHS:
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
    cases, rho = inputs.cases_per_query, inputs.rho
    match inputs.test:
        case PowerTest.PROPORTIONS:
            return replace(inputs, method=inputs.method or ProportionMethod.POOLED)
        case PowerTest.MANN_WHITNEY if inputs.superiority is None:
            return replace(inputs, parent=inputs.parent or Parent.NORMAL)
        case PowerTest.SEEN_CHANGE:
            return replace(inputs, rho=rho if cases == 1 else rho or 0.0)
        case PowerTest.PAIRS:
            return replace(
                inputs,
                two_sided=inputs.two_sided and inputs.margin is None,
                cases_per_query=cases or 2,
                rho=rho if cases == 1 else rho or 0.0,
            )
    return inputs


# --- problems -----------------------------------------------------------------------------------

Formula = Callable[[float, float], float]
"""A figure by effect and size."""


def _unknown(_effect: float, _size: float) -> float:
    """NaN, for a figure that is not planned for."""
    return math.nan


@dataclass(frozen=True, slots=True)
class _Problem:
    """A test's power by effect and size, and the names of both."""

    power_of: Formula
    """Power, rising in both."""
    effect_name: Quantity
    most_effect: float
    shown: Callable[[float], float] = lambda effect: effect
    """The effect as people name it."""
    counted: Quantity = Quantity.VOTES
    arms: int = 2
    """Factor of a size for the total."""
    contexts: int | None = None
    """Contexts of a query, where the study is about any number of them."""
    half_width: Formula = _unknown
    """Half the width of the figure's interval, falling with the size; NaN: not planned for."""


def _problems(inputs: PowerInputs) -> list[_Problem]:
    """The problem that inputs pose; several if an effect is asked for that has several names."""
    level = Level(inputs.alpha, inputs.two_sided)
    match inputs.test:
        case PowerTest.T:
            return [_Problem(lambda d, n: t_power(d, n, level), Quantity.COHENS_D, math.inf)]
        case PowerTest.MANN_WHITNEY:
            return _mann_whitney(inputs, level)
        case PowerTest.PROPORTIONS:
            return _proportions(inputs, level)
        case PowerTest.PAIRS:
            return [_pairs(inputs)]
        case _:
            return _contexts(inputs, level)


def _mann_whitney(inputs: PowerInputs, level: Level) -> list[_Problem]:
    parent = inputs.parent or Parent.NORMAL
    by_shift = _Problem(
        lambda d, n: mann_whitney_power(d, n, level, parent), Quantity.COHENS_D, math.inf
    )
    by_chance = _Problem(
        lambda above, n: noether_power(0.5 + above, n, level),
        Quantity.SUPERIORITY,
        0.5,
        lambda above: 0.5 + above,
    )
    if inputs.superiority is not None:
        return [by_chance]
    return [by_shift] if inputs.effect is not None else [by_shift, by_chance]


def _proportions(inputs: PowerInputs, level: Level) -> list[_Problem]:
    p1, method = inputs.p1 or 0.0, inputs.method or ProportionMethod.POOLED

    def up(step: float, n: float) -> float:
        return proportions_power(p1, min(1.0, p1 + step), n, level, method)

    def down(step: float, n: float) -> float:
        return proportions_power(p1, max(0.0, p1 - step), n, level, method)

    above = _Problem(up, Quantity.P2_ABOVE, 1 - p1, lambda step: p1 + step)
    below = _Problem(down, Quantity.P2_BELOW, p1, lambda step: p1 - step)
    if inputs.p2 is not None:
        return [above if inputs.p2 > p1 else below]
    return [above] * (p1 < 1) + [below] * (p1 > 0)


def _pairs_power(inputs: PowerInputs, effect: float, queries: float, epochs: float) -> float:
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


def _pairs(inputs: PowerInputs) -> _Problem:
    cases, epochs = inputs.cases_per_query or 2, inputs.epochs or 1
    return _Problem(
        lambda effect, queries: _pairs_power(inputs, effect, queries, epochs),
        Quantity.DIFFERENCE,
        1.0 if inputs.discordance is None else inputs.discordance,
        counted={1: Quantity.CASES, 2: Quantity.PAIRS}.get(cases, Quantity.QUERIES),
        arms=cases,
    )


SEVERAL = {False: (2, 3, 5, 10), True: (1, 2, 3, 5)}
"""Contexts a query that are counted with where none are given; True is of ``seen-change``."""


def _contexts(inputs: PowerInputs, level: Level) -> list[_Problem]:
    """A problem for each number of contexts a query."""
    given = inputs.cases_per_query
    several = (given,) if given else SEVERAL[inputs.test is PowerTest.SEEN_CHANGE]
    problem = _correlation if inputs.test is PowerTest.PCC_WITHIN_QUERY else _figure
    found = [(k, problem(replace(inputs, cases_per_query=k), k, level)) for k in several]
    return [replace(one, counted=Quantity.QUERIES, arms=k, contexts=k) for k, one in found]


def _correlation(inputs: PowerInputs, k: int, level: Level) -> _Problem:
    critical = Level(inputs.alpha).critical

    def power_of(pcc: float, queries: float) -> float:
        return normal_power(math.atanh(pcc) * math.sqrt(within_degrees(queries, k)), level)

    def half_width(pcc: float, queries: float) -> float:
        z, half = math.atanh(pcc), critical / math.sqrt(within_degrees(queries, k))
        return (math.tanh(z + half) - math.tanh(z - half)) / 2

    return _Problem(power_of, Quantity.PCC_WITHIN_QUERY, 1 - 1e-9, half_width=half_width)


def _figure(inputs: PowerInputs, k: int, level: Level) -> _Problem:
    """A problem about a figure that is normal, with an error of its own."""
    critical = Level(inputs.alpha).critical

    def error(effect: float, queries: float) -> float:
        match inputs.test:
            case PowerTest.RANK_AGREEMENT:
                return rank_error(0.5 + effect, queries, k)
            case PowerTest.CONTEXT_SHARE:
                return context_share_error(effect, queries, k)
        return math.sqrt(paired_design(inputs, effect).query_variance(1) / queries)

    def power_of(effect: float, queries: float) -> float:
        size = error(effect, queries)
        return normal_power(effect / size, level) if size else 1.0

    def half_width(effect: float, queries: float) -> float:
        return critical * error(effect, queries)

    match inputs.test:
        case PowerTest.RANK_AGREEMENT:
            found = _Problem(
                power_of, Quantity.RANK_AGREEMENT, 0.5, shown=lambda above: 0.5 + above
            )
        case PowerTest.CONTEXT_SHARE:
            found = _Problem(_unknown, Quantity.HALF_WIDTH, 1.0)
        case _:
            found = _Problem(power_of, Quantity.SEEN_CHANGE, inputs.discordance or 1.0)
    return replace(found, half_width=half_width)


def _effect(inputs: PowerInputs) -> float:
    """The given effect on the scale of the problem."""
    if inputs.test is PowerTest.RANK_AGREEMENT and inputs.effect is not None:
        return inputs.effect - 0.5
    if inputs.p1 is not None and inputs.p2 is not None:
        return abs(inputs.p2 - inputs.p1)
    if inputs.superiority is not None:
        return abs(inputs.superiority - 0.5)
    effect = inputs.effect if inputs.margin is None else inputs.margin
    assert effect is not None
    return effect


# --- answers ------------------------------------------------------------------------------------


def _size(inputs: PowerInputs, problem: _Problem) -> Answer:
    effect, power = _effect(inputs), inputs.power
    holds_to = None
    if power is None:
        assert inputs.interval is not None
        wanted, small = f"--interval {inputs.interval:g}", "interval"
        size = smallest_size(lambda n: 1 - problem.half_width(effect, n), 1 - inputs.interval)
    else:
        wanted, small = f"power {power:g}", "difference"
        if inputs.method is ProportionMethod.EXACT:
            size, holds_to = _exact_size(inputs, power)
        else:
            size = smallest_size(lambda n: problem.power_of(effect, n), power)
    if math.isinf(size):
        raise UsageError(
            f"{wanted} needs more than {MOST_SIZE:,.0f} {problem.counted}: the {small} is too small"
        )
    needed = whole(size)
    return Answer(
        problem.counted,
        size,
        needed,
        needed * problem.arms,
        _known(problem.power_of(effect, needed)),
        problem.contexts,
        _known(problem.half_width(effect, needed)),
        holds_to,
    )


def _exact_size(inputs: PowerInputs, power: float) -> tuple[float, int]:
    """Votes that Fisher's test needs, and the largest number that was looked at."""
    assert inputs.p1 is not None
    assert inputs.p2 is not None
    exact = fisher_size(inputs.p1, inputs.p2, power, Level(inputs.alpha, inputs.two_sided))
    if math.isinf(exact.n):
        raise UsageError(
            f"more than {MOST_EXACT} votes a case, too many for --method exact; "
            "--method pooled is as good there"
        )
    return exact.n, int(exact.holds_to)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _power(inputs: PowerInputs, problem: _Problem) -> Answer:
    assert inputs.n is not None
    effect = _effect(inputs)
    power, half_width = (of(effect, inputs.n) for of in (problem.power_of, problem.half_width))
    if math.isnan(power):
        return Answer(Quantity.HALF_WIDTH, half_width, contexts=problem.contexts)
    return Answer(Quantity.POWER, power, contexts=problem.contexts, half_width=_known(half_width))


def _effects(inputs: PowerInputs, problems: list[_Problem]) -> list[Answer]:
    """The smallest effect of each problem, those out of reach left out."""
    n, power = inputs.n, inputs.power
    assert n is not None
    assert power is not None

    def smallest(problem: _Problem) -> Answer | None:
        most = problem.most_effect
        found = smallest_effect(lambda effect: problem.power_of(effect, n), power, most)
        if math.isinf(found):
            return None
        half_width, contexts = _known(problem.half_width(found, n)), problem.contexts
        shown = problem.shown(found)
        return Answer(problem.effect_name, shown, contexts=contexts, half_width=half_width)

    answers = list(filter(None, map(smallest, problems)))
    if not answers:
        raise UsageError(
            f"--n {n} is too few: not even the largest difference there can be is found "
            f"with power {power:g}"
        )
    return answers


def _epochs(inputs: PowerInputs) -> Answer:
    effect, queries, power = _effect(inputs), inputs.n, inputs.power
    assert queries is not None
    assert power is not None

    def power_of(epochs: float) -> float:
        return _pairs_power(inputs, effect, queries, epochs)

    best = power_of(math.inf)
    if best <= power:
        raise UsageError(
            f"no number of epochs gives power {power:g}: with --n {queries} even endless "
            f"epochs come to {best:.3f} only; more queries are needed"
        )
    size = smallest_size(power_of, power, least=1.0)
    if math.isinf(size):
        raise UsageError(f"power {power:g} needs more than {MOST_SIZE:,.0f} epochs")
    needed = whole(size)
    return Answer(Quantity.EPOCHS, size, needed, power=power_of(needed))


_CONTEXT_NOTES = {
    PowerTest.RANK_AGREEMENT: "An effect is found where its interval leaves out 1/2, which is "
    "chance. The counts hold for normal figures, which never tie; shares of few votes often do, "
    "and tied pairs order nothing.",
    PowerTest.PCC_WITHIN_QUERY: "Chance in votes makes the correlation smaller: give the one that "
    "you expect with so many votes a case.",
    PowerTest.CONTEXT_SHARE: "The counts hold for normal figures. Verdicts are 0 or 1: see "
    "docs/method/statistics-appendix.md for how much wider their intervals are.",
    PowerTest.SEEN_CHANGE: "Each case in context is compared with the case of its query without "
    "one.",
}
"""Note on the test of each plan of contexts."""


def _notes(given: PowerInputs, inputs: PowerInputs, answers: list[Answer]) -> list[str]:
    notes = []
    if inputs.method is ProportionMethod.EXACT:
        notes.append("Fisher's exact test decides; its power is summed over all outcomes.")
    if inputs.test in _CONTEXT_NOTES:
        notes.append(_CONTEXT_NOTES[inputs.test])
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
