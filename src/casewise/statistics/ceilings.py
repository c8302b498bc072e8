"""Scores made of votes alone: one person's, and the best that anybody could reach.

The best is that of a beta-binomial distribution of votes.
"""

import math
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
    (spread, shared), (_, spread_of_others) = np.cov(votes, others, aweights=weights, ddof=0)
    pcc = float(shared / np.sqrt(spread * spread_of_others)) if np.ptp(s / k) > 0 else math.nan
    return OnePerson(float(right.mean()), pcc, len(s))


def voted_counts(safe: FloatArray, unsafe: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The counts of the cases that have votes. Shapes ``(n,)`` to ``(voted,)``."""
    s, u = np.asarray(safe, float), np.asarray(unsafe, float)
    has_votes = s + u > 0  # False of NaN
    return s[has_votes], u[has_votes]


MOST_CONCENTRATED = 1e6
"""The largest alpha + beta: all cases share one rate, as good as exactly."""

LEAST_CONCENTRATED = 1e-3
"""The smallest: every case is all safe or all unsafe, as good as exactly."""


START = 20.0
"""The alpha + beta that a fit starts from."""


@dataclass(frozen=True, slots=True)
class BetaBinomial:
    """Rates that are Beta(alpha, beta), and votes that are binomial given the rate.

    NaN where votes tell of no spread: fewer than two cases, no case with two votes, or all votes
    alike.
    """

    alpha: float
    beta: float


def fit_beta_binomial(safe: FloatArray, unsafe: FloatArray) -> BetaBinomial:
    """Fit by maximum likelihood.

    Skellam (1948), doi:10.1111/j.2517-6161.1948.tb00014.x. Votes less spread than the binomial's
    end at ``MOST_CONCENTRATED``.

    Args:
        safe: Safe votes of each case. Shape ``(n,)``, no NaN.
        unsafe: Unsafe votes, at least one vote a case. Shape ``(n,)``.
    """
    votes = safe + unsafe
    mean = float(safe.sum() / votes.sum()) if len(votes) else math.nan
    if len(votes) < 2 or votes.max() < 2 or mean in (0.0, 1.0):
        return BetaBinomial(math.nan, math.nan)
    from scipy.optimize import minimize

    start = [math.log(mean / (1 - mean)), math.log(START)]
    limits = (math.log(LEAST_CONCENTRATED), math.log(MOST_CONCENTRATED))
    optimum = minimize(
        _loss,
        start,
        args=(safe, unsafe),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-15.0, 15.0), limits],
        # Where votes spread little the likelihood is flat: the usual tolerances stop too early.
        options={"ftol": 1e-12, "gtol": 1e-8},
    )
    rate, total = 1 / (1 + math.exp(-optimum.x[0])), math.exp(optimum.x[1])
    return BetaBinomial(total * rate, total * (1 - rate))


def _loss(at: FloatArray, safe: FloatArray, unsafe: FloatArray) -> tuple[float, FloatArray]:
    """Mean negative log-likelihood and its gradient, by logit of the mean and log of alpha + beta.

    A pair, since ``scipy.optimize.minimize`` asks for one.
    """
    from scipy.special import betaln, digamma

    rate, total = 1 / (1 + math.exp(-at[0])), math.exp(at[1])
    alpha, beta = total * rate, total * (1 - rate)
    loss = -float((betaln(alpha + safe, beta + unsafe) - betaln(alpha, beta)).mean())
    shared = digamma(total + safe + unsafe) - digamma(total)
    by_alpha = -float((digamma(alpha + safe) - digamma(alpha) - shared).mean())
    by_beta = -float((digamma(beta + unsafe) - digamma(beta) - shared).mean())
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


def shift_ceiling(safe: FloatArray, unsafe: FloatArray) -> float:
    """Correlation with the shifts of votes that knowing every true rate would give, 0..1.

    The root of the part of their variance that is no chance of who voted; NaN where that is below
    0, or can't be told. Shapes ``(pairs, 2)``.
    """
    shift = np.subtract(*(safe / (safe + unsafe)).T)
    noise = 2 * reliability_icc(safe.ravel(), unsafe.ravel()).sampling_variance
    part = 1 - noise / shift.var(ddof=1) if len(shift) > 1 and np.ptp(shift) else -1.0
    return math.sqrt(part) if part >= 0 else math.nan


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
    s, u = voted_counts(safe, unsafe)
    if not len(s):
        return Oracle(math.nan, math.nan, lowest_brier)
    group = np.zeros(len(s)) if groups is None else groups[safe + unsafe > 0]
    alpha, beta = s.copy(), u.copy()
    for zero in np.unique(group):
        mask = group == zero
        fit = fit_beta_binomial(s[mask], u[mask])
        alpha[mask] += fit.alpha
        beta[mask] += fit.beta
    # A tie of votes is worth half to either side.
    hits = 0.5 + np.sign(s - u) * (0.5 - betainc(alpha, beta, 0.5))
    share = s / (s + u)
    known = share * digamma(alpha) + (1 - share) * digamma(beta)
    losses = digamma(alpha + beta) - known
    return Oracle(float(hits.mean()), float(losses.mean()), lowest_brier)
