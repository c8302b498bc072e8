"""Estimates over clusters (queries): four methods of interval, and one rule that withholds.

Shares have Wilson's interval on their effective size, paired changes of shares that of two added
queries, differences of other shares square-and-add: these always have one. All else has the
jackknife over queries, and no interval where few queries make the figure (``too_few``).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

NO_INTERVAL = (math.nan, math.nan)
"""Interval of a figure without one."""

Z_95 = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ROUND_OFF = 1e-12
"""Errors below this, relative to the figure, are rounding: all clusters are alike."""

MOST_LEFT_OUT = 1000
"""Clusters up to which a figure is taken anew without each of them; of more, the influence gives
the same error to three digits."""

LEAST_QUERIES = 10
"""Queries that must make a figure, unless it is a share, for it to have an interval."""

LEAST_UNEVEN = 40
"""Queries that a mean loss, kappa and alpha need: intervals from 28 held Brier scores and their
changes in .74 to .91 of studies, and kappa in .91 (``make hostile``)."""

HEAVY = 0.1
"""Share of the weight above which a query is named as heavy."""

BY_DESIGN = "the design of the cases fixes it"
"""The reason why a figure that can't vary has no interval."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Cluster (query) of each row."""

    index: IntArray
    """Cluster of each row, in 0..count-1. Shape ``(n,)``."""
    count: int
    """Number of clusters, those without rows included."""
    alike: bool = False
    """True of rows that are pairs of contexts: each cluster weighs alike in a figure, whatever its
    pairs. Other rows weigh alike."""

    def only(self, mask: BoolArray | IntArray) -> Self:
        """The clusters of some rows; the count stays, so that estimates can be subtracted."""
        return replace(self, index=self.index[mask])

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
        sums = [np.bincount(self.index, column, minlength=self.count) for column in columns]
        return np.stack(sums, axis=1) if sums else np.empty((self.count, 0))


def number_clusters(names: NDArray[np.generic]) -> Clusters:
    """Number clusters by the order of their names, so that equal names can be subtracted."""
    unique, index = np.unique(names, return_inverse=True)
    return Clusters(index.astype(np.int64), len(unique))


Formula = Callable[[NDArray[np.inexact]], NDArray[np.inexact]]
"""A figure from totals, shape ``(..., k)`` to ``(...)``: smooth, and the same if all are scaled."""

Kind = Literal["share", "change", "difference", "jackknife", "drawn"]
"""Method of the interval: of a share; of the paired change of one; of the difference of two of
other cases; of anything else; of what was drawn."""

Scale = Literal["plain", "unit", "log", "fisher"]
"""Scale of the jackknife: the figure as it is, of an F1 within 0..1; of a mean loss its logarithm;
of a correlation its artanh (Fisher's z)."""

