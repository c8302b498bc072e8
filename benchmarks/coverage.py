"""Populations drawn by a formula, for ``make coverage``: cases and votes shaped as CASE-Bench's.

Two models, before and after, are too cautious, nearly always sure, or calibrated; their verdicts
stand as judgements and as replies. ``hostile.py --part drawn`` draws studies from them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import beta, norm

from casewise.cases import Labels
from casewise.measures import Answers
from casewise.statistics import Clusters

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

VOTES = 20
QUERIES = 5000
"""Queries of a population, each with a case meant safe and one meant unsafe."""


@dataclass(frozen=True)
class Models:
    """Two models, before and after, over cases shaped as CASE-Bench's are."""

    name: str
    lean: float
    """What the models add to the logit of safe: below 0 they are over-cautious."""
    arm: float
    """How far the two types of context are apart for them."""
    follow: float
    """How far they follow people within a type of context."""
    noise: float
    sure: float
    """What logits are multiplied by: above 1 probabilities lie near 0 and 1."""
    change: float = 0.5
    """What the model after adds to the logit of safe."""


POPULATIONS = (
    Models("cautious", lean=-1.2, arm=1.3, follow=0.25, noise=0.8, sure=0.8),
    Models("sure", lean=-0.2, arm=2.2, follow=0.2, noise=1.2, sure=5.0, change=0.4),
    Models("calibrated", lean=-0.3, arm=0.85, follow=0.35, noise=0.3, sure=0.99, change=0.15),
)

_GRID = np.linspace(-6, 6, 2001)
_RATES = [beta.ppf(norm.cdf(_GRID), a, b) for a, b in ((10.5, 6.1), (7.0, 21.7))]
"""The rate at which people call a case safe, by arm: beta, as fitted to CASE-Bench's votes."""


def drawn(seed: int) -> Iterator[tuple[str, Answers, Answers]]:
    """Each population's name, and its answers before and after."""
    for models in POPULATIONS:
        judged, replied = _draw(models, np.random.default_rng(seed))
        yield f"{models.name} models judging", *judged
        yield f"{models.name} models replying", *replied


def _draw(models: Models, rng: np.random.Generator) -> tuple[list[Answers], list[Answers]]:
    """Judgements and replies, before and after."""
    shape = (QUERIES, 2)
    hard = rng.standard_normal((QUERIES, 1))
    people = (0.5 * hard + np.sqrt(0.75) * rng.standard_normal(shape)).clip(-6, 6)
    rate = np.stack([np.interp(people[:, k], _GRID, _RATES[k]) for k in (0, 1)], axis=1)
    votes = rng.binomial(VOTES, rate).astype(np.float64)
    of_query = rng.standard_normal((QUERIES, 1))
    own = 0.6 * of_query + 0.8 * rng.standard_normal(shape)
    logit = models.lean + models.arm * np.array([1.0, -1.0]) + models.follow * people
    before = logit + models.noise * own
    other = 0.6 * rng.standard_normal((QUERIES, 1)) + 0.8 * rng.standard_normal(shape)
    after = logit + models.change + models.noise * (0.9 * own + np.sqrt(0.19) * other)
    judged, replied = [], []
    for u in (before, after):
        p = expit(models.sure * u)
        # A score of 1 to 10, as its protocol reads it; a probability with the digits of a float.
        p = (np.clip(np.ceil(10 * p), 1, 10) - 0.5) / 10 if models.sure < 1 else p
        judged.append(_answers("probability", (p > 0.5).astype(float), p, votes))
        helped = np.where(np.abs(u) < 0.2, 0.5, u > 0)
        replied.append(_answers("respond", helped, np.full(shape, np.nan), votes))
    return judged, replied


def _answers(protocol: str, verdict: FloatArray, p: FloatArray, votes: FloatArray) -> Answers:
    share = (votes / VOTES).ravel()
    truth = Labels(share, np.where(share == 0.5, 0.5, share > 0.5))
    pairs = np.arange(verdict.size).reshape(-1, 2)
    return replace(
        answers_of(truth, p.ravel(), np.repeat(np.arange(QUERIES), 2)),
        protocol=protocol,
        verdict=verdict.ravel(),
        intended=np.tile(np.array(["safe", "unsafe"]), QUERIES),
        pairs=pairs,
        all_pairs=pairs,
        votes_safe=votes.ravel(),
        votes_unsafe=VOTES - votes.ravel(),
    )


NO_PAIRS = np.empty((0, 2), np.int64)


def answers_of(truth: Labels, p_safe: FloatArray, query: IntArray) -> Answers:
    """Answers of a judge that gives probabilities, without an intended side or votes."""
    n = len(p_safe)
    none = np.full(n, math.nan)
    return Answers(
        protocol="probability",
        truth=truth,
        verdict=(p_safe > 0.5).astype(float),
        tool_call=None,
        p_safe=p_safe.astype(float),
        read=np.ones(n, bool),
        clusters=Clusters(query.astype(np.int64), int(query.max()) + 1),
        intended=np.full(n, ""),
        pairs=NO_PAIRS,
        all_pairs=every_two(query),
        epoch=np.zeros(n, np.int64),
        votes_safe=none,
        votes_unsafe=none,
    )


def every_two(query: IntArray) -> IntArray:
    """Places of every two rows of one query. Shape ``(pairs, 2)``."""
    first, second = np.nonzero(np.triu(query[:, None] == query[None], 1))
    return np.stack([first, second], axis=1).astype(np.int64)
