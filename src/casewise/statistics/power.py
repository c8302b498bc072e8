"""Power: tests of pairs and shares, and the votes, cases or pairs that a study needs.

Each test is a function of effect and size, solved for the one that is not given.
"""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from statistics import NormalDist

from casewise.choices import PowerInputs, PowerTest
from casewise.errors import UsageError
from casewise.options import options_of
from casewise.statistics.bounds import null_variance

LEAST_SIZE = 2.0
"""The fewest votes, cases or pairs that are counted with: one alone has no spread."""

MOST_SIZE = 1e7
"""End of a search for a size; no study of people or cases is larger."""

LEAST_EFFECT = 1e-9
"""Start of a search for an effect."""

_ROUND_OFF = 1e-9
"""A size that is above a whole number by no more than this is that number."""


@dataclass(frozen=True, slots=True)
class Level:
    """Significance level of a test, and its sides."""

    alpha: float
    """Chance of finding a difference where there is none, above 0 and below 1."""
    two_sided: bool = True
    """True if a difference in either direction would be reported."""

    @property
    def tail(self) -> float:
        """The part of alpha in one tail."""
        return self.alpha / 2 if self.two_sided else self.alpha

    @property
    def critical(self) -> float:
        """The normal quantile that a standardised difference must pass."""
        return NormalDist().inv_cdf(1 - self.tail)


def normal_power(shift: float, level: Level) -> float:
    """Power of a normal test whose statistic lies ``shift`` standard errors from 0.

    Both tails count if the test is two-sided, so that a shift of 0 gives alpha.
    In 0..1, rising with the shift.
    """
    cdf = NormalDist().cdf
    far = cdf(-shift - level.critical) if level.two_sided else 0.0
    return cdf(shift - level.critical) + far


def smallest(power_of: Callable[[float], float], power: float, least: float, most: float) -> float:
    """The smallest size, not rounded, or effect that has a power.

    Args:
        power_of: Power by size or effect, rising.
        power: Power in 0..1.
        least: Start of the search.
        most: End of it.

    Returns:
        At least ``least``; infinite if ``most`` has not the power.
    """
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.optimize import brentq

    below, above = least, least
    while power_of(above) < power:
        if above >= most:
            return math.inf
        below, above = above, min(2 * above, most)
    if above == least:
        return least
    return float(brentq(lambda x: power_of(x) - power, below, above, xtol=1e-12, rtol=1e-12))


@dataclass(frozen=True, slots=True)
class PairedDesign:
    """Spread of the difference of two models over cases and queries.

    Of one case, the difference is 1 (only the first model is right), -1 or 0.
    """

    variance: float
    """Variance of a case's difference, above 0."""
    rho: float = 0.0
    """Correlation of the differences of two cases of one query, at most 1."""
    cases: int = 2
    """Cases a query, 1 and up."""

    @property
    def possible(self) -> bool:
        """Tell whether such variances exist: that of a query is not below 0."""
        return 1 + (self.cases - 1) * self.rho >= 0

    @property
    def query_variance(self) -> float:
        """Variance of a query's mean difference, by the design effect of Kish (1965).

        ``variance / m (1 + (m - 1) rho)`` for ``m`` cases.
        """
        return max(0.0, self.variance / self.cases * (1 + (self.cases - 1) * self.rho))


def paired_power(difference: float, queries: float, design: PairedDesign, level: Level) -> float:
    """Power of the normal test of a mean difference, clustered by query.

    Miller (2024), arXiv 2411.00640, section 5. It trusts the normal distribution of the mean, so
    it promises too much below some 30 queries.

    Args:
        difference: The difference of the accuracies, 0..1.
        queries: Number of queries; need not be whole.
        design: The spread.
        level: The test's level.
    """
    error = math.sqrt(design.query_variance / queries)
    if not error:
        return 1.0 if difference else level.alpha
    return normal_power(difference / error, level)


def noninferiority_power(
    margin: float, clusters: float, variance: float, step: float | None, level: Level
) -> float:
    """Chance that a model equal to the baseline is shown to be within the margin.

    The test is that of ``paired_share_bounds``, or with ``step`` None of ``student_bounds``, both
    with the normal in place of Student's t: it promises too much below some 30 clusters.

    Args:
        margin: What the model may be worse by, above 0.
        clusters: Number of queries; need not be whole.
        variance: Of a query's mean difference between equal models, above 0.
        step: How far a query's mean moves if it moves, above 0; None for figures that are no
            proportions.
        level: One-sided.

    Returns:
        In 0..1, rising with ``clusters``; 0 where even runs that are all alike would be too few.
    """
    error = math.sqrt(variance / clusters)
    if step is None:
        return normal_power(margin / error, level)
    # Where nothing moved, 1 - alpha^(1 / clusters) of the queries may still be worse.
    if margin < 1 and (1 - margin) ** clusters > level.tail:
        return 0.0
    half = min(1.0, variance / step**2) / 2
    null = step * math.sqrt(null_variance(half, half, -min(1.0, margin / step)) / clusters)
    return NormalDist().cdf((margin - level.critical * null) / error)