_NOTHING: FloatArray = np.empty(0)


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
    kind: Kind = "jackknife"
    scale: Scale = "plain"
    size: float = math.nan
    """Rows under a proportion's denominator, or its change's; NaN of other figures."""
    without: FloatArray = field(default_factory=lambda: _NOTHING)
    """The figure without each cluster, NaN where it is undefined then; of a cluster without rows,
    the figure. Shape ``(clusters,)``; empty where its error is told by the influence alone."""
    parts: FloatArray = field(default_factory=lambda: _NOTHING)
    """Sums that the figure is made of, by cluster: equal in two runs whose answers are.
    Shape ``(clusters, k)``; empty where that isn't kept."""
    shares: tuple["Estimate", ...] = ()
    """The two shares that a difference is of."""
    unavailable: str = ""
    """Why a figure has no interval whatever made it: its kind, or the number of all queries."""
    makers: float = math.inf
    """Queries that make the figure, effectively: those that moved, of a change; of a correlation
    those that make the spread of either side. Infinite where the method needs none."""
    is_change: bool = False
    """True of a sum of figures with weights of both signs, such as a change."""
    effective: float = math.nan
    """Equally heavy queries that the figure rests on: ``(sum w)^2 / sum w^2`` of their weights.
    NaN where they have none."""
    heaviest: float = math.nan
    """Share of the weight that the heaviest query carries, 0..1; NaN where queries have none."""
    weight_degrees: float = math.inf
    """Degrees of freedom that the weights of the queries leave the error (Satterthwaite 1946,
    doi:10.2307/3002019); infinite where they have none."""
    pairs: int = 0
    """Pairs of contexts that the figure rests on; 0 of other figures."""
    replicates: FloatArray = field(default_factory=lambda: _NOTHING)
    """The figure on each draw. Shape ``(draws,)``; empty where nothing was drawn."""

    def __repr__(self) -> str:
        return f"<Estimate {self.value:.4g} ({self.interval[0]:.4g} to {self.interval[1]:.4g})>"

    @property
    def reason(self) -> str:
        """Why there is no interval: too few queries make the figure. Empty where there is one."""
        if self.unavailable or math.isnan(self.value):
            return self.unavailable
        return too_few(self.makers, "change" if self.is_change else "figure")

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
        if self.kind == "drawn":
            return (self.interval[1] - self.interval[0]) / (2 * student_quantile(math.inf))
        if self.clusters < 2 or not math.isfinite(self.value):
            return math.nan
        error = float(np.sqrt((self.influence**2).sum()))
        return error if error > ROUND_OFF * max(1.0, abs(self.value)) else 0.0

    @property
    def is_heavy(self) -> bool:
        """Tell whether one query carries much of the weight, so that intervals fall short."""
        return self.heaviest > max(HEAVY, 3 / max(self.clusters, 1))

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval; NaN where there is none (``reason``), or no spread to tell it from."""
        return self.limits(0.975)

    def limits(self, confidence: float) -> tuple[float, float]:
        """Both ends, each with a confidence of its own; NaN where there is no interval."""
        if self.reason or not math.isfinite(self.value):
            return NO_INTERVAL
        critical = student_quantile(self.degrees, confidence)
        match self.kind:
            case "drawn":
                return _draw_quantiles(self.replicates, confidence)
            case "share":
                return _share_interval(self.value, self.effective_size, critical, confidence)
            case "change":
                mean, error = self._with_added_queries
                return max(-1.0, mean - critical * error), min(1.0, mean + critical * error)
            case "difference":
                ends = [(share.value, *share.limits(confidence)) for share in self.shares]
                return square_and_add(ends[0], ends[1], self._correlation)[1:]
            case _:
                return self._off_scale(critical)

    def _off_scale(self, critical: float) -> tuple[float, float]:
        """The figure less and plus some errors, from the scale of its interval."""
        value, error = self._on_scale
        ends = np.array([-1, 1]) * critical * error + value
        if self.scale == "fisher":
            ends = np.tanh(ends)
        elif self.scale == "log":
            ends = np.exp(ends)
        elif self.scale == "unit":
            ends = ends.clip(0, 1)
        return float(ends[0]), float(ends[1])

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the error.

        One fewer than clusters, and no more than their weights leave. The jackknife has fewer
        where few clusters make most of the error: O'Neill (2014),
        doi:10.1080/00031305.2014.966589, by the kurtosis of what each does.
        """
        n = self.clusters
        if self.kind == "drawn":
            return math.inf
        most = min(n - 1.0, self.weight_degrees)
        if self.kind == "change":
            return most + 2
        if n < 2:
            return math.inf
        if self.kind != "jackknife":
            return most if self.se > 0 else math.inf
        moved = (self.without - self.value if self.without.size else self.influence) ** 2
        if len(moved) < n or not (total := float(moved.sum())) > 0:
            return most
        kurtosis = n * float((moved**2).sum()) / total**2
        return min(most, 2 * n / (max(kurtosis, 1.0) - (n - 3) / (n - 1)))

    @property
    def _on_scale(self) -> tuple[float, float]:
        """The figure and its error on the scale of its interval; NaN where there is no error."""
        value, error, without = np.float64(self.value), self.se, self.without
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.scale == "fisher":
                error /= 1 - value**2
                value, without = np.arctanh(value), np.arctanh(without)
            elif self.scale == "log":
                error /= value
                value, without = np.log(value), np.log(without)
            if without.size:
                error = _jackknife_error(without, float(value), self.clusters)
        if not (0 < error < math.inf and abs(value) < math.inf) or not self.se > 0:
            return math.nan, math.nan
        return float(value), float(error)

    @property
    def _error(self) -> float:
        """The jackknife's error, or that of the influences of many clusters."""
        if not self.without.size or not self.se > 0:
            return self.se
        # Queries that outweigh others pull the figure towards themselves, and hide it.
        return max(self.se, _jackknife_error(self.without, self.value, self.clusters))

    @property
    def _with_added_queries(self) -> tuple[float, float]:
        """Mean and error of a change of shares with two queries added.

        Each moves by all its answers, or by one as heavy as those of the heaviest query: such a
        query that was not drawn, or did not move, could have moved the figure as far.
        """
        n = self.clusters
        step = max(1.0, n * self.heaviest * n / self.size)
        return added_queries(self.value, self._error, n, step)

    @property
    def _correlation(self) -> float:
        """Correlation of the errors of the two shares of a difference."""
        first, second = (share.influence for share in self.shares)
        norm = math.sqrt(float((first**2).sum() * (second**2).sum()))
        return float((first * second).sum()) / norm if norm > 0 else 0.0

    @property
    def effective_size(self) -> float:
        """Independent rows that would give a proportion this error; twice its rows at most.

        Korn & Graubard (1998), Survey Methodology 24. Without an error to tell it from, each
        cluster counts as one.
        """
        error = self._error
        if not error > 0:
            return min(self.effective, self.size)
        return min(self.value * (1 - self.value) / error**2, 2 * self.size)

    @property
    def excludes_zero(self) -> bool:
        """Tell whether the interval leaves 0 out; never where there is none."""
        low, high = self.interval
        return low > 0 or high < 0

    @property
    def p(self) -> float:
        """Two-sided p of the figure being 0, by the test that its interval inverts.

        So it is below .05 where the interval leaves 0 out, and NaN where the interval is. 1 if the
        figure is exactly 0. NaN of what is never below 0, such as a share: no test asks that.
        """
        if self.kind == "share" or self.scale == "log" or not math.isfinite(sum(self.interval)):
            return math.nan
        if self.kind == "drawn":
            return _percentile_p(self.replicates)
        if self.value == 0:
            return 1.0
        if self.kind == "difference":
            return _inverted_p(self)
        # Imported late: scipy takes longer to load than most commands take to run.
        from scipy.special import stdtr

        value, error = self._with_added_queries if self.kind == "change" else self._on_scale
        return 2 * float(stdtr(self.degrees, -abs(value) / error))

    def drop_influence(self) -> Self:
        """The same figure and error with the influences added up; it can't be subtracted any more.

        For keeping many: a figure over a million cases then needs no more than one number.
        """
        if len(self.influence) < 2:
            return self
        summed = np.array([np.sqrt((self.influence**2).sum())])
        return replace(self, influence=summed, parts=_NOTHING)

    def __sub__(self, other: "Estimate") -> "Estimate":
        """The paired difference; both must stand over the same clusters.

        Two shares over one denominator, query by query, have a change of shares; two of other
        cases, such as precisions, a difference.
        """
        change = combine([(1.0, self), (-1.0, other)])
        if not (self.kind == other.kind == "share") or not math.isfinite(change.value):
            return change
        same = self.size == other.size and np.array_equal(self.parts[:, 1:], other.parts[:, 1:])
        if same:
            return replace(change, kind="change", size=self.size, makers=math.inf)
        return replace(change, kind="difference", shares=(self, other), makers=math.inf)


