"""The front door: what a set of cases and its votes are worth, and what a study needs."""

from casewise._front_result import Audit, Cases, Description, Power, case_set, choose
from casewise.dataset import (
    PowerInputs,
    PowerTest,
    WeighBy,
    audit_cases,
    describe_cases,
    plan_power,
)


def describe(cases: Cases, *, seed: int = 0, weigh_by: str = "query") -> Description:
    """Describe the human side of a data set: do people agree, is it sound?

    Args:
        cases: A name, a file, or cases.
        seed: Seed of the simulations.
        weigh_by: What weighs alike in figures of pairs of contexts: ``query`` or ``pair``.

    Raises:
        InputError: The file can't be used.
        UsageError: ``weigh_by`` is neither.
    """
    weighing = choose(WeighBy, weigh_by, "weigh_by")
    return Description(describe_cases(case_set(cases), seed=seed, weigh_by=weighing))


def audit(cases: Cases, *, seed: int = 0) -> Audit:
    """Look for what is wrong with a set of cases, before anybody judges them; no model is run.

    Args:
        cases: A name, a file, or cases.
        seed: Seed of folds and hashing.

    Raises:
        InputError: The file can't be used.
    """
    return Audit(audit_cases(case_set(cases), seed=seed))


def power(
    test: str,
    *,
    effect: float | None = None,
    n: int | None = None,
    power: float | None = None,
    alpha: float = 0.05,
    two_sided: bool = True,
    p1: float | None = None,
    p2: float | None = None,
    margin: float | None = None,
    discordance: float | None = None,
    sd: float | None = None,
    rho: float | None = None,
    cases_per_query: int | None = None,
) -> Power:
    """Work out how many votes, cases or pairs a study needs, or what a number can show.

    Of the difference, the number (``n``) and the power, give two: the third is worked out.

    Args:
        test: ``proportions`` (votes on two cases) or ``pairs`` (two models).
        effect: The difference of two accuracies to find, 0..1 (``pairs``).
        n: Votes a case; for ``pairs``, queries.
        power: The chance of finding the difference, in 0..1.
        alpha: The chance of finding a difference where there is none.
        two_sided: Whether a difference in either direction is looked for.
        p1: Share of safe votes on the one case, 0..1.
        p2: Share of safe votes on the other.
        margin: What the second model may be worse by, 0..1, instead of ``effect`` (``pairs``).
        discordance: Share of cases on which just one of the models is right, 0..1.
        sd: Standard deviation of a case's difference, instead of ``discordance``.
        rho: Correlation of the differences of the two cases of a pair; None is 0.
        cases_per_query: 2 for pairs (None), 1 for cases each with a query of its own.

    Raises:
        UsageError: What was given is too little, too much, or out of range.
    """
    given = dict(locals())
    given["test"] = choose(PowerTest, test, "test")
    return Power(plan_power(PowerInputs(**given)))