def proportions_power(p1: float, p2: float, n: float, level: Level) -> float:
    """Power of the pooled z-test to tell two shares apart, with groups of equal size.

    With the pooled variance if there is no difference, and the two separate variances if there
    is; Fleiss, Levin & Paik (2003), Statistical Methods for Rates and Proportions, chapter 4,
    without continuity correction. As R's ``power.prop.test``.

    Args:
        p1: Share in the one group, 0..1.
        p2: Share in the other, 0..1.
        n: Size of each group; need not be whole.
        level: The test's level; a one-sided test looks in the direction of the difference.

    Returns:
        In 0..1; alpha where the shares are equal.
    """
    difference, mean = abs(p1 - p2), (p1 + p2) / 2
    if not difference:
        return level.alpha
    without = math.sqrt(2 * mean * (1 - mean))
    separate = math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    if not separate:
        # All against none: there is but one outcome.
        return float(math.sqrt(n) >= level.critical * without)
    cdf = NormalDist().cdf
    margin, shift = level.critical * without, difference * math.sqrt(n)
    far = cdf((-shift - margin) / separate) if level.two_sided else 0.0
    return cdf((shift - margin) / separate) + far


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

    def find_size(self, effect: float, power: float) -> Answer:
        """The size that finds an effect with a power.

        Raises:
            UsageError: None does.
        """
        size = smallest(lambda n: self.power_of(effect, n), power, LEAST_SIZE, MOST_SIZE)
        if math.isinf(size):
            raise UsageError(
                f"power {power:g} needs more than {MOST_SIZE:,.0f} {self.counted}: the difference "
                "is too small"
            )
        needed = math.ceil(size - _ROUND_OFF * max(1.0, size))
        reached = self.power_of(effect, needed)
        return Answer(self.counted, size, needed, needed * self.arms, reached)

    def find_effect(self, n: float, power: float) -> list[Answer]:
        """The effect that a size finds with a power; empty if the largest is not found."""
        least = smallest(lambda size: self.power_of(size, n), power, LEAST_EFFECT, self.most_effect)
        return [Answer(self.effect_name, self.shown(least))] if math.isfinite(least) else []


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

    def set_fields(record: PowerInputs | Answer) -> dict[str, object]:
        return {name: value for name, value in asdict(record).items() if value is not None}

    return {
        "inputs": set_fields(plan.inputs),
        "answers": list(map(set_fields, plan.answers)),
        "notes": list(plan.notes),
    }


def _answers(inputs: PowerInputs) -> tuple[Answer, ...]:
    """Answers to what is left out: size, power, or the effects that can be found."""
    problems = [_pairs(inputs)] if inputs.test is PowerTest.PAIRS else _proportions(inputs)
    effect, n, power = _effect(inputs), inputs.n, inputs.power
    if effect is not None and n is not None:
        return tuple(Answer(Quantity.POWER, problem.power_of(effect, n)) for problem in problems)
    assert power is not None
    if effect is not None:
        return tuple(problem.find_size(effect, power) for problem in problems)
    assert n is not None
    answers = tuple(answer for problem in problems for answer in problem.find_effect(n, power))
    if not answers:
        raise UsageError(
            f"--n {n} is too few: not even the largest difference there can be is found "
            f"with power {power:g}"
        )
    return answers


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

    def difference_power(effect: float, queries: float) -> float:
        return paired_power(effect, queries, _design(inputs, effect), level)

    def margin_power(margin: float, queries: float) -> float:
        design = _design(inputs, 0.0)
        variance = design.query_variance
        step = None
        if inputs.discordance is not None:
            # Where both cases of a query flip together, it moves by more than one case's weight.
            step = max(variance / design.variance, 1 / design.cases)
        return noninferiority_power(margin, queries, variance, step, level) if variance else 1.0

    return _Problem(
        difference_power if inputs.margin is None else margin_power,
        Quantity.DIFFERENCE,
        inputs.discordance or 1.0,
        counted={1: Quantity.CASES, 2: Quantity.PAIRS}.get(cases, Quantity.QUERIES),
        arms=cases,
    )


def _design(inputs: PowerInputs, difference: float) -> PairedDesign:
    """The spread of the differences, from either way to give it.

    A case's difference is 1 or -1 with chance ``discordance`` in all, so its square has that mean,
    and ``discordance - difference^2`` is its variance.
    """
    variance = (inputs.discordance or 0.0) - difference**2
    if inputs.sd is not None:
        variance = inputs.sd**2
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

_OPEN = {"alpha": (0, 1), "margin": (0, 1), "effect": (0,), "sd": (0,), "discordance": (0,)}
"""Ends of ranges at which nothing could be told."""


def _check(inputs: PowerInputs) -> None:
    """Refuse inputs that are out of range, too few or too many, or belong to another test.

    Raises:
        UsageError: Which option, and what it takes.
    """
    effect, options = _OWN[inputs.test]
    names = f"test n power alpha two_sided {options}".split()
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
    if inputs.test is PowerTest.PAIRS:
        _check_pairs(inputs)
    elif inputs.p1 is None:
        raise UsageError("--test proportions needs --p1, the share of safe votes on one case")
    elif inputs.p1 == inputs.p2:
        raise UsageError(f"--p1 and --p2 are both {inputs.p1:g}: there is no difference to find")
    quantities = {effect: _effect(inputs), "--n": inputs.n, "--power": inputs.power}
    left_out = [name for name, value in quantities.items() if value is None]
    if len(left_out) != 1:
        raise UsageError(
            f"too {'little' if left_out else 'much'} is given: two of {effect}, --n and --power "
            f"are needed, and the third is computed (left out: {', '.join(left_out) or 'none'})"
        )


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
