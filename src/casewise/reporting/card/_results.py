"""What came out: measures with their intervals, what was read, what it took."""

from collections.abc import Mapping, Sequence

from casewise.analysis import RunFacts, Score, ScoreReport, Usage
from casewise.reporting._scores import baseline_text, describe_condition
from casewise.reporting._wording import wording
from casewise.sheets import Cell, Column, Kind, Row, Table, figures, interval

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
_WHO = (Column("run"), Column("model"), Column("condition"))

Numbered = Sequence[tuple[int, RunFacts, Score]]
"""Runs with their number in the card and their score."""


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
        Row([*_who(place, run, score), score.n, score.coverage, *_cells(score, _JUDGED)])
        for place, run, score in runs
    ]
    rows += [
        Row(
            [
                "",
                "baseline",
                rename(baseline_text(score), shown),
                score.n,
                None,
                *_cells(score, _JUDGED),
            ]
        )
        for score in report.baselines
    ]
    return Table([*_WHO, *_counted("read"), *figures(Kind.ESTIMATE, *_JUDGED.values())], rows)


def context_table(runs: Numbered) -> Table:
    """What the two contexts of a query do to verdicts."""
    graded = wording(*(score for _, _, score in runs)).graded
    kept = {name: head for name, head in _IN_CONTEXT.items() if graded or "within" not in name}
    return _pairs_table(runs, kept)


def acting_table(runs: Numbered) -> Table:
    """Refusals of what is labelled safe, and answers to what isn't."""
    rows = [
        Row([*_who(place, run, score), score.n, score.coverage, *_cells(score, _ACTED)])
        for place, run, score in runs
    ]
    return Table([*_WHO, *_counted("graded"), *figures(Kind.ESTIMATE, *_ACTED.values())], rows)


def reply_table(runs: Numbered) -> Table:
    """What models do in the two contexts of a query."""
    return _pairs_table(runs, _IN_PAIRS)


def _pairs_table(runs: Numbered, columns: Mapping[str, str]) -> Table:
    rows = [
        Row([*_who(place, run, score), score.pairs, *_cells(score, columns)])
        for place, run, score in runs
        if score.pairs
    ]
    pairs = Column("pairs", Kind.COUNT)
    return Table([*_WHO, pairs, *figures(Kind.ESTIMATE, *columns.values())], rows)


def coverage_table(runs: Numbered) -> Table:
    """What became of every judgement, and what the unread ones could do."""
    rows = []
    for place, run, score in runs:
        statuses = ", ".join(f"{count} {name}" for name, count in sorted(score.statuses.items()))
        bounds = "; ".join(
            f"{name.replace('_', '-')} {interval(ends)}" for name, ends in score.bounds.items()
        )
        words = (statuses or None, bounds if score.coverage < 1 else None)
        shares = (score.label_coverage, score.coverage)
        rows.append(Row([*_who(place, run, score), *words, run.judgements, *shares]))
    return Table(
        [
            *_WHO,
            Column("by status"),
            Column("bounds"),
            Column("judgements", Kind.COUNT),
            *figures(Kind.SHARE, "have a label", "of these read"),
        ],
        rows,
    )


def cost_table(runs: Numbered, usages: Sequence[Usage]) -> Table:
    """Tokens, money and time."""
    return Table(
        [
            *_WHO,
            *figures(Kind.COUNT, "judgements that say", "input tokens", "output tokens"),
            *figures(Kind.MONEY, "dollars", "grader's dollars"),
            Column("median time", Kind.SECONDS, 1),
        ],
        [
            Row(
                [
                    *_who(place, run, score),
                    usage.known,
                    usage.input_tokens,
                    usage.output_tokens,
                    usage.cost_usd,
                    usage.grader_cost_usd,
                    usage.latency_s,
                ]
            )
            for (place, run, score), usage in zip(runs, usages, strict=True)
        ],
    )


def _counted(read: str) -> tuple[Column, Column]:
    return Column("n", Kind.COUNT), Column(read, Kind.SHARE)


def _who(place: int, run: RunFacts, score: Score) -> list[Cell]:
    return [str(place), run.model, describe_condition(score.condition)]


def _cells(score: Score, columns: Mapping[str, str]) -> list[Cell]:
    return [score.measures[name] for name in columns]
