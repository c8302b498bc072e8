"""Accuracy against what all people would say, from the votes of some of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from casewise.statistics._clustered import UNDEFINED, Estimate
from casewise.statistics._clusters import BoolArray, Clusters, FloatArray, IntArray

LEAST_VOTES = 5
"""Votes a case, on average, below which the shape that is assumed of the rates would say more than
the votes do: no correction is made."""

MEAN_SPREAD = 2.0
"""Standard deviation of the weak prior about 0 of the logit of a mean rate."""

USUAL_VOTES, VOTES_SPREAD = math.log(10.0), 1.5
"""The weak prior of log(alpha + beta): mean and standard deviation."""

_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class VotedVerdicts:
    """Verdicts on cases that people voted on. Shapes ``(n,)``."""

    said: FloatArray
    """1 safe, 0 unsafe; of a partial reply, between."""
    safe: FloatArray
    """Safe votes."""
    unsafe: FloatArray
    """Unsafe votes; with the safe ones at least one."""
    arm: IntArray
    """A number for the kind of context, whose rates are of one distribution."""
    missed: BoolArray
    """Answers that weren't read and earn nothing."""


def corrected_accuracy(verdicts: VotedVerdicts, clusters: Clusters) -> Estimate:
    """The share of verdicts on the side of the rate at which all people call a case safe; 0..1.

    A majority of votes is on the wrong side of that rate now and then, so accuracy against
    it is too low for whoever is right. Here the rates of an arm's cases with one verdict are taken
    to be Beta(alpha, beta), with a mean for each verdict and one alpha + beta for the arm; given
    its votes, a case's rate is Beta(alpha + safe, beta + unsafe), whose mass on the verdict's side
    of 1/2 is what the verdict earns. This is the decision accuracy of strong true score theory
    (Huynh 1976, doi:10.1111/j.1745-3984.1976.tb00016.x; Livingston & Lewis 1995,
    doi:10.1111/j.1745-3984.1995.tb00462.x), of a judge other than the test itself. The fit is of
    maximum likelihood under weak priors, which keep it off the edge where few cases have a verdict
    (Chung et al. 2013, doi:10.1007/s11336-013-9328-2). The error counts in that the distributions
    are fitted (Stefanski & Boos 2002, doi:10.1198/000313002753631330). It is assumed that votes on
    a case are independent draws from one population of people.

    Withheld of fewer than two cases, and of fewer than ``LEAST_VOTES`` votes a case on average.
    """
    n = len(verdicts.said)
    if n < 2:
        return replace(UNDEFINED, reason="fewer than two cases")
    if float((verdicts.safe + verdicts.unsafe).mean()) < LEAST_VOTES:
        return replace(UNDEFINED, reason=f"fewer than {LEAST_VOTES} votes a case")
    credit, pull = np.zeros(n), np.zeros(n)
    for rows, arm in _arms(verdicts):
        fit = _fit(arm)
        credit[rows] = arm.credits(fit)[arm.place]
        pull[rows] = _pull(arm, fit)[arm.place]
    credit[verdicts.missed] = 0.0
    value = float(credit.mean())
    sums = clusters.sums((credit - value - pull) / n, np.ones(n))
    filled = int(np.count_nonzero(sums[:, 1]))
    return Estimate(value, sums[:, 0], np.empty(0), filled, scale="logit")