UNDEFINED = Estimate(math.nan, _NOTHING)


def too_few(makers: float, figure: str, needed: int = LEAST_QUERIES) -> str:
    """Why a figure has no interval: few queries make it. Empty of enough."""
    if makers >= needed:
        return ""
    subject = "1 query makes" if round(makers) == 1 else f"{makers:.0f} queries make"
    return f"{subject} the {figure}; an interval needs {needed}"


def _share_interval(
    value: float, size: float, critical: float, confidence: float
) -> tuple[float, float]:
    """Wilson's interval, neither end nearer than an exact bound at twice the risk.

    Near 0 and 1 Wilson's nearer end misses too often: where one row in 450 is an event, a study of
    56 holds it in an eighth of tries, and its lower end then lies above the share (Brown, Cai &
    DasGupta 2001, doi:10.1214/ss/1009213286, section 4.1.1).

    Args:
        value: The share.
        size: Effective rows; NaN or 0 is none.
        critical: Quantile of Wilson's interval.
        confidence: Of each end.
    """
    low, high = wilson_interval(value, size, critical)
    if not size > 0:
        return low, high
    exact = beta_bounds(min(value, 1.0) * size, size, 2 * confidence - 1)
    return min(low, exact.low), max(high, exact.high)


def _jackknife_error(without: FloatArray, value: float, clusters: int) -> float:
    """The error of leaving one cluster out, about the figure itself.

    Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 11.
    """
    return float(np.sqrt(((without - value) ** 2).sum() * (1 - 1 / clusters)))


def _inverted_p(figure: Estimate) -> float:
    """The level at which the nearer end of the interval is 0."""
    from scipy.optimize import brentq

    nearer, sign = (0, 1) if figure.value > 0 else (1, -1)
    most = 1 - 1e-12
    if sign * figure.limits(most)[nearer] > 0:
        return 2 * (1 - most)
    confidence = brentq(lambda c: figure.limits(c)[nearer], 0.5 + 1e-9, most)
    return 2 * (1 - float(confidence))


