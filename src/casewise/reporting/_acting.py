"""Tables on replies: refusals and answers, and what changes them."""

from collections.abc import Sequence
from dataclasses import replace

from casewise.choices import Family, Measure, View
from casewise.measures import find, in_view
from casewise.reporting._scores import (
    ScoreColumn,
    answer_counts,
    interval_columns,
    measure_column,
    pair_counts,
)
from casewise.reporting._wording import wording
from casewise.scores import (
    CELLS,
    SMALLEST,
    Difference,
    Escalation,
    GraderCorrection,
    Score,
    ScoreReport,
    correction_method,
    correction_notes,
)
from casewise.sheets import Cell, Column, Kind, Row, Table, figures, interval

ESCALATION_TURNS = 5

_MOVED = ("over_refusal", "under_refusal", "adapts")
_WHO = (Column(""), Column("n", Kind.COUNT))


def act_title(scores: Sequence[Score]) -> str:
    """Title of the table of replies: the line that they are measured against."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    return f"Answers and refusals against {wording(*scores).line} (labels: {rules})"


def act_columns(scores: Sequence[Score]) -> list[ScoreColumn]:
    """Columns for refusals and answers; for tool calls where a model makes any."""
    columns = answer_counts("graded")
    for row in in_view(View.RATES, Family.REPLIES):
        if row.sides:
            columns += interval_columns(row)
        elif not row.is_optional:
            columns.append(measure_column(row))
        elif any(row.name in score.measures for score in scores):
            columns.append((Column(row.heading, Kind.NUMBER), tool_rate))
    return columns


def tool_rate(score: Score) -> float | None:
    """The share of graded replies that call a tool; None without replies."""
    if score.calls_tools:
        return score.measures["tool_call_rate"].value
    return 0.0 if score.classes else None


def pair_columns() -> list[ScoreColumn]:
    """Columns for the outcomes of pairs of contexts."""
    return [*pair_counts(), *map(measure_column, pair_measures())]


def pair_measures() -> list[Measure]:
    """Outcomes of a pair of replies, as tables show them."""
    rows = in_view(View.PAIRS, Family.REPLIES)
    return [replace(row, heading=_heading(row)) for row in rows]


def _heading(row: Measure) -> str:
    """Heading beside replies, which nobody meant."""
    return row.name if row.name == "adapts" else row.heading


def act_tables(report: ScoreReport) -> list[Table]:
    """Tables on replies beside the table of rates, those that have rows."""
    return [
        table
        for table in (
            correction_table(report),
            _plain_changes(report),
            _escalations(report),
            *change_tables(report),
            _trust(report),
            _judge_act(report),
        )
        if table.rows
    ]


def correction_table(report: ScoreReport) -> Table:
    """Rates of replies as graded and corrected; no rows without labelled replies."""
    found = [row.correction for row in report.rows if row.correction is not None]
    return Table(
        [
            Column(""),
            *(Column("as graded", Kind.NUMBER), Column("95 %", Kind.INTERVAL)),
            *(Column("corrected", Kind.NUMBER), Column("95 %", Kind.INTERVAL)),
        ],
        [
            Row(
                [rate_name(name), raw.value, raw.interval, fixed.value, fixed.interval],
                group=f"{one.condition.title}, {correction_method(one)}",
            )
            for one in found
            for name, raw in one.raw.items()
            for fixed in [one.corrected[name]]
        ],
        "Corrected for the grader's errors",
        " ".join(correction_notes(found)),
    )


def corrected_table(corrections: Sequence[GraderCorrection], rows: Sequence[Difference]) -> Table:
    """Corrected rates of two runs, and their differences."""
    return Table(
        difference_columns("before", "after"),
        [Row(difference_cells(rate_name(one.metric), one)) for one in rows],
        f"Corrected for the grader's errors, {correction_method(corrections[0])}",
        " ".join(correction_notes(corrections)),
    )


def difference_columns(before: str, after: str) -> list[Column]:
    """Columns of a figure, its values in two runs, and the change."""
    return [
        *(Column(""), *figures(Kind.NUMBER, before, after), Column("change", Kind.CHANGE)),
        *(Column("95 %", Kind.INTERVAL), *figures(Kind.P_VALUE, "p", "Holm")),
    ]


def difference_cells(name: str, one: Difference) -> list[Cell]:
    """The cells under ``difference_columns``."""
    change = one.difference
    ends = interval(change.interval, with_signs=True)
    return [name, one.before.value, one.after.value, change.value, ends, change.p, one.p_holm]


def rate_name(name: str) -> str:
    """Name of a rate of replies: ``over-refusal``, ``partial``."""
    return name.replace("_rate", "").replace("_", "-")


def change_tables(report: ScoreReport) -> list[Table]:
    """Tables of the changes that flip a model, and of the parts that it says it leans on."""
    return [table for table in (_counterfactuals(report), _faithfulness(report)) if table.rows]


def _plain_changes(report: ScoreReport) -> Table:
    return Table(
        [*_WHO, *figures(Kind.ESTIMATE, *(_heading(find(one)) for one in _MOVED))],
        [
            Row([score.condition.title, change.n, *(change.change[one] for one in _MOVED)])
            for score, change in ((row.score, row.change) for row in report.rows)
            if change is not None and score.acts
        ],
        "Change against the plain conversation (95 %)",
    )


def _escalations(report: ScoreReport) -> Table:
    turns = [f"turn\n{turn}" for turn in range(1, ESCALATION_TURNS + 1)]
    return Table(
        [*_WHO, *figures(Kind.SHARE, *turns)],
        [Row([one.condition.title, one.n, *_held(one)]) for one in report.escalations],
        "Share that has not complied, by turn",
    )


def _held(one: Escalation) -> list[Cell]:
    """The share at each turn; it stays as it was where nobody was asked further."""
    held = dict(zip(one.curve.turns.tolist(), one.curve.survival.tolist(), strict=True))
    shares: list[Cell] = []
    last = 1.0
    for turn in range(1, ESCALATION_TURNS + 1):
        last = held.get(turn, last)
        shares.append(last if one.n else None)
    return shares


def _counterfactuals(report: ScoreReport) -> Table:
    return Table(
        [*_WHO, *figures(Kind.ESTIMATE, "one\nparameter", "one\ngroup", "none\nasked")],
        [
            Row([one.condition.title, one.n, *(one.smallest[kind] for kind in SMALLEST)])
            for one in report.counterfactuals
        ],
        "Smallest change towards the twin that flips it (shares, 95 %)",
    )


def _faithfulness(report: ScoreReport) -> Table:
    moved = [(one, one.verdict) for one in report.faithfulness]
    return Table(
        [Column(""), *figures(Kind.ESTIMATE, "mentioned", "unmentioned", "difference")],
        [
            Row([one.condition.title, verdict.mentioned, verdict.unmentioned, verdict.difference])
            for one, verdict in moved
        ],
        "Verdicts that change when a parameter is removed (95 %)",
    )


def _trust(report: ScoreReport) -> Table:
    return Table(
        [*_WHO, *figures(Kind.ESTIMATE, "verified\ncontext", "claimed\ncontext", "spoofing\ngap")],
        [
            Row(
                [
                    one.condition.model,
                    one.n,
                    one.context_gain.all if one.context_gain is not None else None,
                    one.claim_gain.all if one.claim_gain is not None else None,
                    one.spoofing_gap,
                ]
            )
            for one in report.trust
        ],
        "How far a context moves the model the right way (95 %)",
    )


def _judge_act(report: ScoreReport) -> Table:
    called = any(one.tool_calls for one in report.judge_act)
    return Table(
        [
            *(*_WHO, *figures(Kind.SHARE, *map(_words, CELLS)), Column("partial", Kind.COUNT)),
            *([Column("tool\ncall", Kind.COUNT)] if called else []),
        ],
        [
            Row(
                [
                    one.judged.title,
                    one.n,
                    *(one.shares[cell].value for cell in CELLS),
                    one.partial,
                    *([one.tool_calls] if called else []),
                ]
            )
            for one in report.judge_act
        ],
        "What it says of a case, and does in it",
    )


def _words(cell: str) -> str:
    said, did = cell.removeprefix("says_").split("_")
    return f"says {said},\n{did}"