@dataclass(frozen=True, slots=True)
class _Arm:
    """The distinct cases of an arm. Shapes ``(distinct,)`` unless said otherwise."""

    cell: IntArray
    """The place of the verdict among the arm's verdicts."""
    said: FloatArray
    safe: FloatArray
    unsafe: FloatArray
    count: FloatArray
    weight: FloatArray
    """Number of such cases whose answer was read, and so earns credit."""
    place: IntArray
    """Place of each row of the arm. Shape ``(rows,)``."""

    @property
    def cells(self) -> int:
        return int(self.cell.max()) + 1

    def shape(self, at: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Alpha and beta of each; ``at`` has the logits of the means, and log(alpha + beta)."""
        rate, total = 1 / (1 + np.exp(-at[self.cell])), math.exp(at[-1])
        return total * rate, total * (1 - rate)

    def credits(self, at: FloatArray) -> FloatArray:
        """Credit of each verdict: the mass of its case's rate on its side of 1/2."""
        from scipy.special import betainc

        alpha, beta = self.shape(at)
        is_safe = 1 - betainc(alpha + self.safe, beta + self.unsafe, 0.5)
        return np.asarray(self.said * is_safe + (1 - self.said) * (1 - is_safe))

    def scores(self, at: FloatArray) -> FloatArray:
        """Minus the gradient of each one's log-likelihood. Shape ``(distinct, parameters)``."""
        from scipy.special import digamma

        alpha, beta = self.shape(at)
        total, k = alpha + beta, self.safe + self.unsafe
        shared = digamma(total + k) - digamma(total)
        by_alpha = -(digamma(alpha + self.safe) - digamma(alpha) - shared)
        by_beta = -(digamma(beta + self.unsafe) - digamma(beta) - shared)
        found = np.zeros((len(alpha), len(at)))
        found[np.arange(len(alpha)), self.cell] = (by_alpha - by_beta) * alpha * beta / total
        found[:, -1] = by_alpha * alpha + by_beta * beta
        return found

    def loss(self, at: FloatArray) -> tuple[float, FloatArray]:
        """Minus the log of the posterior density, and its gradient, for ``minimize``."""
        from scipy.special import betaln

        alpha, beta = self.shape(at)
        likelihood = betaln(alpha + self.safe, beta + self.unsafe) - betaln(alpha, beta)
        centre, spread = self.prior
        deviation = (at - centre) / spread
        gradient = self.count @ self.scores(at) + deviation / spread
        return float(-self.count @ likelihood + (deviation**2).sum() / 2), gradient

    @property
    def prior(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each parameter."""
        means = np.zeros(self.cells)
        return np.append(means, USUAL_VOTES), np.append(means + MEAN_SPREAD, VOTES_SPREAD)


def _arms(verdicts: VotedVerdicts) -> Iterator[tuple[BoolArray, _Arm]]:
    for number in np.unique(verdicts.arm):
        rows = verdicts.arm == number
        values, cell = np.unique(verdicts.said[rows], return_inverse=True)
        safe, unsafe = verdicts.safe[rows], verdicts.unsafe[rows]
        # One number for each kind of case: sorted ten times faster than rows of three.
        most = 1 + max(safe.max(), unsafe.max())
        codes = (cell * most + safe) * most + unsafe
        _, first, place = np.unique(codes, return_index=True, return_inverse=True)
        arm = _Arm(
            cell=cell[first],
            said=values[cell[first]],
            safe=safe[first],
            unsafe=unsafe[first],
            count=np.bincount(place).astype(float),
            weight=np.bincount(place, ~verdicts.missed[rows]).astype(float),
            place=place,
        )
        yield rows, arm


def _fit(arm: _Arm) -> FloatArray:
    from scipy.optimize import minimize

    safe = np.bincount(arm.cell, arm.count * arm.safe)
    unsafe = np.bincount(arm.cell, arm.count * arm.unsafe)
    start = np.append(np.log((safe + 0.5) / (unsafe + 0.5)), USUAL_VOTES)
    bounds = [(-15.0, 15.0)] * arm.cells + [(math.log(1e-3), math.log(1e6))]
    found = minimize(arm.loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)


def _pull(arm: _Arm, fit: FloatArray) -> FloatArray:
    """Influence of each case on its arm's credits by way of the fit. Shape ``(distinct,)``."""
    steps = _STEP * np.eye(len(fit))
    hessian = np.stack([arm.loss(fit + h)[1] - arm.loss(fit - h)[1] for h in steps]) / (2 * _STEP)
    slope = np.array([arm.weight @ (arm.credits(fit + h) - arm.credits(fit - h)) for h in steps])
    return arm.scores(fit) @ np.linalg.solve(hessian, slope / (2 * _STEP))
