"""Effect of removing parts of the context on a score."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import polars as pl

from casewise.cases import GROUPS
from casewise.protocols import RunCondition
from casewise.scores._condition_scores import (
    ANSWER_KEYS,
    Score,
    Scoring,
    conditions,
    differences,
    score_together,
    weighted_sum,
)
from casewise.statistics import Estimate

Part = tuple[RunCondition, pl.DataFrame]


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
