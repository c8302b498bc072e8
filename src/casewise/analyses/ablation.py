"""Contexts with parts removed beside whole ones: the change of every measure, Shapley shares."""

from itertools import combinations
from math import factorial

from casewise.analyses.pairing import Run, changed_runs
from casewise.cases import GROUPS
from casewise.measures import find_measure
from casewise.protocols import RunCondition
from casewise.results import Analysis, Line, Score, Scores, analysis, differences, score_together
from casewise.statistics import Estimate, combine

CHANGES = (
    *("accuracy", "appropriate", "follows", "false_changes", "pcc"),
    *("safe_recall", "unsafe_recall", "over_refusal", "under_refusal", "brier"),
)
"""Measures whose changes a reader is shown, of judges and of models that act."""


@analysis
def ablation(scores: Scores) -> Analysis:
    """Change of every measure when parts of the context are removed."""
    return Analysis(
        "ablation",
        "Change when parts of the context are removed",
        "What is lost when a part of the context is removed?",
        [
            changed_line(scores, whole, run, _removed_parts(run[0]))
            for whole, shortened in changed_runs(scores, "ablation")
            for run in shortened
        ],
        "Shortened minus whole, over the cases that both answered. Below zero the model needed "
        "what was taken away.",
        shown=CHANGES,
        is_change=True,
    )


def changed_line(scores: Scores, whole: Run, changed: Run, part: str) -> Line:
    """Changed run minus whole one in every measure, with the paired error."""
    before, after = score_together([whole, changed], scores.scoring.rule(whole[1]), scores.scoring)
    return Line(whole[0], part, after.n, differences(before, after))


def _removed_parts(condition: RunCondition) -> str:
    """What was removed, in words."""
    text = RunCondition(ablation=condition.ablation).text
    return text.partition(", ")[2].removeprefix("without ").replace("_", " ")


@analysis
def shapley(scores: Scores) -> Analysis:
    """What each group of parameters adds to a measure.

    Shapley (1953), doi:10.1515/9781400881970-018: what it adds to a subset of the others, averaged
    over the orders in which groups can be added. The cases are those that all eight runs answered.
    """
    subsets = [frozenset(groups) for r in range(4) for groups in combinations(GROUPS, r)]
    lines = []
    for whole, shortened in changed_runs(scores, "ablation"):
        runs = {frozenset(run[0].ablation): run for run in shortened[::-1]} | {frozenset(): whole}
        if runs.keys() >= set(subsets):
            rule = scores.scoring.rule(whole[1])
            parts = score_together([runs[subset] for subset in subsets], rule, scores.scoring)
            by_removed = dict(zip(subsets, parts, strict=True))
            lines += [
                Line(whole[0], group.replace("_", " "), parts[0].n, _shares(group, by_removed))
                for group in GROUPS
            ]
    return Analysis(
        "shapley",
        "Shapley shares of the parts of the context",
        "Which part of the context does the work?",
        lines,
        "What sender, recipient and transmission principle each add to a measure, averaged over "
        "the orders in which they can be added; they sum to what the whole context does.",
        shown=CHANGES,
        is_change=True,
    )


def _shares(group: str, scores: dict[frozenset[str], Score]) -> dict[str, Estimate]:
    """Share of a group in every measure that is compared, by the groups that were removed."""
    weights = _weights(group)
    return {
        name: combine(
            [(weight, scores[removed].measures[name]) for removed, weight in weights.items()]
        )
        for name in scores[frozenset()].measures
        if find_measure(name).compared
    }


def _weights(group: str) -> dict[frozenset[str], float]:
    """Weight of each run in a group's share, by the groups that were removed."""
    everyone = frozenset(GROUPS)
    weights = {}
    for r in range(len(everyone)):
        for others in map(frozenset, combinations(sorted(everyone - {group}), r)):
            weight = factorial(r) * factorial(len(everyone) - r - 1) / factorial(len(everyone))
            weights[everyone - others] = -weight
            weights[everyone - others - {group}] = weight
    return weights
