"""Estimates over clusters (queries), with errors that are robust to them.

Clusters and their draws; figures of rows, with sandwich errors, and two-way ones; intervals of
figures, and bounds on one side with a stated confidence.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

NO_INTERVAL = (math.nan, math.nan)
"""Interval of a figure without one."""

CELLS = 4_000_000
"""Most numbers in a block of weights (32 MB), so that many clusters need no more memory."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Draws: how many, and their seed."""

    draws: int
    seed: int


def percentile_interval(replicates: FloatArray) -> tuple[float, float]:
    """The middle 95 % of what was drawn; NaN if fewer than half of them are defined."""
    defined = replicates[np.isfinite(replicates)]
    if 2 * len(defined) < len(replicates) or not len(defined):
        return NO_INTERVAL
    low, high = np.quantile(defined, [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Clusters:
    """Cluster (query) of each row."""

    index: IntArray
    """Cluster of each row, in 0..count-1. Shape ``(n,)``."""
    count: int
    """Number of clusters, those without rows included."""
    alike: bool | None = None
    """Of rows that are pairs of contexts: whether each cluster weighs alike in a figure, whatever
    its pairs; else each pair does. None: rows are no pairs, and each weighs alike."""

    def only(self, kept: BoolArray | IntArray) -> Self:
        """The clusters of some rows; the count stays, so that estimates can be subtracted."""
        return replace(self, index=self.index[kept])

    def weights(self, counts: BoolArray) -> FloatArray:
        """Weight of each row in a figure, the largest 1. Shape ``(n,)``.

        Where clusters weigh alike it is in inverse proportion to the rows of its cluster that
        count, which are all of one weight where clusters have equally many.

        Args:
            counts: Mask of the rows that count. Shape ``(n,)``.
        """
        if not self.alike or not counts.any():
            return np.ones(len(counts))
        rows = np.bincount(self.index[counts], minlength=self.count)[self.index]
        return np.asarray(rows[counts].min() / np.where(counts, rows, rows[counts].min()))

    def sums(self, *columns: FloatArray) -> FloatArray:
        """Columns of shape ``(n,)`` summed by cluster, shape ``(count, columns)``."""
        found = [np.bincount(self.index, column, minlength=self.count) for column in columns]
        return np.stack(found, axis=1) if found else np.empty((self.count, 0))


def number_clusters(names: NDArray[np.generic]) -> Clusters:
    """Number clusters by the order of their names, so that equal names can be subtracted."""
    unique, index = np.unique(names, return_inverse=True)
    return Clusters(index.astype(np.int64), len(unique))


Formula = Callable[[NDArray[np.inexact]], NDArray[np.inexact]]
"""A figure from totals, shape ``(..., k)`` to ``(...)``: smooth, and the same if all are scaled."""

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

FEW_CLUSTERS = 150
"""Below so many clusters a proportion's interval is Wilson's, other figures have the jackknife's
error, and both are held against Student's t."""

ROUND_OFF = 1e-12
"""Errors below this, relative to the figure, are rounding: all clusters are alike."""

SHORT_TAIL = 40
"""Queries below which those that were drawn are likely to miss the tail of a loss."""

FEW_EXCEPTIONS = 20
"""With fewer clusters' worth of hits, or of misses, it is Wilson's too."""

RARE = 5
"""Hits, or misses, below which Wilson's end on their side is the Poisson's."""

MOST_LEFT_OUT = 1000
"""Clusters up to which a figure is taken anew without each of them; of more, the influence gives
the same error to three digits."""

LEAST_EFFECTIVE = 10.0
"""Effective queries below which no interval is given, where queries weigh unequally."""

LEAST_MOVED = 20
"""Queries that must have moved between two runs for the interval of a change that is no share's; of
fewer than three times as many a third of all, and ``LEAST_EFFECTIVE`` at least."""

NEARLY_EQUAL = 0.8
"""Effective queries over queries, from which they are taken to weigh alike."""

TOO_UNEQUAL = 0.5
"""Effective queries over queries below which no interval is given: heavy queries that weren't drawn
would move the figure far."""

HEAVY = 0.2
"""Share of the weight above which a query is named as heavy."""

BY_DESIGN = "the design of the cases fixes it"
"""The reason why a figure that can't vary has no interval."""

Scale = Literal["plain", "log", "part", "fisher", "logit", "drawn", "wilson"]
"""Scale of a figure as it is; of a mean loss, or part of 1, its logarithm; of a correlation, its
artanh (Fisher's z); of a share, its log-odds, or Wilson's whatever its size; what is drawn has its
draws' and no influence."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """A figure with its uncertainty; NaN where it is undefined.

    Estimates over the same clusters can be subtracted and scaled: the result has the paired
    error, since each cluster's influence is subtracted from its own.
    """

    value: float
    influence: FloatArray
    """Part of each cluster in the figure's error. Shape ``(clusters,)``; empty if undefined."""
    clusters: int = 0
    """Clusters that the figure rests on."""
    size: float = math.nan
    """Rows under a proportion's denominator; NaN where the figure is no proportion."""
    is_share_change: bool = False
    """True of the paired difference of two proportions over one denominator."""
    scale: Scale = "plain"
    """On which its interval is symmetric."""
    without: FloatArray = field(default_factory=lambda: _NOTHING)
    """The figure without each cluster, NaN where it is undefined then; of a cluster without rows,
    the figure. Shape ``(clusters,)``; empty where its error is told by the influence alone."""
    reason: str = ""
    """Why the figure, or its interval, is withheld; empty where it isn't."""
    effective: float = math.nan
    """Equally heavy queries that the figure rests on: ``(sum w)^2 / sum w^2`` of their weights.
    NaN where they have none."""
    heaviest: float = math.nan
    """Share of the weight that the heaviest query carries, 0..1; NaN where queries have none."""
    weight_degrees: float = math.inf
    """Degrees of freedom that the weights of the queries leave the error; infinite where they have
    none."""
    parts: FloatArray = field(default_factory=lambda: _NOTHING)
    """Sums that the figure is made of, by cluster: equal in two runs whose answers are.
    Shape ``(clusters, k)``; empty where that isn't kept."""
    change_takes: int = 0
    """Queries below which a change of the figure has no interval."""
    pairs: int = 0
    """Pairs of contexts that the figure rests on; 0 of other figures."""
    uneven: bool = False
    """True if its queries have unequal numbers of pairs."""
    replicates: FloatArray = field(default_factory=lambda: _NOTHING)
    """The figure on each draw. Shape ``(draws,)``; empty where nothing was drawn."""

    def __repr__(self) -> str:
        return f"<Estimate {self.value:.4g} ({self.interval[0]:.4g} to {self.interval[1]:.4g})>"

    @property
    def moves(self) -> FloatArray:
        """Distance that each cluster moved, of a change. Shape ``(clusters,)``."""
        if not self.parts.size:
            return _NOTHING
        sizes = np.sqrt((self.parts**2).sum(axis=1))
        return np.where(sizes > ROUND_OFF * max(1.0, float(sizes.max())), sizes, 0.0)

    @property
    def se(self) -> float:
        """Clustered standard error; NaN of fewer than two clusters."""
        if self.scale == "drawn":
            return self.margin / Z_95
        if self.clusters < 2 or not math.isfinite(self.value):
            return math.nan
        error = float(np.sqrt((self.influence**2).sum()))
        return error if error > ROUND_OFF * max(1.0, abs(self.value)) else 0.0

    @property
    def is_unequal(self) -> bool:
        """Tell whether queries weigh unequally enough to matter."""
        return self.effective < NEARLY_EQUAL * self.clusters

    @property
    def is_heavy(self) -> bool:
        """Tell whether one query carries much of the weight, so that intervals fall short."""
        return self.heaviest > max(HEAVY, 3 / max(self.clusters, 1))

    @property
    def margin(self) -> float:
        """Half the width of the 95 % interval."""
        low, high = self.interval
        return (high - low) / 2

    @property
    def is_wilson(self) -> bool:
        """Tell whether the interval is Wilson's: few clusters, or a proportion close to 0 or 1.

        Close enough, too, where a normal interval would leave 0..1.
        """
        if math.isnan(self.size) or math.isnan(self.value):
            return False
        if self.scale == "wilson":
            return True
        rare = min(self.value, 1 - self.value)
        few = self.clusters < FEW_CLUSTERS or rare * self.clusters < FEW_EXCEPTIONS
        return few or Z_95 * self.se > rare

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval: Wilson's where ``is_wilson``, else normal; of few clusters with t.

        Of a change of shares both ends are one-sided bounds at 97.5 % (``paired_share_bounds``).
        NaN where it is withheld (``reason``), and where all clusters, or draws, of another figure
        are alike: they show no spread to tell it from.
        """
        if self.reason:
            return NO_INTERVAL
        if self.scale == "drawn":
            alike = np.ptp(self.replicates) == 0
            return NO_INTERVAL if alike else percentile_interval(self.replicates)
        if self.is_wilson:
            # Wilson's with t is his on fewer rows, as Korn & Graubard have it. Clusters that are
            # alike have no error that t could allow for.
            fewer = (Z_95 / self._critical) ** 2 if self.se > 0 else 1.0
            ends = wilson_interval if self.scale == "wilson" else _rare_interval
            return ends(self.value, self.effective_size * fewer)
        if self.is_share_change:
            bounds = paired_share_bounds(self, 0.975)
            return bounds.low, bounds.high
        return self.ends(self._critical)

    @property
    def interval_name(self) -> str:
        """Name of the 95 % interval."""
        if self.scale == "drawn":
            return "percentiles of the draws"
        if self.is_wilson:
            return "Wilson's score interval"
        if self.is_share_change:
            return "Tango's score interval, or Student's where wider"
        scales = {"fisher": " of Fisher's z", "logit": " on the logit", "plain": ""}
        error = "jackknife" if self._is_left_out else "linearised error"
        quantile = "normal" if math.isinf(self.degrees) else "Student's t"
        return f"{error}{scales.get(self.scale, ' on the logarithm')}, {quantile}"

    def ends(self, critical: float) -> tuple[float, float]:
        """The figure less and plus ``critical`` errors, on the scale of its interval."""
        value, error = self._on_scale
        ends = np.array([-1, 1]) * critical * error + value
        if self.scale == "fisher":
            ends = np.tanh(ends)
        elif self._is_log:
            ends = np.exp(ends)
        elif self.scale == "logit":
            ends = (1 + np.tanh(ends / 2)) / 2
        return float(ends[0]), min(float(ends[1]), 1.0 if self.scale == "part" else math.inf)

    @property
    def _is_left_out(self) -> bool:
        """Tell whether the error is the jackknife's: of correlations, and of few clusters."""
        few = self.scale != "plain" or self.clusters < FEW_CLUSTERS or self.is_unequal
        return few and len(self.without) > 0 and not self.is_share_change

    @property
    def _is_log(self) -> bool:
        return self.scale in ("log", "part")

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the error; infinite where it is held against the normal.

        A degree less than clusters, or fewer where few clusters make most of the error: O'Neill
        (2014), doi:10.1080/00031305.2014.966589, by the kurtosis of what each does. Fewer, too,
        where queries weigh unequally (Satterthwaite 1946, doi:10.2307/3002019), and half for a
        mean loss of few queries, whose kurtosis is too small where they miss the tail.
        """
        n = self.clusters
        if n < 2:
            return math.nan
        most = min(n - 1.0, self.weight_degrees) if self.is_unequal else n - 1.0
        many = n >= FEW_CLUSTERS and not self.is_unequal
        if many and self.scale == "plain" and not self.is_share_change:
            return math.inf
        if self.is_share_change or not math.isnan(self.size):
            return most
        moved = (self.without - self.value if self._is_left_out else self.influence) ** 2
        if len(moved) < n or not (total := float(moved.sum())) > 0:
            return most
        kurtosis = n * float((moved**2).sum()) / total**2
        degrees = min(most, 2 * n / (max(kurtosis, 1.0) - (n - 3) / (n - 1)))
        if self.scale == "log" and n < SHORT_TAIL:
            degrees = max(degrees / 2, min(degrees, 3.0))
        return degrees

    @property
    def _critical(self) -> float:
        """The 97.5 % quantile of the distribution that the error is held against."""
        if math.isinf(self.degrees):
            return Z_95
        return student_quantile(self.degrees)

    @property
    def _on_scale(self) -> tuple[float, float]:
        """The figure and its error on the scale of its interval; NaN where there is no error.

        The error is the jackknife's where the figure is known without each cluster (Efron &
        Tibshirani 1993, chapter 11), about the figure itself.
        """
        value, error, without = np.float64(self.value), self.se, self.without
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scale == "fisher":
                error /= 1 - value**2
                value, without = np.arctanh(value), np.arctanh(without)
            elif self._is_log:
                error /= value
                value, without = np.log(value), np.log(without)
            elif self.scale == "logit":
                error /= value * (1 - value)
                value = np.log(value / (1 - value))
            if self._is_left_out:
                error = _jackknife_error(without, float(value), self.clusters)
        if not (0 < error < math.inf and abs(value) < math.inf):
            return math.nan, math.nan
        return float(value), float(error)

    @property
    def effective_size(self) -> float:
        """Independent rows that would give a proportion this error.

        Korn & Graubard (1998), Survey Methodology 24.

        Without an error to tell it from, each cluster counts as one.
        """
        se = self.se
        if not se > 0:
            return min(float(self.clusters), self.size)
        most = 2 * self.size if self.scale == "wilson" else self.size
        if (self.is_unequal or self.scale == "wilson") and len(self.without):
            # Queries that outweigh others pull the figure towards themselves, and hide it.
            se = max(se, _jackknife_error(self.without, self.value, self.clusters))
        return min(self.value * (1 - self.value) / se**2, most)

    @property
    def excludes_zero(self) -> bool:
        """Tell whether the interval leaves 0 out; never where there is none."""
        low, high = self.interval
        return low > 0 or high < 0

    @property
    def p(self) -> float:
        """Two-sided p of the figure being 0, by the test that its interval inverts.

        So it is below .05 where the interval leaves 0 out, and NaN where the interval is. Of a
        change of shares it is Tango's score test, with Student's t; where all clusters moved
        alike, that of ``alike_bounds``. 1 if the figure is exactly 0; 0 of what is above 0 by its
        kind, such as a share with any hits.
        """
        if not math.isfinite(sum(self.interval)):
            return math.nan
        if self.scale == "drawn":
            return _percentile_p(self.replicates)
        if self.value == 0:
            return 1.0
        if self.is_wilson or self._is_log or self.scale == "logit":
            return 0.0
        value, error = self._on_scale
        if not error > 0:
            return min(1.0, 2 * (1 + abs(self.value)) ** -self.clusters)
        # Were there no change, the mean square of the clusters' moves would be their variance.
        shift = value**2 / self.clusters if self.is_share_change else 0.0
        z = abs(value) / math.sqrt(error**2 + shift)
        degrees = self.degrees
        if math.isinf(degrees):
            return math.erfc(z / math.sqrt(2))
        return _student_p(z, degrees)

    def summed_up(self) -> Self:
        """The same figure and error with the influences added up; it can't be subtracted any more.

        For keeping many: a figure over a million cases then needs no more than one number. A
        change of shares stays as it is: its interval needs what every cluster moved by.
        """
        if len(self.influence) < 2 or self.is_share_change:
            return self
        summed = np.array([np.sqrt((self.influence**2).sum())])
        return replace(self, influence=summed, parts=_NOTHING)

    def __sub__(self, other: "Estimate") -> "Estimate":
        """The paired difference; both must stand over the same clusters."""
        return combine([(1.0, self), (-1.0, other)])


def _jackknife_error(without: FloatArray, value: float, clusters: int) -> float:
    """The error of leaving one cluster out, about the figure itself."""
    return float(np.sqrt(((without - value) ** 2).sum() * (1 - 1 / clusters)))


def _student_p(t: float, degrees: float) -> float:
    """Two-sided p of a statistic from 0 up."""
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import stdtr

    return 2 * float(stdtr(degrees, -t))


_NOTHING: FloatArray = np.empty(0)

UNDEFINED = Estimate(math.nan, _NOTHING)


def combine(terms: list[tuple[float, Estimate]]) -> Estimate:
    """A weighted sum of estimates over the same clusters, with its paired error.

    Raises:
        ValueError: They stand over different numbers of clusters, or are summed up.
    """
    value = sum(weight * term.value for weight, term in terms)
    if not math.isfinite(value):
        return UNDEFINED
    drawn = all(term.scale == "drawn" for _, term in terms)
    if not drawn and any(len(term.influence) < term.clusters for _, term in terms):
        raise ValueError("estimates that were summed up have no paired error")
    if len({len(term.influence) for _, term in terms if math.isfinite(term.value)}) > 1:
        raise ValueError("estimates over different clusters")

    def added(name: str) -> FloatArray:
        """An array of the terms, added up where all of them have it."""
        arrays = [weight * getattr(term, name) for weight, term in terms]
        return sum(arrays, np.zeros(1)) if len({one.shape for one in arrays}) == 1 else _NOTHING

    effective = [term.effective for _, term in terms if not math.isnan(term.effective)]
    return Estimate(
        value,
        added("influence"),
        max(term.clusters for _, term in terms),
        scale="drawn" if drawn else "plain",
        without=added("without"),
        reason=_reason_of([term.reason for _, term in terms]),
        effective=min(effective, default=math.nan),
        weight_degrees=min(term.weight_degrees for _, term in terms),
        parts=added("parts"),
        change_takes=max(term.change_takes for _, term in terms),
        pairs=max(term.pairs for _, term in terms),
        uneven=any(term.uneven for _, term in terms),
        replicates=added("replicates"),
    )


def _reason_of(reasons: list[str]) -> str:
    """Why a sum has no interval: what is fixed by design takes none from what varies."""
    others = [one for one in reasons if one != BY_DESIGN]
    return next(filter(None, others), "") if others else BY_DESIGN


def effective_number(weights: FloatArray) -> float:
    """Equally heavy clusters that would tell as much: ``(sum w)^2 / sum w^2``; NaN of none.

    Kish (1965), Survey Sampling, section 11.7.
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else math.nan


def weighed(found: Estimate, weights: FloatArray) -> Estimate:
    """The figure with its effective queries; its interval is withheld where they are too few.

    A query that outweighs the others makes figure and error both, so the error is too small by
    chance as often as it is right. Queries that weigh alike are few by their number alone, which
    the interval allows for.

    Args:
        found: The figure.
        weights: Of each cluster in it, 0 where it has no rows. Shape ``(clusters,)``.
    """
    found = replace(
        found,
        effective=effective_number(weights),
        heaviest=float(weights.max(initial=0) / weights.sum()) if weights.any() else math.nan,
        weight_degrees=max(1.0, effective_number(weights**2) - 1),
    )
    if found.reason or not is_uneven(found):
        return found
    least = max(LEAST_EFFECTIVE, TOO_UNEQUAL * found.clusters)
    return replace(
        found,
        reason=f"{found.effective:.1f} effective queries, of {found.clusters}: a few outweigh the "
        f"others, and an interval takes {math.ceil(least)}",
    )


def of_pairs(found: Estimate, clusters: Clusters, counts: BoolArray) -> Estimate:
    """The figure with the pairs that it rests on; a figure of other rows as it is.

    Its interval is withheld where queries with unequal numbers of pairs are few, whatever they
    weigh: a query with one pair tells less than one with many.

    Args:
        found: The figure, with its effective queries.
        clusters: Clusters of the pairs.
        counts: Mask of the pairs that count. Shape ``(n,)``.
    """
    if clusters.alike is None or math.isnan(found.value):
        return found
    rows = np.bincount(clusters.index[counts])
    found = replace(found, pairs=int(rows.sum()), uneven=len(set(rows[rows > 0].tolist())) > 1)
    if found.reason or not is_uneven(found):
        return found
    why = f"{found.effective:.1f} effective queries; an interval takes {LEAST_EFFECTIVE:g}"
    return replace(found, reason=f"{why} where queries have unequal numbers of contexts")


def is_uneven(found: Estimate) -> bool:
    """Tell whether queries of unequal weight, or unequal numbers of pairs, are too few."""
    if found.scale == "wilson":
        return False
    few = (found.is_unequal or found.uneven) and found.effective < LEAST_EFFECTIVE
    return few or found.effective < TOO_UNEQUAL * found.clusters


def weighed_alike(found: Estimate) -> Estimate:
    """The figure, its interval withheld where queries weigh unequally at all."""
    if found.reason or not found.is_unequal:
        return found
    return replace(
        found,
        reason=f"{found.effective:.1f} effective queries, of {found.clusters}: where queries have "
        "unequal numbers of contexts no interval holds",
    )


def paired_change(before: Estimate, after: Estimate) -> Estimate:
    """``after - before`` of one figure over the same cases, with its paired error.

    Two proportions over one denominator have a change of shares; of others, such as precisions, no
    interval is given.
    """
    change = after - before
    if not math.isfinite(change.value):
        return change
    change = replace(change, is_share_change=_is_of_same_cases(before, after))
    if change.reason:
        return change
    if not change.is_share_change and not math.isnan(before.size):
        return replace(change, reason="shares of other cases in either run")
    return moved_enough(change)


def _is_of_same_cases(before: Estimate, after: Estimate) -> bool:
    """Tell whether two proportions have one denominator, query by query."""
    if before.size != after.size:
        return False
    if not before.parts.size or not after.parts.size:
        return True
    return bool(np.array_equal(before.parts[:, 1], after.parts[:, 1]))


def moved_enough(change: Estimate, runs: int = 2) -> Estimate:
    """The change, its interval withheld where too few queries moved.

    Of 100 queries of which two moved, those two make the change and its error both, and nothing
    tells of the others that could have. A change of shares has Tango's interval, which allows for
    it where queries weigh alike and move by one step, as those with one pair each; one of nothing
    has no interval to withhold, but where they don't: a query that moves further could have moved.

    Args:
        change: The change.
        runs: Runs that it is of; of more than two, twice as many must have moved.
    """
    moves = change.moves
    is_heavy = change.is_share_change and (change.is_unequal or change.uneven)
    if change.reason or (moves.size and not moves.any() and not is_heavy):
        return change
    if change.clusters < change.change_takes:
        reason = f"fewer than {change.change_takes} queries"
        return replace(change, reason=f"{reason}: too few for a change of this kind")
    effective = effective_number(moves) if moves.any() else 0.0
    least = _least_moved(change.clusters, LEAST_MOVED if runs == 2 else 2 * LEAST_MOVED)
    if not moves.size or effective >= least or (change.is_share_change and not is_heavy):
        return change
    moved = int(np.count_nonzero(moves))
    reason = f"{moved} of {change.clusters} queries moved"
    if moved >= least:
        reason += f", a few of them far ({effective:.1f} effective)"
    return replace(change, reason=f"{reason}; an interval takes {math.ceil(least)}")


def _least_moved(clusters: int, least: int = LEAST_MOVED) -> float:
    """Effective queries that must have moved, or have anything, for an interval."""
    return max(LEAST_EFFECTIVE, min(float(least), clusters / 3))


def of_enough(found: Estimate, amounts: FloatArray, clusters: Clusters, what: str) -> Estimate:
    """The mean of amounts that are mostly 0, its interval withheld where few queries make it.

    Args:
        found: The mean.
        amounts: Amount of each row, 0 and up. Shape ``(n,)``.
        clusters: Clusters of the rows.
        what: Words for a query whose amounts aren't 0: ``have a mistake``.
    """
    by_cluster = clusters.sums(amounts)[:, 0]
    effective = effective_number(by_cluster) if by_cluster.any() else 0.0
    least = _least_moved(found.clusters)
    if found.reason or math.isnan(found.value) or effective >= least:
        return found
    some = f"{np.count_nonzero(by_cluster)} of {found.clusters} queries {what}"
    return replace(
        found,
        reason=f"{some} ({effective:.1f} effective); an interval takes {math.ceil(least)}",
    )


def estimate(sums: FloatArray, formula: Formula, clusters: Clusters) -> Estimate:
    """A figure of totals, and its influence by the delta method.

    Args:
        sums: What the formula needs, summed by cluster. Shape ``(clusters, k)``.
        formula: The figure; its gradient is taken by a complex step, so it must be analytic.
        clusters: Where the sums come from.
    """
    totals = sums.sum(axis=0)
    value = float(np.real(formula(totals)))
    if not math.isfinite(value):
        return Estimate(value, _NOTHING)
    step = 1e-20
    gradient = np.imag(formula(totals + 1j * step * np.eye(len(totals)))) / step
    without = _NOTHING
    if clusters.count <= MOST_LEFT_OUT:
        with np.errstate(divide="ignore", invalid="ignore"):
            without = np.real(formula(totals - sums)).astype(float)
    return Estimate(
        value,
        sums @ gradient,
        int(sums.any(axis=1).sum()),
        without=without,
        parts=sums,
    )


def clustered_mean(
    values: FloatArray, clusters: Clusters, *, share: bool = False, scale: Scale = "plain"
) -> Estimate:
    """A mean; NaN of no values. ``share`` says that it is a proportion. Shape ``(n,)``."""
    found = clustered_ratio(values, np.ones_like(values), clusters, share=share)
    return replace(found, scale=scale)


def clustered_ratio(
    parts: FloatArray,
    wholes: FloatArray,
    clusters: Clusters,
    *,
    share: bool = False,
    share_change: bool = False,
) -> Estimate:
    """``sum(parts) / sum(wholes)``, such as a recall; NaN of an empty whole. Shapes ``(n,)``.

    ``share`` says that it is a proportion, ``share_change`` that the parts are the differences
    of two.
    """
    whole = float(wholes.sum())
    if not whole:
        return UNDEFINED
    weights = clusters.weights(wholes != 0)
    weighted = weights * wholes
    sums = clusters.sums(weights * parts, weighted)
    found = of_pairs(weighed(estimate(sums, _ratio, clusters), sums[:, 1]), clusters, wholes != 0)
    # Rows of one weight that would tell as much (Kish 1965); as many as there are, of weight 1.
    rows = float(weighted.sum()) / (float((weights * weighted).sum()) / float(weighted.sum()))
    return replace(found, size=rows if share else math.nan, is_share_change=share_change)


def wilson_interval(share: float, size: float) -> tuple[float, float]:
    """The 95 % score interval of a proportion of ``size`` draws, whole or not; NaN of none.

    Wilson (1927), doi:10.1080/01621459.1927.10502953.
    """
    # statsmodels has it too, and takes a second to import.
    if not size > 0:
        return NO_INTERVAL
    z2 = Z_95**2 / size
    centre, half = share + z2 / 2, math.sqrt(z2 * (share * (1 - share) + z2 / 4))
    low, high = (centre - half) / (1 + z2), (centre + half) / (1 + z2)
    # Of no hits, and of nothing but hits, the ends are 0 and 1 but for rounding.
    return max(0.0, low), min(1.0, high)


def independent_difference(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """First minus second, and its 95 % interval, from the interval of each; NaN if either has none.

    Newcombe (1998), Statistics in Medicine 17, method 10. Where the second holds the first, their
    errors go together, and the interval is too wide rather than too narrow.

    Args:
        first: A value and both ends of its 95 % interval.
        second: Another, over other clusters.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    low, high = math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low)
    return a - b, a - b - low, a - b + high


def _rare_interval(share: float, size: float) -> tuple[float, float]:
    """Wilson's interval; of few hits, or misses, with the Poisson's end on their side.

    Of one or two hits Wilson's lower end is too high, so that its coverage falls to .84: Brown, Cai
    & DasGupta (2001), doi:10.1214/ss/1009213286, section 4.1.1.
    """
    low, high = wilson_interval(share, size)
    hits, misses = share * size, (1 - share) * size
    if hits == misses or not 0 < min(hits, misses) < RARE:
        return low, high
    from scipy.special import gammaincinv

    nearest = float(gammaincinv(min(hits, misses), 0.05)) / size
    return (min(low, nearest), high) if hits < misses else (low, max(high, 1 - nearest))


def _ratio(totals: NDArray[np.inexact]) -> NDArray[np.inexact]:
    return totals[..., 0] / totals[..., 1]


@dataclass(frozen=True, slots=True)
class TwoWay:
    """A figure with an error for both ways; NaN is undefined."""

    value: float
    se: float
    interval: tuple[float, float]
    """95 %, by Student's t with a degree of freedom fewer than the fewer clusters."""
    p: float
    """Two-sided, of the figure being 0."""


def two_way(figure: Callable[[Clusters], Estimate], first: Clusters, second: Clusters) -> TwoWay:
    """Cameron, Gelbach & Miller (2011), doi:10.1198/jbes.2010.07136.

    The variances of both clusterings less that of their crossing, and not below either of them,
    which with few clusters it can fall under by chance.

    Args:
        figure: The estimate under a clustering.
        first: One clustering of the rows.
        second: The other.
    """
    crossed = number_clusters(np.asarray(first.index * second.count + second.index))
    one, other, each = figure(first), figure(second), figure(crossed)
    alone = TwoWay(one.value, math.nan, NO_INTERVAL, math.nan)
    if math.isnan(one.se) or math.isnan(other.se):
        return alone
    # The crossing may have one cluster less than two only where the others have too.
    crossing = 0.0 if math.isnan(each.se) else each.se**2
    se = math.sqrt(max(one.se**2 + other.se**2 - crossing, one.se**2, other.se**2))
    if not se > 0:
        return replace(alone, se=se, p=1.0 if one.value == 0 else math.nan)
    degrees = min(one.clusters, other.clusters) - 1
    half, p = student_quantile(degrees) * se, _student_p(abs(one.value) / se, degrees)
    return TwoWay(one.value, se, (one.value - half, one.value + half), p)


def _percentile_p(replicates: FloatArray) -> float:
    """Two-sided p of 0 by the percentile interval: the level at which that would end at 0.

    Replicates at exactly 0 count on either side, so p is below .05 exactly where the middle 95 %
    leave 0 out.
    """
    draws = np.sort(replicates[np.isfinite(replicates)])
    last = len(draws) - 1
    first, after = np.searchsorted(draws, 0.0, "left"), np.searchsorted(draws, 0.0, "right")
    if first < after:
        below, above = float(after - 1) / last, 1 - float(first) / last
    else:
        below = float(np.interp(0.0, draws, np.arange(len(draws)) / last))
        above = 1 - below
    return float(min(1.0, max(2 * min(below, above), 2 / (len(draws) + 1))))


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two one-sided bounds; each alone has the confidence. NaN is undefined."""

    low: float
    high: float


NO_BOUNDS = Bounds(math.nan, math.nan)


def student_bounds(one: Estimate, confidence: float) -> Bounds:
    """Bounds of any figure by Student's t, on the scale of its interval and by the same error.

    At most a degree of freedom fewer than clusters. NaN without a spread (use ``alike_bounds``
    there), and where the interval is withheld.
    """
    if not one.se > 0 or one.reason:
        return NO_BOUNDS
    degrees = min(one.degrees, one.clusters - 1)
    return Bounds(*one.ends(student_quantile(degrees, confidence)))


def drawn_bounds(one: Estimate, confidence: float) -> Bounds:
    """Bounds of a figure that was drawn: what so many of its draws lie above, and below."""
    low, high = np.quantile(one.replicates, [1 - confidence, confidence])
    return Bounds(float(low), float(high))


def alike_bounds(
    value: float, clusters: int, confidence: float, ends: tuple[float, float]
) -> Bounds:
    """Bounds where all clusters are alike, and so show no spread.

    With the confidence, at most ``1 - (1 - confidence)^(1 / clusters)`` of clusters are not like
    those seen (at 95 % some 3 in the number seen: the rule of three, Hanley & Lippman-Hand 1983,
    doi:10.1001/jama.1983.03330370053031). They may lie at either end of the range. Exact for
    means over clusters of one weight, a rule of thumb for correlations and F1.

    Args:
        value: What all show.
        clusters: How many, 0 and up.
        confidence: In 0..1.
        ends: The range of the figure.
    """
    if not clusters or not math.isfinite(value):
        return NO_BOUNDS
    unlike = 1 - (1 - confidence) ** (1 / clusters)
    return Bounds(value - unlike * (value - ends[0]), value + unlike * (ends[1] - value))


def share_bounds(one: Estimate, confidence: float) -> Bounds:
    """Exact bounds of a proportion (Clopper & Pearson 1934) on its effective size.

    Korn & Graubard (1998), Survey Methodology 24: the rows that, if independent, would have the
    clustered error, fewer by Student's t for few clusters. Wilson's interval is on average right
    and too short near 0 and 1, where one bound of it misses more often than it says.
    """
    size = one.effective_size
    if not size > 0 or not math.isfinite(one.value) or one.reason:
        return NO_BOUNDS
    from scipy.special import ndtri

    if one.se > 0:
        size *= (float(ndtri(confidence)) / student_quantile(one.degrees, confidence)) ** 2
    return beta_bounds(min(one.value, 1.0) * size, size, confidence)


def beta_bounds(hits: float, size: float, confidence: float) -> Bounds:
    """Exact bounds of a proportion (Clopper & Pearson 1934, doi:10.1093/biomet/26.4.404).

    Args:
        hits: Events, 0 to ``size``; need not be whole.
        size: Independent units, above 0; need not be whole.
        confidence: Of each bound, in 0..1.
    """
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import betaincinv

    misses = size - hits
    low = float(betaincinv(hits, misses + 1, 1 - confidence)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, misses, confidence)) if misses > 0 else 1.0
    return Bounds(low, high)


@dataclass(frozen=True, slots=True)
class Steps:
    """A paired difference of proportions as clusters that go a step down, up, or none."""

    length: float
    """Distance that a cluster moves if it moves, above 0; 1 is from all wrong to all right."""
    down: float
    """Share of clusters that go down, 0..1."""
    up: float
    """Share that go up."""


def find_steps(difference: Estimate) -> Steps | None:
    """Steps that have the mean and the variance of a difference; None without a spread.

    The length is the mean square over the mean size of what clusters moved by: 1 where queries
    have a case each, a half where one of two cases flips.
    """
    if not difference.se > 0:
        return None
    clusters, value = difference.clusters, difference.value
    influence = difference.influence
    # A cluster that did not move has the influence of the mean alone, one without rows has none.
    moved = np.where(influence == 0, 0.0, clusters * influence + value)
    length = float((moved**2).sum() / np.abs(moved).sum())
    square = clusters * difference.se**2 + value**2
    active = min(1.0, max(square / length**2, abs(value) / length))
    shift = value / length
    return Steps(length, (active - shift) / 2, (active + shift) / 2)


def paired_share_bounds(difference: Estimate, confidence: float) -> Bounds:
    """Bounds of a paired difference of proportions, clustered.

    The score bound of Tango (1998), doi:10.1002/(SICI)1097-0258(19980430)17:8<891::AID-SIM780>
    3.0.CO;2-B, with clusters in place of cases (``find_steps``): the variance is the one that the
    bound itself would have, so that a few lucky clusters don't make a small error. Against
    Student's t it is the wider of the two; where nothing moved, ``alike_bounds``.

    Args:
        difference: Of two proportions over one denominator; not settled.
        confidence: In 0..1.
    """
    if difference.reason:
        return NO_BOUNDS
    steps = find_steps(difference)
    if steps is None:
        return alike_bounds(difference.value, difference.clusters, confidence, (-1.0, 1.0))
    mirrored = replace(steps, down=steps.up, up=steps.down)
    critical = student_quantile(difference.degrees, confidence)
    low = _score_bound(steps, difference.clusters, critical)
    high = -_score_bound(mirrored, difference.clusters, critical)
    plain = student_bounds(difference, confidence)
    return Bounds(min(low, plain.low), max(high, plain.high))


def _score_bound(steps: Steps, clusters: int, critical: float) -> float:
    """The lowest difference that lies within ``critical`` errors of its own of the one seen."""
    from scipy.optimize import brentq

    shift = steps.up - steps.down

    def excess(other: float) -> float:
        variance = null_variance(steps.down, steps.up, other)
        return (shift - other) ** 2 * clusters - critical**2 * variance

    # Just below what was seen: there the two differ by nothing, which is no bound.
    seen = shift - 1e-9
    if seen <= -1 or excess(seen) >= 0:
        return shift * steps.length
    return float(brentq(excess, -1.0, seen, xtol=1e-12)) * steps.length


def student_quantile(degrees: float, confidence: float = 0.975) -> float:
    """Quantile of Student's t; the usual one gives a two-sided 95 % interval."""
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, confidence))


def null_variance(down: float, up: float, shift: float) -> float:
    """Variance of a move (-1, 0 or 1) whose mean is ``shift``, most likely for the shares seen.

    Tango (1998), Statistics in Medicine 17, 891-908: the maximum of the likelihood under a given
    difference of paired proportions, in closed form. At least ``|shift| - shift^2``, which is the
    variance if all moves go one way.

    Args:
        down: Share of moves down that was seen, 0..1.
        up: Share of moves up; with ``down`` at most 1.
        shift: The difference, -1..1.
    """
    linear = down + up + shift * (2 - down + up)
    root = math.sqrt(max(0.0, linear * linear - 8 * up * shift * (1 + shift)))
    most_likely_up = (linear + root) / 4
    return max(0.0, 2 * most_likely_up - shift - shift * shift)
