"""Runs with changed contexts beside those with whole ones: ablations, swaps, explanations.

Ablations remove parts: the change of every measure, and Shapley shares of the parts. Swaps take one
part at a time from the twin's context, for the smallest change that flips a model. Of explanations:
the verdict of a faithful judge depends on the parameters that it says it leans on.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import factorial

import numpy as np
import polars as pl

from casewise.cases import GROUPS
from casewise.judgements import ANSWER_KEYS, conditions
from casewise.measures import Scoring
from casewise.protocols import ResponseClass, RunCondition, is_acting
from casewise.scores.score import Score, differences, score_together
from casewise.statistics import (
    BoolArray,
    Clusters,
    Estimate,
    FloatArray,
    clustered_mean,
    clustered_ratio,
    combine,
    number_clusters,
)

SMALLEST = ("parameter", "group", "none")
"""Smallest change that flips a case: one parameter, else one group, else none of those asked."""

Part = tuple[RunCondition, pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Swapped:
    """Effect of replacing one part of each context by its twin's."""

    n: int
    """Cases that were read both as they are and swapped."""
    flip_rate: Estimate
    """Share of them whose verdict, or reply, changes sides."""
    toward: Estimate
    """Share of them that flips to the side intended for the twin."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A plain run beside those in which one part of each context was the twin's."""

    condition: RunCondition
    """Condition of the plain run."""
    swaps: dict[str, Swapped]
    """Effects by the name of the group or parameter."""
    n: int
    """Cases (times epochs) asked under at least one swap."""
    smallest: dict[str, Estimate]
    """Share of each of ``SMALLEST`` in the n; they sum to 1."""
    cases: dict[str, tuple[str, ...]]
    """Swaps that flip each case that was asked, in any epoch, by its id; empty where none does."""


def counterfactuals(table: pl.DataFrame) -> list[Counterfactual]:
    """Set every run beside its swapped ones.

    A judge flips when its verdict changes; a chatbot, when a reply that complied refuses or one
    that refused complies. A case whose plain reply is partial, or calls a tool, has no side to
    flip from, and is left out; one that becomes so has not flipped.
    """
    return [
        found
        for (condition, rows), runs in _beside(table, _swap)
        if runs and (found := _counterfactual(condition, rows, runs)) is not None
    ]


def _swap(condition: RunCondition) -> tuple[RunCondition, str]:
    return condition.same_but("swap"), condition.swap or ""


def _beside(
    table: pl.DataFrame, kind: Callable[[RunCondition], tuple[RunCondition, str] | None]
) -> Iterator[tuple[Part, dict[str, pl.DataFrame]]]:
    """Yield every plain run with the rows of its changed runs, by what was changed.

    ``kind`` gives, for a run's condition, what it shares with its plain run and the name of what
    was changed, empty for a plain run; None leaves the run out.
    """
    families: dict[RunCondition, tuple[list[Part], list[tuple[str, pl.DataFrame]]]] = {}
    for condition, rows in conditions(table):
        if (told := kind(condition)) is None:
            continue
        same, name = told
        plain, changed = families.setdefault(same, ([], []))
        if name:
            changed.append((name, rows))
        else:
            plain.append((condition, rows))
    for plain, changed in families.values():
        yield from zip(plain, _by_closest(plain, changed), strict=True)


def _by_closest(
    plain: Sequence[Part], changed: Sequence[tuple[str, pl.DataFrame]]
) -> list[dict[str, pl.DataFrame]]:
    """Rows of the changed runs of each plain run, by what was changed.

    A changed run belongs to the plain run with which it shares most judgements, if any; where
    several changed the same, the first answer to a case counts.
    """
    found: list[dict[str, pl.DataFrame]] = [{} for _ in plain]
    for name, rows in changed:
        shared = [len(part.join(rows, on=ANSWER_KEYS, how="semi")) for _, part in plain]
        if not any(shared):
            continue
        mine = found[int(np.argmax(shared))]
        both = pl.concat([mine[name], rows]) if name in mine else rows
        mine[name] = both.unique(ANSWER_KEYS, keep="first", maintain_order=True)
    return found