def _draw_quantiles(replicates: FloatArray, confidence: float) -> tuple[float, float]:
    """Quantiles of what was drawn; NaN if all draws are alike, or half of them undefined."""
    defined = replicates[np.isfinite(replicates)]
    if 2 * len(defined) < len(replicates) or not len(defined) or np.ptp(defined) == 0:
        return NO_INTERVAL
    low, high = np.quantile(defined, [1 - confidence, confidence])
    return float(low), float(high)


def _percentile_p(replicates: FloatArray) -> float:
    """Two-sided p of 0 by the percentile interval: the level at which that would end at 0.

    Replicates at exactly 0 count on either side, so p is below .05 exactly where the middle 95 %
    leave 0 out.
    """
    draws = np.sort(replicates[np.isfinite(replicates)])
    places = np.linspace(0, 1, len(draws))
    below, above = np.interp(0.0, draws, places), np.interp(0.0, -draws[::-1], places)
    return float(min(1.0, max(2 * min(below, above), 2 / (len(draws) + 1))))


def combine(terms: list[tuple[float, Estimate]]) -> Estimate:
    """A weighted sum of estimates over the same clusters, with its paired error.

    Raises:
        ValueError: They stand over different numbers of clusters, or are summed up.
    """
    value = sum(weight * term.value for weight, term in terms)
    if not math.isfinite(value):
        return UNDEFINED
    figures = [term for _, term in terms]
    drawn = all(term.kind == "drawn" for term in figures)
    if not drawn and any(len(term.influence) < term.clusters for term in figures):
        raise ValueError("estimates that were summed up have no paired error")
    if len({len(term.influence) for term in figures}) > 1:
        raise ValueError("estimates over different clusters")

    def added(name: str) -> FloatArray:
        """An array of the terms, added up where all of them have it."""
        arrays = [weight * getattr(term, name) for weight, term in terms]
        return sum(arrays, np.zeros(1)) if len({array.shape for array in arrays}) == 1 else _NOTHING

    whole = Estimate(
        value,
        added("influence"),
        max(term.clusters for term in figures),
        kind="drawn" if drawn else "jackknife",
        without=added("without"),
        parts=added("parts"),
        unavailable=_unavailable([term.unavailable for term in figures]),
        is_change=True,
        effective=min((term.effective for term in figures if term.effective > 0), default=math.nan),
        heaviest=max((term.heaviest for term in figures if term.heaviest > 0), default=math.nan),
        weight_degrees=min(term.weight_degrees for term in figures),
        pairs=max(term.pairs for term in figures),
        replicates=added("replicates"),
    )
    if drawn:
        return whole
    moves = whole.moves if whole.parts.size else np.abs(whole.influence)
    moved = effective_number(moves) if moves.any() else 0.0
    return replace(whole, makers=min(moved, *(term.makers for term in figures)))


def _unavailable(reasons: list[str]) -> str:
    """Why a sum has no interval: what is fixed by design takes none from what varies."""
    others = [reason for reason in reasons if reason != BY_DESIGN]
    return next(filter(None, others), "") if others else BY_DESIGN


