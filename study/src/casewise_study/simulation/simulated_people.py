"""Simulated people: how they judge, how long they take, and what they overlook."""

from dataclasses import astuple, dataclass
from enum import StrEnum
from functools import lru_cache
from math import exp, sqrt

import numpy as np
from scipy.special import expit, logit

from casewise.cases import Side
from casewise_study.study.reading_times import USUAL
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases

LENIENCY = 0.4
"""Standard deviation of people's leniency, in logits."""

PANEL_SHIFT = 1.2
"""Shift of a biased panel in everybody's leniency, in logits."""

SLIP = 0.02
"""Share of attention checks that an honest person misses."""

CARELESS_SLIP = 0.5

HONEST_SPREAD = 0.45
"""Spread of the logarithm of an honest person's time for a page; the median is the usual time that
its words take."""

CARELESS_SECONDS = (1.5, 0.4)
"""Median and spread (of the logarithm) of the time of who doesn't read."""


class Manner(StrEnum):
    """Manner of a person's answers.

    ``honest`` weighs each case; ``careless`` answers at random, quickly; ``adversarial`` says the
    opposite of what it thinks, unhurried, and passes the checks; ``biased`` is honest, and
    comes from a panel that sees everything more leniently.
    """

    HONEST = "honest"
    CARELESS = "careless"
    ADVERSARIAL = "adversarial"
    BIASED = "biased"


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of each manner, in the order of ``Manner``, which add up to 1."""

    honest: float = 1.0
    careless: float = 0.0
    adversarial: float = 0.0
    biased: float = 0.0


@dataclass
class SimulatedPerson:
    """One person. The same seed and number make the same person, with the same answers."""

    number: int
    manner: Manner
    leniency: float
    draw: np.random.Generator

    @property
    def name(self) -> str:
        """The pseudonym."""
        return f"r{self.number:04d}"

    def verdict(self, p_safe: float) -> Side:
        """Verdict of this person on a case that a share ``p_safe`` of honest people call safe."""
        is_careless = self.manner is Manner.CARELESS
        chance = 0.5 if is_careless else shifted(p_safe, self.leniency)
        says_safe = self.draw.random() < chance
        return "safe" if says_safe != (self.manner is Manner.ADVERSARIAL) else "unsafe"

    def check(self, expected: Side) -> Side:
        """The answer to an attention check."""
        slip = CARELESS_SLIP if self.manner is Manner.CARELESS else SLIP
        if self.draw.random() >= slip:
            return expected
        return "unsafe" if expected == "safe" else "safe"

    def seconds(self, words: int) -> float:
        """Seconds that this person looks at a page of so many words."""
        median, spread = USUAL.seconds(words), HONEST_SPREAD
        if self.manner is Manner.CARELESS:
            median, spread = CARELESS_SECONDS
        return float(median * exp(spread * self.draw.standard_normal()))


def make_person(number: int, mixture: Mixture, seed: int) -> SimulatedPerson:
    """The person of a number: manner and leniency are drawn by seed and number alone."""
    draw = np.random.default_rng((seed, number))
    manner = tuple(Manner)[draw.choice(len(Manner), p=astuple(mixture))]
    leniency = LENIENCY * draw.standard_normal()
    if manner is Manner.BIASED:
        leniency += PANEL_SHIFT
    return SimulatedPerson(number, manner, float(leniency), draw)


def shifted(p: float, leniency: float) -> float:
    """The chance ``p`` of a person of mean leniency, for one of another, on the logit scale."""
    return float(expit(logit(p) + leniency))


@lru_cache(maxsize=4096)
def marginal_rate(p: float) -> float:
    """The share of honest people who say safe, over their leniencies: the rate to be recovered.

    By Gauss-Hermite quadrature of 40 nodes.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    return float(weights @ expit(logit(p) + LENIENCY * nodes) / sqrt(2 * np.pi))


def true_rates(study: Study, seed: int) -> tuple[float, ...]:
    """For each cell, the share of people of mean leniency who say safe.

    Of cases with votes their share, a vote added to either side; of others a draw: most queries
    are clear in their contexts, and open without one.
    """
    draw = np.random.default_rng((seed, 0xCA5E))
    shape = {"safe": (6.0, 2.0), "unsafe": (2.0, 6.0)}
    rates = []
    for case, cell in zip(study_cases(study), study.design.cells, strict=True):
        drawn = float(draw.beta(*shape.get(cell.arm, (2.0, 2.0))))
        safe, unsafe = case.votes_safe or 0, case.votes_unsafe or 0
        rates.append((safe + 1) / (safe + unsafe + 2) if safe + unsafe else drawn)
    return tuple(rates)