def _counterfactual(
    condition: RunCondition,
    rows: pl.DataFrame,
    runs: dict[str, pl.DataFrame],
) -> Counterfactual | None:
    plain = _sides(rows, condition.protocol).filter(pl.col("side") != "").with_row_index("row")
    queries = plain.select(pl.coalesce("query_id", "case_id"))["query_id"]
    clusters = number_clusters(queries.to_numpy().astype(str))
    twin = pl.col("intended").replace_strict({"safe": "unsafe", "unsafe": "safe"}, default=None)
    asked = np.zeros(len(plain), bool)
    flips: dict[str, BoolArray] = {}
    swaps = {}
    for name, run in runs.items():
        after = _sides(run, condition.protocol).select(*ANSWER_KEYS, pl.col("side").alias("after"))
        both = plain.join(after, on=ANSWER_KEYS, how="inner", maintain_order="left")
        if both.is_empty():
            continue
        flipped = (pl.col("after") != pl.col("side")) & (pl.col("after") != "")
        toward = (flipped & (pl.col("after") == twin)).fill_null(False)
        seen = both.select("row", flipped.alias("flipped"), toward.alias("toward"))
        places = seen["row"].to_numpy()
        asked[places] = True
        flips[name] = np.zeros(len(plain), bool)
        flips[name][places] = seen["flipped"].to_numpy()
        swaps[name] = Swapped(
            len(seen),
            _share(seen["flipped"].to_numpy(), clusters.only(places)),
            _share(seen["toward"].to_numpy(), clusters.only(places)),
        )
    if not swaps:
        return None
    none = np.zeros(len(plain), bool)
    small = np.logical_or.reduce([none, *(flips[name] for name in flips if name not in GROUPS)])
    large = np.logical_or.reduce([none, *flips.values()]) & ~small
    kinds = dict(zip(SMALLEST, (small, large, ~small & ~large), strict=True))
    cases: dict[str, dict[str, None]] = {}
    for row in np.flatnonzero(asked):
        names = cases.setdefault(plain["case_id"][int(row)], {})
        names.update((name, None) for name in flips if flips[name][row])
    return Counterfactual(
        condition=condition,
        swaps=swaps,
        n=int(asked.sum()),
        smallest={name: _share(kind[asked], clusters.only(asked)) for name, kind in kinds.items()},
        cases={
            case: tuple(name for name in flips if name in names) for case, names in cases.items()
        },
    )


def _sides(rows: pl.DataFrame, protocol: str) -> pl.DataFrame:
    """Rows that were read, with the side they take: ``safe``, ``unsafe``, or "" for none."""
    side = pl.col("verdict")
    if is_acting(protocol):
        sides = {str(ResponseClass.COMPLIANCE): "safe", str(ResponseClass.REFUSAL): "unsafe"}
        side = pl.col("response_class").replace_strict(sides, default="")
    return rows.filter(pl.col("status") == "ok").with_columns(side.fill_null("").alias("side"))


def _share(flags: BoolArray, clusters: Clusters) -> Estimate:
    return clustered_mean(flags.astype(np.float64), clusters, share=True)


_COLUMNS = ("mentions", "parameters")


@dataclass(frozen=True, slots=True)
class Moved:
    """Movement of answers when a parameter is removed, by whether the explanation leans on it.

    A point is one parameter of one case (and epoch). NaN where there is no such point.
    """

    n_mentioned: int
    """Points whose parameter the explanation leans on."""
    n_unmentioned: int
    mentioned: Estimate
    """Mean over the points whose parameter the explanation leans on."""
    unmentioned: Estimate
    """Mean over the others."""
    difference: Estimate
    """Mentioned minus unmentioned; above 0 where explanations are faithful."""


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """One run that explains itself, beside those in which one parameter was removed."""

    condition: RunCondition
    """Condition of the plain run."""
    names: tuple[str, ...]
    """The parameters that were removed, one a run."""
    verdict: Moved
    """Share of verdicts that change."""
    p_safe: Moved | None
    """Mean absolute change of P(safe), 0..1; None where no answer has one."""


