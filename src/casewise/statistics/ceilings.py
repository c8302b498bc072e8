"""Scores made of votes alone: one person's, and the best that anybody could reach.

The best is that of a beta-binomial distribution of votes.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from casewise.statistics.estimates import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class OnePerson:
    """A single person, held against the others who judged the same case."""

    accuracy: float
    """Share of votes that agree with most of the others, 0..1; half where they are even. NaN where
    no case has two votes."""
    pcc: float
    """Correlation of the vote with the others' share, -1..1; NaN where votes or shares are all
    equal: a vote left out of its own share would then be its mirror image."""
    cases: int
    """Cases with two votes or more."""


def one_person(safe: FloatArray, unsafe: FloatArray) -> OnePerson:
    """Hold each vote against the other votes of its case, pooled over votes.

    A case counts once, however many votes it has, as it does for a model.

    Args:
        safe: Safe votes of each case. Shape ``(n,)``; NaN is none.
        unsafe: Unsafe votes. Shape ``(n,)``.
    """
    s, u = voted_counts(safe, unsafe)
    k = s + u
    s, u, k = s[k >= 2], u[k >= 2], k[k >= 2]
    if not len(s):
        return OnePerson(math.nan, math.nan, 0)
    # A safe vote faces s - 1 others who say safe and u who don't; an unsafe one s and u - 1.
    right = (s * (1 + np.sign(s - 1 - u)) + u * (1 + np.sign(u - 1 - s))) / 2 / k
    weights = np.concatenate([s, u]) / np.concatenate([k, k])
    votes = np.concatenate([np.ones_like(s), np.zeros_like(u)])
    others = np.concatenate([(s - 1) / (k - 1), s / (k - 1)])
    pcc = weighted_pearson(votes, others, weights) if np.ptp(s / k) > 0 else math.nan
    return OnePerson(float(right.mean()), pcc, len(s))


def voted_counts(safe: FloatArray, unsafe: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The counts of the cases that have votes. Shapes ``(n,)`` to ``(voted,)``."""
    s, u = np.asarray(safe, float), np.asarray(unsafe, float)
    kept = s + u > 0  # False of NaN
    return s[kept], u[kept]