def effective_number(weights: FloatArray) -> float:
    """Equally heavy clusters that would tell as much: ``(sum w)^2 / sum w^2``; NaN of none.

    Kish (1965), Survey Sampling, section 11.7.
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares > 0 else math.nan


def weigh(figure: Estimate, weights: FloatArray) -> Estimate:
    """The figure with what the weights of its queries tell of it.

    Args:
        figure: An estimate without these.
        weights: Of each cluster in it, 0 where it has no rows. Shape ``(clusters,)``.
    """
    if math.isnan(figure.value) or not weights.any():
        return figure
    return replace(
        figure,
        effective=effective_number(weights),
        heaviest=float(weights.max() / weights.sum()),
        weight_degrees=max(1.0, effective_number(weights**2) - 1),
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
    rows = int(sums.any(axis=1).sum())
    return Estimate(value, sums @ gradient, rows, without=without, parts=sums, makers=rows)


def clustered_mean(values: FloatArray, clusters: Clusters, *, kind: Kind = "jackknife") -> Estimate:
    """A mean; NaN of no values. Shape ``(n,)``."""
    return clustered_ratio(values, np.ones_like(values), clusters, kind=kind)


def as_loss(mean: Estimate) -> Estimate:
    """A mean loss: its interval is the logarithm's, and needs ``LEAST_UNEVEN`` queries.

    Few mistakes make most of a loss, and a small study that has none of them shows no sign of it.
    """
    return replace(mean, scale="log", unavailable=too_few(mean.clusters, "loss", LEAST_UNEVEN))


def clustered_ratio(
    parts: FloatArray,
    wholes: FloatArray,
    clusters: Clusters,
    *,
    kind: Kind = "jackknife",
) -> Estimate:
    """``sum(parts) / sum(wholes)``, such as a recall; NaN of an empty whole. Shapes ``(n,)``.

    The kind ``share`` says that it is a proportion, ``change`` that the parts are the differences
    of two.
    """
    if not float(wholes.sum()):
        return UNDEFINED
    counts = wholes != 0
    weights = clusters.weights(counts)
    weighted = weights * wholes
    sums = clusters.sums(weights * parts, weighted)
    quotient = weigh(estimate(sums, _ratio, clusters), sums[:, 1])
    # Rows of one weight that would tell as much (Kish 1965); as many as there are, of weight 1.
    rows = float(weighted.sum()) / (float((weights * weighted).sum()) / float(weighted.sum()))
    is_proportion = kind != "jackknife"
    return replace(
        quotient,
        kind=kind,
        size=rows if is_proportion else math.nan,
        makers=math.inf if is_proportion else float(np.count_nonzero(sums[:, 0])),
        pairs=int(counts.sum()) if clusters.alike else 0,
    )


def _ratio(totals: NDArray[np.inexact]) -> NDArray[np.inexact]:
    return totals[..., 0] / totals[..., 1]


# --- intervals of shares ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bounds:
    """Two one-sided bounds; each alone has the confidence. NaN is undefined."""

    low: float
    high: float


def student_quantile(degrees: float, confidence: float = 0.975) -> float:
    """Quantile of Student's t, normal of infinite degrees; the usual one is that of 95 %."""
    # Imported late: scipy takes longer to load than most commands take to run.
    from scipy.special import ndtri, stdtrit

    return float(ndtri(confidence) if math.isinf(degrees) else stdtrit(degrees, confidence))


def wilson_interval(share: float, size: float, critical: float = Z_95) -> tuple[float, float]:
    """The score interval of a proportion of ``size`` draws, whole or not; NaN of none.

    Wilson (1927), doi:10.1080/01621459.1927.10502953.
    """
    # statsmodels has it too, and takes a second to import.
    if not size > 0:
        return NO_INTERVAL
    z2 = critical**2 / size
    centre, half = share + z2 / 2, math.sqrt(max(0.0, z2 * (share * (1 - share) + z2 / 4)))
    low, high = (centre - half) / (1 + z2), (centre + half) / (1 + z2)
    # Of no hits, and of nothing but hits, the ends are 0 and 1 but for rounding.
    return max(0.0, low), min(1.0, high)


def added_queries(value: float, error: float, queries: int, step: float) -> tuple[float, float]:
    """Mean and error of a change of shares with two queries added: one up, and one down.

    After Agresti & Min (2005), doi:10.1002/sim.1781, with queries in place of cases: the interval
    is never of no width, however few queries moved.

    Args:
        value: The change.
        error: Its clustered error.
        queries: Clusters, 1 and up.
        step: Distance that an added query moves, in the mean over queries.
    """
    mean = queries * value / (queries + 2)
    squares = queries * (queries - 1) * error**2 if error > 0 else 0.0
    squares += queries * (value - mean) ** 2 + 2 * (step**2 + mean**2)
    return mean, math.sqrt(squares / (queries + 1) / (queries + 2))


Ends = tuple[float, float, float]
"""A value and both ends of its interval."""


def square_and_add(first: Ends, second: Ends, correlation: float = 0.0) -> Ends:
    """First minus second, and its interval from the interval of each; NaN if either has none.

    Newcombe (1998), Statistics in Medicine 17, methods 10 and, of correlated shares, of the paper
    that follows it (2635-2650). Where the second holds the first, and their correlation is taken
    for 0, the interval is too wide rather than too narrow.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, second

    def half(distance: float, other: float) -> float:
        square = distance**2 + other**2 - 2 * correlation * distance * other
        # Round-off may put a square of nothing below 0; NaN stays.
        return math.sqrt(square) if square > 0 else 0.0 * square

    low, high = half(a - a_low, b_high - b), half(a_high - a, b - b_low)
    return a - b, a - b - low, a - b + high


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