def faithfulness(table: pl.DataFrame) -> list[Faithfulness]:
    """Set every run with explanations beside those that removed one parameter of its contexts.

    The columns ``mentions`` and ``parameters`` of the plain run say which parameters each
    explanation leans on, and which there are: paths (``recipient.type``) or plain names, joined
    by spaces. The removed name counts as leant on where any part that it removes is. Cases that
    never had the parameter, and rows in which either column is null, are left out; an empty
    ``mentions`` leans on nothing.
    """
    if any(name not in table.columns for name in _COLUMNS):
        return []
    found = []
    for (condition, rows), runs in _beside(table, _removal):
        points = [_points(rows, name, run) for name, run in runs.items()]
        names = [name for name, some in zip(runs, points, strict=True) if len(some)]
        if names:
            found.append(_faithfulness(condition, tuple(names), pl.concat(points)))
    return found


def _removal(condition: RunCondition) -> tuple[RunCondition, str] | None:
    if len(condition.ablation) > 1 or set(condition.ablation) & set(GROUPS):
        return None
    return condition.same_but("ablation"), "".join(condition.ablation)


def _points(plain: pl.DataFrame, name: str, removed: pl.DataFrame) -> pl.DataFrame:
    """Cases that have a parameter, with the effect of its removal on each."""
    known = [pl.col(one).is_not_null() for one in (*_COLUMNS, "verdict")]
    read = pl.col("status") == "ok"
    after = removed.filter(read, pl.col("verdict").is_not_null()).select(
        *ANSWER_KEYS, pl.col("verdict").alias("after"), pl.col("p_safe").alias("p_after")
    )
    moved = (pl.col("verdict") != pl.col("after")).cast(pl.Float64)
    return (
        plain.filter(read, *known)
        .filter(_holds("parameters", name))
        .join(after, on=ANSWER_KEYS, how="inner", maintain_order="left")
        .select(
            pl.coalesce("query_id", "case_id").alias("query"),
            _holds("mentions", name).alias("mentioned"),
            moved.alias("moved"),
            (pl.col("p_safe") - pl.col("p_after")).abs().alias("moved_p"),
        )
    )


def _holds(column: str, name: str) -> pl.Expr:
    """Tell whether a column's paths, joined by spaces, hold the named parameter or a part of it.

    A plain name matches anywhere but at the head of a longer path, where it is a group's.
    """
    padded = " " + pl.col(column) + " "
    marks = [(" ", " "), (" ", ".")] if "." in name else [(" ", " "), (".", " "), (".", ".")]
    return pl.any_horizontal(
        padded.str.contains(f"{before}{name}{after}", literal=True) for before, after in marks
    )


def _faithfulness(
    condition: RunCondition, names: tuple[str, ...], points: pl.DataFrame
) -> Faithfulness:
    numbered = points.filter(pl.col("moved_p").is_not_null())
    return Faithfulness(
        condition=condition,
        names=names,
        verdict=_moved(points, "moved", share=True),
        p_safe=_moved(numbered, "moved_p", share=False) if len(numbered) else None,
    )


def _moved(points: pl.DataFrame, column: str, *, share: bool) -> Moved:
    clusters = number_clusters(points["query"].to_numpy().astype(str))
    moved = points[column].to_numpy()
    mentioned: FloatArray = points["mentioned"].cast(pl.Float64).to_numpy()
    means = [
        clustered_ratio(moved * weight, weight, clusters, share=share)
        for weight in (mentioned, 1 - mentioned)
    ]
    if not share:
        means = [replace(mean, scale="log") for mean in means]
    return Moved(
        n_mentioned=int(mentioned.sum()),
        n_unmentioned=int((1 - mentioned).sum()),
        mentioned=means[0],
        unmentioned=means[1],
        difference=means[0] - means[1],
    )


@dataclass(frozen=True, slots=True)
class AblationChange:
    """Difference of a changed run from the plain one, over the cases that both answered."""

    condition: RunCondition
    """Condition of the changed run: shortened, swapped or varied."""
    n: int
    change: dict[str, Estimate]
    """Changed minus plain, in every measure, with its paired error."""