def weighted_pearson(x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Pearson's correlation, NaN where a side is constant. Shapes ``(n,)``."""
    present = weights > 0
    if not present.any() or not np.ptp(x[present]) or not np.ptp(y[present]):
        return math.nan
    x, y = x - np.average(x, weights=weights), y - np.average(y, weights=weights)
    spread = math.sqrt(float((weights * x * x).sum()) * float((weights * y * y).sum()))
    return float((weights * x * y).sum()) / spread


MOST_CONCENTRATED = 1e6
"""The largest alpha + beta: all cases share one rate, as good as exactly."""

LEAST_CONCENTRATED = 1e-3
"""The smallest: every case is all safe or all unsafe, as good as exactly."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Cases with equal counts, taken together. Shapes ``(distinct,)``."""

    safe: FloatArray
    unsafe: FloatArray
    count: FloatArray
    """Cases that have these counts."""


@dataclass(frozen=True, slots=True)
class BetaBinomial:
    """Rates that are Beta(alpha, beta), and votes that are binomial given the rate.

    NaN where votes tell of no spread: fewer than two cases, no case with two votes, or all votes
    alike.
    """

    alpha: float
    beta: float


def tallies(safe: FloatArray, unsafe: FloatArray, groups: IntArray | None) -> Iterator[Tally]:
    """Count equal cases, a group at a time; cases without votes are passed over.

    Args:
        safe: Safe votes. Shape ``(n,)``; NaN is none.
        unsafe: Unsafe votes. Shape ``(n,)``.
        groups: A number for each case; None is one group. Shape ``(n,)``.
    """
    s, u = np.asarray(safe, float), np.asarray(unsafe, float)
    kept = s + u > 0  # False of NaN
    group = np.zeros(len(s), np.int64) if groups is None else groups
    for one in np.unique(group[kept]):
        here = kept & (group == one)
        # Complex numbers sort by their parts: one sort instead of one by rows, ten times slower.
        distinct, count = np.unique(s[here] + 1j * u[here], return_counts=True)
        yield Tally(distinct.real, distinct.imag, count.astype(float))


def fit_beta_binomial(tally: Tally) -> BetaBinomial:
    """Fit by maximum likelihood, from the moments on.

    Skellam (1948), doi:10.1111/j.2517-6161.1948.tb00014.x. Votes less spread than the binomial's
    end at ``MOST_CONCENTRATED``.
    """
    k, n = tally.safe + tally.unsafe, tally.count
    mean = float((n * tally.safe).sum() / (n * k).sum()) if n.sum() else math.nan
    if n.sum() < 2 or k.max() < 2 or mean in (0.0, 1.0):
        return BetaBinomial(math.nan, math.nan)
    from scipy.optimize import minimize

    limits = (math.log(LEAST_CONCENTRATED), math.log(MOST_CONCENTRATED))
    start = [math.log(mean / (1 - mean)), _concentration(tally, mean)]
    bounds = [(-15.0, 15.0), limits]
    found = minimize(_loss, start, args=(tally,), jac=True, method="L-BFGS-B", bounds=bounds)
    rate, total = 1 / (1 + math.exp(-found.x[0])), math.exp(found.x[1])
    return BetaBinomial(total * rate, total * (1 - rate))


def _concentration(tally: Tally, mean: float) -> float:
    """The logarithm of alpha + beta by moments, kept within reason: where to start from."""
    k, n = tally.safe + tally.unsafe, tally.count
    spread = float(np.average((tally.safe / k - mean) ** 2, weights=n))
    noise = mean * (1 - mean) * float(np.average(1 / k, weights=n))
    if spread <= noise:
        return math.log(1000.0)
    return min(max(math.log(mean * (1 - mean) / (spread - noise)), -2.0), math.log(1000.0))


def _loss(at: FloatArray, tally: Tally) -> tuple[float, FloatArray]:
    """Mean negative log-likelihood and its gradient, by logit of the mean and log of alpha + beta.

    A pair, since ``scipy.optimize.minimize`` asks for one.
    """
    from scipy.special import betaln, digamma

    rate, total = 1 / (1 + math.exp(-at[0])), math.exp(at[1])
    alpha, beta = total * rate, total * (1 - rate)
    s, u, n = tally.safe, tally.unsafe, tally.count / tally.count.sum()
    loss = -float(n @ (betaln(alpha + s, beta + u) - betaln(alpha, beta)))
    shared = digamma(total + s + u) - digamma(total)
    by_alpha = -float(n @ (digamma(alpha + s) - digamma(alpha) - shared))
    by_beta = -float(n @ (digamma(beta + u) - digamma(beta) - shared))
    by_mean = (by_alpha - by_beta) * total * rate * (1 - rate)
    return loss, np.array([by_mean, by_alpha * alpha + by_beta * beta])


@dataclass(frozen=True, slots=True)
class VoteReliability:
    """Share of the spread of the cases' shares that is the cases', and not chance."""

    icc: float
    """ICC(1,k), up to 1; below 0 where shares differ less than chance alone would have them.
    NaN of fewer than two cases, of one vote a case throughout, and of equal shares."""
    pcc: float
    """The correlation with the shares that knowing every true rate would give, 0..1: the square
    root of ``icc``; NaN where that is below 0."""
    sampling_variance: float
    """Mean variance of a share about its case's true rate, 0..1/4."""
    votes: float
    """Votes a case: the harmonic mean, so that it is their mean sampling variance."""
    cases: int


@dataclass(frozen=True, slots=True)
class Oracle:
    """Somebody who knows the rate at which all people would call each case safe.

    NaN where no beta-binomial can be fitted (``BetaBinomial``), apart from ``brier``.
    """

    accuracy: float
    """Chance, 0..1, of being on the side of the case's majority by saying safe where the rate
    exceeds 1/2; a tie counts half."""
    bce: float
    """Lowest expected cross-entropy against the shares, in nats, 0 and up."""
    brier: float
    """Lowest expected Brier score against the shares: their sampling variance. NaN where no case
    has two votes."""


def reliability_icc(safe: FloatArray, unsafe: FloatArray) -> VoteReliability:
    """ICC(1,k): one-way random effects, of the mean of k votes.

    ``1 - W / V``, with V the variance of the shares (ddof 1) and W their mean sampling variance:
    the pooled variance of a vote within its case, ``sum k p (1 - p) / sum (k - 1)``, over the
    harmonic mean of k. With equal k, W is ``mean(p (1 - p)) / (k - 1)``. Shrout & Fleiss (1979),
    doi:10.1037/0033-2909.86.2.420, case 1.

    Args:
        safe: Safe votes of each case. Shape ``(n,)``; NaN is none.
        unsafe: Unsafe votes. Shape ``(n,)``.
    """
    s, u = voted_counts(safe, unsafe)
    if not len(s):
        return VoteReliability(math.nan, math.nan, math.nan, math.nan, 0)
    k = s + u
    p = s / k
    harmonic = float(1 / (1 / k).mean())
    repeats = float((k - 1).sum())
    within = float((s * u / k).sum()) / repeats / harmonic if repeats else math.nan
    between = float(p.var(ddof=1)) if len(p) > 1 else 0.0
    icc = 1 - within / between if np.ptp(p) > 0 else math.nan
    pcc = math.sqrt(icc) if icc >= 0 else math.nan
    return VoteReliability(icc, pcc, within, harmonic, len(s))


def oracle(safe: FloatArray, unsafe: FloatArray, groups: IntArray | None = None) -> Oracle:
    """Score, against these votes, of knowing every case's true rate.

    The rates are beta-distributed within each group, fitted by maximum likelihood; given its
    votes, a case's rate is Beta(alpha + safe, beta + unsafe). Accuracy and cross-entropy are
    expectations over it, in closed form.

    Args:
        safe: Safe votes of each case. Shape ``(n,)``; NaN is none.
        unsafe: Unsafe votes. Shape ``(n,)``.
        groups: A number for each case, such as its arm; None is one group. Shape ``(n,)``.
    """
    from scipy.special import betainc, digamma

    lowest_brier = reliability_icc(safe, unsafe).sampling_variance
    hits, losses, counts = [], [], []
    for tally in tallies(safe, unsafe, groups):
        fit = fit_beta_binomial(tally)
        alpha, beta = fit.alpha + tally.safe, fit.beta + tally.unsafe
        hits.append(_on_side(tally, 1 - betainc(alpha, beta, 0.5)))
        share = tally.safe / (tally.safe + tally.unsafe)
        log_safe = digamma(alpha) - digamma(alpha + beta)
        log_unsafe = digamma(beta) - digamma(alpha + beta)
        losses.append(-(share * log_safe + (1 - share) * log_unsafe))
        counts.append(tally.count)
    if not counts:
        return Oracle(math.nan, math.nan, lowest_brier)
    hit, loss, count = (np.concatenate(parts) for parts in (hits, losses, counts))
    return Oracle(
        accuracy=float(np.average(hit, weights=count)),
        bce=float(np.average(loss, weights=count)),
        brier=lowest_brier,
    )


def _on_side(tally: Tally, chance_safe: FloatArray) -> FloatArray:
    """The chance of being on the side of the observed majority; a tie is worth half."""
    side = np.sign(tally.safe - tally.unsafe)
    return 0.5 + side * (chance_safe - 0.5)
