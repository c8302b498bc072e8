"""Votes collected until a majority is decided, beside the fixed number on the same cases."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from casewise_study.statistics.stopping import Boundary, first_votes


@dataclass(frozen=True, slots=True)
class DesignErrors:
    """Votes and errors of a way to collect them, over drawn studies."""

    votes: float
    """Votes on a cell."""
    labels: float
    """Share of majorities that are not that of all people, 0..1; a tie is half a one."""
    share: float
    """Root of the mean square of a cell's share of safe votes less that of all people, 0..1."""
    mean: float
    """The same of the mean share over cells."""


@dataclass(frozen=True, slots=True)
class Savings:
    """Fixed and sequential collection of the same votes, in drawn studies."""

    fixed: DesignErrors
    """Errors where shares are those of all votes."""
    sequential: DesignErrors
    """Errors where shares are those of first votes."""

    @property
    def saved(self) -> float:
        """Share of votes that the rule does without, 0..1."""
        return 1 - self.sequential.votes / self.fixed.votes


def draw_savings(
    rule: Boundary, rates: Sequence[float], votes: int, *, seed: int, draws: int = 50
) -> Savings:
    """Draw the votes of whole studies, and stop each cell by the rule.

    Votes come one at a time; with many people at once some come after a cell was decided.

    Args:
        rule: The rule.
        rates: (cells,) the share of people who say safe.
        votes: On each cell; at most, in the sequential design.
        seed: Of the draws.
        draws: How many studies.
    """
    random, truth = np.random.default_rng((seed, 0x5E9)), np.asarray(rates)
    numbers, needed = np.arange(1, votes + 1), rule.majorities(votes)[1:]
    errors = np.zeros((2, 4))
    for _ in range(draws):
        full = (random.random((len(truth), votes)) < truth[:, None]).astype(np.int64)
        yes = full.cumsum(axis=1)
        decided = np.maximum(yes, numbers - yes) >= needed
        ends = np.where(decided.any(axis=1), decided.argmax(axis=1) + 1, votes)
        safe = yes[np.arange(len(yes)), ends - 1]
        first = first_votes(safe.astype(float), (ends - safe).astype(float), rule).safe
        whole = yes[:, -1]
        designs = (whole, np.full(len(truth), votes), whole / votes), (safe, ends, first)
        for sums, (yes_votes, number, shares) in zip(errors, designs, strict=True):
            off, right = shares - truth, np.sign(2 * yes_votes - number) * np.sign(2 * truth - 1)
            sums += [number.mean(), ((1 - right) / 2).mean(), (off**2).mean(), off.mean() ** 2]
    means = (errors / draws).tolist()
    return Savings(
        *(
            DesignErrors(number, labels, share**0.5, mean**0.5)
            for number, labels, share, mean in means
        )
    )
