"""Runs with changed contexts beside whole ones: parts removed, parts swapped, explanations."""

from casewise.analyses.shape import Analysis, Line, analysis
from casewise.protocols import RunCondition
from casewise.scores import SMALLEST, ScoreReport

CHANGES = (
    *("accuracy", "appropriate", "follows", "false_changes", "pcc"),
    *("safe_recall", "unsafe_recall", "over_refusal", "under_refusal", "brier"),
)
"""Measures whose changes a reader is shown, of judges and of models that act."""


@analysis
def ablation(report: ScoreReport) -> Analysis:
    """Change of every measure when parts of the context are removed."""
    lines = [
        Line(row.change.condition, _removed(row.change.condition), row.change.n, row.change.change)
        for row in report.rows
        if row.change is not None and row.change.condition.ablation
    ]
    return Analysis(
        "ablation",
        "Change when parts of the context are removed",
        "What is lost when a part of the context is removed?",
        lines,
        "Shortened minus whole, over the cases that both answered. Below zero the model needed "
        "what was taken away.",
        "No shortened run stands beside its whole one: casewise run --ablate makes them.",
        shown=CHANGES,
        is_change=True,
    )


def _removed(condition: RunCondition) -> str:
    """What was removed, in words."""
    text = RunCondition(ablation=condition.ablation).text
    return text.partition(", ")[2].replace("_", " ")


@analysis
def shapley(report: ScoreReport) -> Analysis:
    """What each group of parameters adds to a measure."""
    lines = [
        Line(row.shapley.condition, group.replace("_", " "), row.shapley.n, shares)
        for row in report.rows
        if row.shapley is not None
        for group, shares in row.shapley.shares.items()
    ]
    return Analysis(
        "shapley",
        "Shapley shares of the parts of the context",
        "Which part of the context does the work?",
        lines,
        "What sender, recipient and transmission principle each add to a measure, averaged over "
        "the orders in which they can be added; they sum to what the whole context does.",
        "Shapley shares need a run without every subset of sender, recipient and transmission "
        "principle: casewise run --ablate makes them.",
        shown=CHANGES,
        is_change=True,
    )


@analysis
def swaps(report: ScoreReport) -> Analysis:
    """Share of cases that one part of the twin's context flips."""
    lines = []
    for found in report.counterfactuals:
        for part, swap in found.swaps.items():
            flips = {"flips": swap.flip_rate, "to the twin's side": swap.toward}
            lines.append(Line(found.condition, part.replace("_", " "), swap.n, flips))
    return Analysis(
        "swaps",
        "Swaps of one part with the twin",
        "Which part of the twin's context flips the model?",
        lines,
        "One part of each context is taken from its twin. What flips most is what the model goes "
        "by; a part that ought to matter and flips nothing is not read.",
        "No part of a context was swapped with the twin's: casewise run --swap each.",
    )


@analysis
def smallest_swap(report: ScoreReport) -> Analysis:
    """Share of cases by the smallest swap that flips them."""
    names = {"parameter": "one parameter", "group": "one group", "none": "none asked"}
    lines = [
        Line(one.condition, "", one.n, {names[size]: one.smallest[size] for size in SMALLEST})
        for one in report.counterfactuals
    ]
    return Analysis(
        "smallest-swap",
        "Smallest change towards the twin that flips it",
        "How small a change towards the twin flips the model?",
        lines,
        "Shares of cases; they sum to 1.",
    )


@analysis
def explanations(report: ScoreReport) -> Analysis:
    """Movement of answers when a parameter is removed, by whether the explanation names it."""
    lines = []
    for found in report.faithfulness:
        for what, moved in (("verdict changes", found.verdict), ("P(safe) moves", found.p_safe)):
            if moved is None:
                continue
            n = moved.n_mentioned + moved.n_unmentioned
            lines += [
                Line(found.condition, f"{what}, named", moved.n_mentioned, {"by": moved.mentioned}),
                Line(
                    found.condition,
                    f"{what}, not named",
                    moved.n_unmentioned,
                    {"by": moved.unmentioned},
                ),
                Line(found.condition, f"{what}, difference", n, {"by": moved.difference}),
            ]
    return Analysis(
        "explanations",
        "Removed parameters by whether the explanation names them",
        "Do explanations name what changes the verdict?",
        lines,
        "If explanations are faithful, removing a parameter changes the verdict more often where "
        "the explanation names it: a difference above 0.",
        "No run explains its verdicts beside runs without single parameters.",
    )
