"""Simulated people: how they judge, how long they take, what they overlook and report."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from math import exp, sqrt

import numpy as np
from scipy.special import expit, logit

from casewise.cases import Side
from casewise_study.study.page_signals import PageWatch
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

MACHINE_SPREAD, MACHINE_LIKENESS = 4.0, 0.6
"""Spread of a language model's log-odds over cases, and their correlation with people's: surer than
any person, and right about most of what people are sure of."""


CLICKS = (3.0, 4.0)
"""Seconds between the clicks of who answers at random and reads nothing, least and most."""

SAME_SECONDS = (30.0, 0.05)
"""Median and spread (of the logarithm) of a machine's time that goes by no words."""

LEAVES, COPIES = (1.0, 9.0), (0.5, 30.0)
"""Beta distributions of how often honest people leave a page meanwhile, and copy from one: guesses,
by which most do so on few pages, and one of 500 leaves more than half."""

AWAY_SECONDS = (20.0, 0.8)
"""Median and spread (of the logarithm) of the time for which a page is left."""

TRACED = 0.9
"""Share of the pages on which a machine leaves its trace."""


class Trace(StrEnum):
    """Trace that a machine leaves beside its verdicts; ``none`` leaves nothing.

    ``honeypot`` follows the hidden text, ``left`` goes to another window, ``copied`` copies the
    case, ``times`` takes as long whatever the words are, ``tool`` says so at the end.
    """

    NONE = "none"
    HONEYPOT = "honeypot"
    LEFT = "left"
    COPIED = "copied"
    TIMES = "times"
    TOOL = "tool"


class Manner(StrEnum):
    """Manner of a person's answers.

    ``honest`` weighs each case; ``careless`` answers at random, quickly; ``adversarial`` says the
    opposite of what it thinks, unhurried, and passes the checks; ``biased`` is honest, and
    comes from a panel that sees everything more leniently; ``machine`` takes a person's time,
    passes the checks, and answers by the language model that all of this manner ask; ``clicking``
    answers at random every 3 to 4 seconds.
    """

    HONEST = "honest"
    CARELESS = "careless"
    ADVERSARIAL = "adversarial"
    BIASED = "biased"
    MACHINE = "machine"
    CLICKING = "clicking"


RANDOM = (Manner.CARELESS, Manner.CLICKING)
"""Manners of people who read nothing."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Shares of each manner, in the order of ``Manner``, which add up to 1."""

    honest: float = 1.0
    careless: float = 0.0
    adversarial: float = 0.0
    biased: float = 0.0
    machine: float = 0.0
    clicking: float = 0.0


@dataclass
class SimulatedPerson:
    """One person. The same seed and number make the same person, with the same answers."""

    number: int
    manner: Manner
    leniency: float
    draw: np.random.Generator
    hands: np.random.Generator
    """For what the page counts, so that the same people judge alike whether it counts or not."""
    trace: Trace = Trace.NONE

    @property
    def name(self) -> str:
        """The pseudonym."""
        return f"r{self.number:04d}"

    def verdict(self, p_safe: float, p_machine: float = 0.5) -> Side:
        """Verdict of this person on a case that a share ``p_safe`` of honest people call safe.

        A language model calls it safe in a share ``p_machine`` of answers.
        """
        chance = shifted(p_safe, self.leniency)
        if self.manner in RANDOM:
            chance = 0.5
        elif self.manner is Manner.MACHINE:
            chance = p_machine
        says_safe = self.draw.random() < chance
        return "safe" if says_safe != (self.manner is Manner.ADVERSARIAL) else "unsafe"

    def check(self, expected: Side) -> Side:
        """The answer to an attention check."""
        slip = CARELESS_SLIP if self.manner in RANDOM else SLIP
        if self.draw.random() >= slip:
            return expected
        return "unsafe" if expected == "safe" else "safe"

    def seconds(self, words: int) -> float:
        """Seconds that this person looks at a page of so many words."""
        if self.manner is Manner.CLICKING:
            return float(self.draw.uniform(*CLICKS))
        if self.manner is Manner.CARELESS:
            median, spread = CARELESS_SECONDS
        elif self.trace is Trace.TIMES:
            median, spread = SAME_SECONDS
        else:
            median, spread = USUAL.seconds(words), HONEST_SPREAD
        return float(median * exp(spread * self.draw.standard_normal()))

    def watched(self) -> PageWatch:
        """Counts of the page's script."""
        leaves, copies = self._habits
        left, away = 0, 0.0
        if self.hands.random() < (TRACED if self.trace is Trace.LEFT else leaves):
            median, spread = AWAY_SECONDS
            left, away = 1, round(median * exp(spread * self.hands.standard_normal()), 1)
        copied = self.hands.random() < (TRACED if self.trace is Trace.COPIED else copies)
        return PageWatch(left, away, int(copied), 0)

    @cached_property
    def _habits(self) -> tuple[float, float]:
        return float(self.hands.beta(*LEAVES)), float(self.hands.beta(*COPIES))

    @property
    def tool(self) -> str:
        """Share of the answers that a tool gave, by this person's word: all or none."""
        return "all" if self.trace is Trace.TOOL else "none"

    def follows(self) -> bool:
        """Tell whether this person does what a page's hidden text says."""
        return self.trace is Trace.HONEYPOT and self.hands.random() < TRACED


def make_person(
    number: int, mixture: Mixture, seed: int, turns: Iterator[Trace] | None = None
) -> SimulatedPerson:
    """The person of a number: manner and leniency are drawn by seed and number alone.

    A machine leaves the next of the traces in ``turns``; without any, none.
    """
    draw = np.random.default_rng((seed, number))
    manner = tuple(Manner)[draw.choice(len(Manner), p=astuple(mixture))]
    leniency = LENIENCY * draw.standard_normal()
    if manner is Manner.BIASED:
        leniency += PANEL_SHIFT
    trace = next(turns) if turns and manner is Manner.MACHINE else Trace.NONE
    hands = np.random.default_rng((seed, number, 1))
    return SimulatedPerson(number, manner, float(leniency), draw, hands, trace)


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


def machine_rates(rates: Sequence[float], seed: int) -> tuple[float, ...]:
    """For each cell, how often a language model says safe that thinks in part as people do."""
    odds = logit(np.clip(rates, 0.01, 0.99))
    likeness = MACHINE_LIKENESS * (odds - odds.mean()) / (odds.std() or 1.0)
    own = sqrt(1 - MACHINE_LIKENESS**2) * np.random.default_rng((seed, 0xA1)).normal(size=len(odds))
    return tuple(expit(odds.mean() + MACHINE_SPREAD * (likeness + own)).tolist())