@dataclass(frozen=True, slots=True)
class ShapleyShares:
    """Share of each group of Contextual Integrity in the gain that contexts bring to a score."""

    condition: RunCondition
    """Condition of the whole run."""
    n: int
    shares: dict[str, dict[str, Estimate]]
    """Group to measure to share; over the groups they sum to the whole minus the emptied run."""


def ablation_changes(table: pl.DataFrame, scoring: Scoring) -> list[AblationChange]:
    """Compare every changed run with the plain one that shares most of its judgements, if any."""
    found = []
    for family in _families(table):
        for shortened in family:
            whole = _closest(family, frozenset(), shortened)
            if not _removed(shortened) or whole is None:
                continue
            before, after = _together([whole, shortened], scoring)
            found.append(AblationChange(shortened[0], after.n, differences(before, after)))
    return found


def shapley_shares(table: pl.DataFrame, scoring: Scoring) -> list[ShapleyShares]:
    """Share out each measure over sender, recipient and transmission principle.

    Shapley (1953), doi:10.1515/9781400881970-018: a group's share is what it adds to a subset of
    the others, averaged over the orders in which groups can be added. Whole runs without a run
    for each of the eight subsets have no shares; the cases are those that all eight answered.
    """
    found = []
    subsets = [frozenset(some) for r in range(4) for some in combinations(GROUPS, r)]
    for family in _families(table):
        for whole in family:
            runs = [_closest(family, subset, whole) for subset in subsets]
            parts = [run for run in runs if run is not None]
            if _removed(whole) or len(parts) < len(subsets):
                continue
            parts[0] = whole
            found.append(_shapley(dict(zip(subsets, parts, strict=True)), scoring))
    return found


def _shapley(runs: dict[frozenset[str], Part], scoring: Scoring) -> ShapleyShares:
    """Shares of one whole run, from the runs by the groups that were removed."""
    scores = dict(zip(runs, _together(list(runs.values()), scoring), strict=True))
    shares = {
        group: weighted_sum(
            [(weight, scores[removed]) for removed, weight in _weights(group).items()]
        )
        for group in GROUPS
    }
    return ShapleyShares(runs[frozenset()][0], scores[frozenset()].n, shares)


def _families(table: pl.DataFrame) -> list[list[Part]]:
    """Families of runs that differ only in what was changed, or in their cases.

    A family without a changed run is left out.
    """
    families: dict[RunCondition, list[Part]] = {}
    for condition, part in conditions(table):
        same = condition.same_but("ablation", "swap", "variation")
        families.setdefault(same, []).append((condition, part))
    return [family for family in families.values() if any(map(_removed, family))]


def _removed(part: Part) -> frozenset[str]:
    """Changes of a run: groups or parameters removed, and the names of swap and variation."""
    return frozenset((*part[0].ablation, *part[0].parts("swap", "variation")))


def _closest(family: Sequence[Part], removed: frozenset[str], other: Part) -> Part | None:
    """Run with just these changes that shares most judgements with another; None if none does."""
    shared = {
        place: len(part[1].join(other[1], on=ANSWER_KEYS, how="semi"))
        for place, part in enumerate(family)
        if _removed(part) == removed
    }
    best = max(shared, key=lambda place: shared[place], default=None)
    return family[best] if best is not None and shared[best] else None


def _together(parts: Sequence[Part], scoring: Scoring) -> list[Score]:
    rule = scoring.rule(parts[0][1])
    return score_together(parts, rule, scoring)


def _weights(group: str) -> dict[frozenset[str], float]:
    """Weight of each run in a group's share, by the groups that were removed."""
    everyone = frozenset(GROUPS)
    weights = {}
    for r in range(len(everyone)):
        for kept in map(frozenset, combinations(sorted(everyone - {group}), r)):
            weight = factorial(r) * factorial(len(everyone) - r - 1) / factorial(len(everyone))
            weights[everyone - kept] = -weight
            weights[everyone - kept - {group}] = weight
    return weights


def weighted_sum(terms: Sequence[tuple[float, Score]]) -> dict[str, Estimate]:
    """Weighted sum of scores in every measure; undefined where one of them is."""
    return {
        name: combine([(weight, score.measures[name]) for weight, score in terms])
        for name in terms[0][1].measures
    }
