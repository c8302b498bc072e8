"""What came out: measures with their intervals, what was read, what it took."""

from collections.abc import Mapping, Sequence

from casewise.analysis import Estimate, RunFacts, Score, ScoreReport, Usage
from casewise.reporting._scores import baseline_text, describe_condition, number
from casewise.reporting._wording import wording
from casewise.reporting.card._markdown import Table

_JUDGED = {
    "accuracy": "accuracy",
    "safe_recall": "recall safe",
    "unsafe_recall": "recall unsafe",
    "pcc": "PCC",
    "brier": "Brier",
}
_IN_CONTEXT = {
    "within_pcc_safe": "PCC in safe contexts",
    "within_pcc_unsafe": "PCC in unsafe contexts",
    "adapts": "adapts",
    "always_safe": "always safe",
    "always_unsafe": "always unsafe",
    "inverted": "inverted",
}
_ACTED = {
    "over_refusal": "over-refusal",
    "under_refusal": "under-refusal",
    "appropriate": "appropriate",
    "partial_rate": "partial",
}
_IN_PAIRS = {
    "adapts": "adapts",
    "always_answers": "always answers",
    "always_refuses": "always refuses",
    "inverted": "inverted",
    "mixed": "mixed",
}
_WHO = ("run", "model", "condition")

Numbered = Sequence[tuple[int, RunFacts, Score]]
"""Runs with their number in the card and their score."""


def with_interval(estimate: Estimate) -> str:
    """A figure and its 95 % interval: ``.812 (.771 to .853)``."""
    low, high = estimate.interval
    shown = number(estimate.value)
    return shown if low != low else f"{shown} ({number(low)} to {number(high)})"


def rename(text: str, shown: Mapping[str, str]) -> str:
    """A text with its models named as they may be shown, the longest names first."""
    for name in sorted(shown, key=len, reverse=True):
        text = text.replace(name, shown[name])
    return text


def judging_table(runs: Numbered, report: ScoreReport, shown: Mapping[str, str]) -> Table:
    """Judges, and below them what they are to be held against.

    Args:
        runs: The judges.
        report: Their baselines.
        shown: How each model is named.
    """
    rows = [
        [*_who(place, run, score), str(score.n), number(score.coverage), *_cells(score, _JUDGED)]
        for place, run, score in runs
    ]
    rows += [
        [
            "",
            "baseline",
            rename(baseline_text(score), shown),
            str(score.n),
            "–",
            *_cells(score, _JUDGED),
        ]
        for score in report.baselines
    ]
    return Table([*_WHO, "n", "read", *_JUDGED.values()], rows, len(_WHO))


def context_table(runs: Numbered) -> Table:
    """What the two contexts of a query do to verdicts."""
    graded = wording(*(score for _, _, score in runs)).graded
    kept = {name: head for name, head in _IN_CONTEXT.items() if graded or "within" not in name}
    return _pairs_table(runs, kept)


def acting_table(runs: Numbered) -> Table:
    """Refusals of what is labelled safe, and answers to what isn't."""
    rows = [
        [*_who(place, run, score), str(score.n), number(score.coverage), *_cells(score, _ACTED)]
        for place, run, score in runs
    ]
    return Table([*_WHO, "n", "graded", *_ACTED.values()], rows, len(_WHO))


def reply_table(runs: Numbered) -> Table:
    """What models do in the two contexts of a query."""
    return _pairs_table(runs, _IN_PAIRS)


def _pairs_table(runs: Numbered, columns: Mapping[str, str]) -> Table:
    rows = [
        [*_who(place, run, score), str(score.pairs), *_cells(score, columns)]
        for place, run, score in runs
        if score.pairs
    ]
    return Table([*_WHO, "pairs", *columns.values()], rows, len(_WHO))


def coverage_table(runs: Numbered) -> Table:
    """What became of every judgement, and what the unread ones could do."""
    rows = []
    for place, run, score in runs:
        statuses = ", ".join(f"{count} {name}" for name, count in sorted(score.statuses.items()))
        bounds = "; ".join(
            f"{name.replace('_', '-')} {number(low)} to {number(high)}"
            for name, (low, high) in score.bounds.items()
        )
        row = [*_who(place, run, score), statuses or "–", bounds if score.coverage < 1 else "–"]
        figures = [str(run.judgements), number(score.label_coverage), number(score.coverage)]
        rows.append([*row, *figures])
    heads = [*_WHO, "by status", "bounds", "judgements", "have a label", "of these read"]
    return Table(heads, rows, len(_WHO) + 2)


def cost_table(runs: Numbered, usages: Sequence[Usage]) -> Table:
    """Tokens, money and time."""
    rows = []
    for (place, run, score), usage in zip(runs, usages, strict=True):
        figures = [
            _whole(usage.input_tokens),
            _whole(usage.output_tokens),
            _dollars(usage.cost_usd),
            _dollars(usage.grader_cost_usd),
            "–" if usage.latency_s is None else number(usage.latency_s, 1),
        ]
        rows.append([*_who(place, run, score), str(usage.known), *figures])
    heads = ("judgements that say", "input tokens", "output tokens", "dollars", "grader's dollars")
    return Table([*_WHO, *heads, "median seconds"], rows, len(_WHO))


def _who(place: int, run: RunFacts, score: Score) -> list[str]:
    return [str(place), run.model, describe_condition(score.condition)]


def _cells(score: Score, columns: Mapping[str, str]) -> list[str]:
    return [with_interval(score.measures[name]) for name in columns]


def _whole(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _dollars(amount: float | None) -> str:
    return "–" if amount is None else f"{amount:.2f}" if amount >= 0.01 else f"{amount:.4f}"
