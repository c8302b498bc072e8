"""Inputs of a power analysis that ask for the 21 annotators a case of the CASE-Bench paper.

Sun et al. (ICML 2025), arXiv 2501.14940, took 21 from G*Power without saying what they put in. A
search over what they may have put in shows how much, or how little, the number 21 tells.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache, partial
from itertools import product

from casewise.choices import PowerTest
from casewise.statistics import (
    Level,
    Parent,
    ProportionMethod,
    fisher_power,
    fisher_size,
    mann_whitney_power,
    noether_power,
    proportions_power,
    smallest_size,
    t_power,
    whole,
)

PAPER_VOTES = 21

EFFECTS = (0.2, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
"""Cohen's small, medium and large d (.2, .5, .8), Sawilowsky's very large one (1.2), and between;
doi:10.22237/jmasm/1257035100."""

SUPERIORITIES = (0.6, 0.65, 0.7, 0.75, 0.8)
SHARES = tuple(tenth / 10 for tenth in range(1, 10))
ALPHAS = (0.05, 0.01)
POWERS = (0.8, 0.9, 0.95)
PARENTS = (Parent.NORMAL, Parent.MINIMUM)


@dataclass(frozen=True, slots=True)
class PaperInput:
    """A set of inputs that asks for 21."""

    test: PowerTest
    method: str
    """Name of the way of the test; empty for the t-test."""
    effect: str
    """The difference to be found, such as ``d = 0.8``."""
    alpha: float
    two_sided: bool
    power: float
    votes: float
    """Votes a case, not rounded (Fisher's test: whole)."""
    in_all: bool
    """True where both cases together need 21 votes, rounded up; else each does."""


@dataclass(frozen=True, slots=True)
class PaperSearch:
    """Number of inputs that were tried, and those that ask for 21."""

    tried: int
    """Number of sets of inputs."""
    found: tuple[PaperInput, ...]

    @property
    def each(self) -> tuple[PaperInput, ...]:
        """Inputs that ask for 21 votes on each case."""
        return tuple(paper_input for paper_input in self.found if not paper_input.in_all)

    @property
    def in_all(self) -> tuple[PaperInput, ...]:
        """Inputs that ask for 21 votes on both cases together."""
        return tuple(paper_input for paper_input in self.found if paper_input.in_all)


@dataclass(frozen=True, slots=True)
class _Way:
    """A test with its effect; level and power give the size that it needs."""

    test: PowerTest
    method: str
    effect: str
    votes: Callable[[Level, float], float]
    """Votes a case by level and power; NaN where they are known not to be 21."""


@cache
def search_paper_inputs() -> PaperSearch:
    """Try every set of plausible inputs for those that round up to 21."""
    tried, fitting = 0, []
    for way in _ways():
        for alpha, two_sided, power in product(ALPHAS, (False, True), POWERS):
            tried += 1
            votes = way.votes(Level(alpha, two_sided), power)
            for in_all in (False, True) if math.isfinite(votes) else ():
                if whole(2 * votes if in_all else votes) == PAPER_VOTES:
                    row = (alpha, two_sided, power, votes, in_all)
                    fitting.append(PaperInput(way.test, way.method, way.effect, *row))
    return PaperSearch(tried, tuple(fitting))


def as_paper_record(search: PaperSearch) -> dict[str, object]:
    """The search as plain values: the grid, how many were tried, and what was found."""
    return {
        "votes": PAPER_VOTES,
        "tried": search.tried,
        "grid": {
            "d": EFFECTS,
            "superiority": SUPERIORITIES,
            "p": SHARES,
            "alpha": ALPHAS,
            "power": POWERS,
            "two_sided": (False, True),
        },
        "found": [asdict(row) for row in search.found],
    }


def _ways() -> Iterator[_Way]:
    for d in EFFECTS:
        yield _Way(PowerTest.T, "", f"d = {d:g}", _sized(t_power, d))
    for parent, d in product(PARENTS, EFFECTS):
        ranks = partial(mann_whitney_power, parent=parent)
        yield _Way(PowerTest.MANN_WHITNEY, f"{parent} parent", f"d = {d:g}", _sized(ranks, d))
    for chance in SUPERIORITIES:
        sized = _sized(noether_power, chance)
        yield _Way(PowerTest.MANN_WHITNEY, "Noether", f"P(X<Y) = {chance:g}", sized)
    for method, p1, p2 in product(ProportionMethod, SHARES, SHARES):
        # (1 - p2, 1 - p1) is the same question; it is asked once.
        if p1 < p2 and p1 + p2 <= 1 + 1e-9:
            votes = _shares_sized(method, p1, p2)
            yield _Way(PowerTest.PROPORTIONS, method, f"p = {p1:g}, {p2:g}", votes)


def _sized(
    power_of: Callable[[float, float, Level], float], effect: float
) -> Callable[[Level, float], float]:
    return lambda level, power: smallest_size(lambda n: power_of(effect, n, level), power)


def _shares_sized(
    method: ProportionMethod, p1: float, p2: float
) -> Callable[[Level, float], float]:
    def by_formula(level: Level, power: float) -> float:
        return smallest_size(lambda n: proportions_power(p1, p2, n, level, method), power)

    def by_tables(level: Level, power: float) -> float:
        # Far cheaper than the search, which is then needed for a few only.
        reached = fisher_power(p1, p2, PAPER_VOTES, level) >= power
        before = fisher_power(p1, p2, PAPER_VOTES - 1, level) >= power
        return fisher_size(p1, p2, power, level).n if reached and not before else math.nan

    return by_tables if method is ProportionMethod.EXACT else by_formula
