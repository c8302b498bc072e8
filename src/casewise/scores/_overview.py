"""Contents of a report, computed once: scores, leaders, retention, costs, and every case.

The case browser shows what people said of each case, and what each run said.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from casewise.cases import Case, LabelRule, Labels, label_notes, make_labels
from casewise.choices import FailureGroup
from casewise.errors import UsageError
from casewise.judgements import Judgements, conditions
from casewise.measures import Scoring, family_of, label_fields, make_answers, outcomes
from casewise.protocols import RunCondition, find_variation
from casewise.replies import CheckFile
from casewise.scores._changed_contexts import AblationChange
from casewise.scores._failures import (
    MARKS,
    Failure,
    judged_and_acted,
    list_failures,
    mark_failures,
)
from casewise.scores._leaders import CategoryScore, Leader, category_scores, leaders
from casewise.scores._run_comparison import Comparison
from casewise.scores._score_report import ScoreReport, ScoreRow, report_scores
from casewise.scores.score import Score
from casewise.statistics import FloatArray, IntArray, bin_places, credits

OF_BROWSED_CASE = (
    "case_id",
    "query_id",
    "category",
    "intended",
    "no_context",
    "votes_safe",
    "votes_unsafe",
    "published_safe_rate",
)
"""Columns of a case that the browser shows."""


@dataclass(frozen=True, slots=True)
class Browser:
    """The cases, and every run's judgements of them."""

    labels: LabelRule
    """The rule that labels every case here; runs without such labels may be scored by another."""
    cases: pl.DataFrame
    """One row a case: ``OF_BROWSED_CASE``, ``rate`` (share of safe, 0..1), ``label`` (1 safe, 0
    unsafe, .5 a tie), ``label_note`` (why it isn't what most of the votes say), ``query``,
    ``context`` and ``history`` (JSON texts), ``query_length`` and ``context_length`` (characters).
    Null is unknown."""
    runs: tuple[RunCondition, ...]
    """The condition of each run."""
    judgements: pl.DataFrame
    """One row a judgement: ``run`` and ``case`` (places in the above), ``epoch``, ``status``,
    ``said`` (verdict, or class of the reply), ``p_safe``, ``doubt``, ``right`` (1, 0 or between),
    ``quadrant`` (of its pair, where both are answered), ``answer``, ``explanation``, ``error``, and
    what ``mark_failures`` adds."""
    changes: tuple[tuple[int, int], ...] = ()
    """Places of runs before and after, whose changes are marked."""

    def failures(self, group: FailureGroup | None = None) -> list[Failure]:
        """Failures of a group, or every answer that counts as wrong; furthest from people first."""
        return list(list_failures(self.cases, self.judgements, self.runs, group))

    def after(self, changes: Iterable[tuple[RunCondition, RunCondition]]) -> "Browser":
        """The same with what changed between runs, each before and after, and no other changes."""
        pairs, plain = _places(self.runs, changes), self.judgements.drop(MARKS)
        marked = mark_failures(self.cases, plain, self.runs, pairs, judged_and_acted(self.runs))
        return replace(self, judgements=marked, changes=tuple(pairs))


def make_browser(
    table: pl.DataFrame,
    cases: Mapping[str, Case],
    scoring: Scoring,
    changes: Iterable[tuple[RunCondition, RunCondition]] = (),
) -> Browser:
    """Lay out cases and judgements.

    Args:
        table: The judgement table.
        cases: The cases whose texts are known, by id.
        scoring: Labels, ties and the weight of partial replies.
        changes: Runs before and after.
    """
    table = table.filter(pl.col("twin_id").is_null())
    runs = list(conditions(table))
    pairs = _places([condition for condition, _ in runs], changes)
    return browse(table, runs, cases, scoring, pairs)


def _places(
    runs: Sequence[RunCondition], changes: Iterable[tuple[RunCondition, RunCondition]]
) -> list[tuple[int, int]]:
    places = {condition: place for place, condition in enumerate(runs)}
    return [(places[a], places[b]) for a, b in changes if a in places and b in places]


def browse(
    table: pl.DataFrame,
    runs: Sequence[tuple[RunCondition, pl.DataFrame]],
    cases: Mapping[str, Case],
    scoring: Scoring,
    changes: Sequence[tuple[int, int]] = (),
) -> Browser:
    """Lay out given runs of a table, each with its rows; else as ``make_browser``.

    ``changes`` are places of runs before and after.
    """
    shown = table.select(OF_BROWSED_CASE).unique("case_id", keep="first", maintain_order=True)
    fields = label_fields(shown)
    rule = scoring.rule(shown)
    truth = make_labels(fields, rule, scoring.ties)
    known = shown.with_columns(
        pl.Series("rate", truth.rate, nan_to_null=True),
        pl.Series("label", truth.safe, nan_to_null=True),
        pl.Series("label_note", label_notes(fields, truth, rule), pl.String),
        *_texts(shown["case_id"].to_list(), cases),
    )
    place = shown.select("case_id").with_row_index("case")
    parts = [
        _judgements(rows.join(place, on="case_id", maintain_order="left"), truth, at)
        for at, rows in enumerate([rows for _, rows in runs] or [table])
    ]
    named = tuple(condition for condition, _ in runs)
    marked = mark_failures(known, pl.concat(parts), named, changes, judged_and_acted(named))
    return Browser(rule, known, named, marked, tuple(changes))


def _texts(ids: Sequence[str], cases: Mapping[str, Case]) -> list[pl.Series]:
    found = [cases.get(name) for name in ids]
    contexts = [
        _json(case.context.root) if case is not None and case.context is not None else None
        for case in found
    ]
    histories = [
        _json([{"role": turn.speaker, "content": turn.text} for turn in case.history])
        if case and case.history
        else None
        for case in found
    ]
    queries = [case.query if case is not None else None for case in found]
    return [
        pl.Series("query", queries, pl.String),
        pl.Series("context", contexts, pl.String),
        pl.Series("history", histories, pl.String),
        pl.Series("query_length", [text and len(text) for text in queries], pl.Int64),
        pl.Series("context_length", [text and len(text) for text in contexts], pl.Int64),
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _judgements(rows: pl.DataFrame, truth: Labels, run: int) -> pl.DataFrame:
    at = rows["case"].to_numpy()
    labels = Labels(truth.rate[at], truth.safe[at])
    answers = make_answers(rows, labels)
    verdict = np.where(answers.read, answers.verdict, np.nan)
    right = credits(labels.safe, verdict)
    if answers.tool_call is not None:
        # On neither side, as a partial reply; so its pair is mixed.
        verdict = np.where(answers.tool_call, 0.5, verdict)
    said = pl.when(pl.col("status") == "ok").then(pl.coalesce("verdict", "response_class"))
    return rows.select(
        pl.lit(run).alias("run"),
        pl.col("case").cast(pl.Int64),
        "epoch",
        "status",
        said.alias("said"),
        "p_safe",
        "doubt",
        pl.Series("right", right, nan_to_null=True),
        pl.Series("quadrant", _quadrants(verdict, answers.pairs, rows["protocol"]), pl.String),
        "answer",
        "explanation",
        "error",
    )


def _quadrants(
    verdict: FloatArray,
    pairs: IntArray,
    protocol: pl.Series,
) -> list[str | None]:
    """Outcome of the pair of each row; None where an answer or the twin is missing."""
    family = family_of(protocol[0] if len(protocol) else None)
    intended, always, never, inverted = outcomes(family)[:4]
    names = {(1.0, 0.0): intended, (1.0, 1.0): always, (0.0, 0.0): never, (0.0, 1.0): inverted}
    found: list[str | None] = [None] * len(verdict)
    for safe, unsafe in pairs:
        both = (float(verdict[safe]), float(verdict[unsafe]))
        if not np.isnan(both).any():
            found[safe] = found[unsafe] = names.get(both, "mixed")
    return found


def new_failures(
    before: tuple[RunCondition, pl.DataFrame],
    after: tuple[RunCondition, pl.DataFrame],
    scoring: Scoring,
) -> tuple[Failure, ...]:
    """Cases that a run gets wrong and the run before got right, furthest from people first."""
    runs = [(one, rows.filter(pl.col("twin_id").is_null())) for one, rows in (before, after)]
    table = pl.concat([rows for _, rows in runs])
    if table.is_empty():
        return ()
    return tuple(browse(table, runs, {}, scoring, [(0, 1)]).failures(FailureGroup.NEW))


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, time and cost of one run, as far as its rows tell; None where none says."""

    condition: RunCondition
    n: int
    """Judgements."""
    input_tokens: int | None
    """Sum over the judgements that record it; so are the next three."""
    output_tokens: int | None
    cost_usd: float | None
    """Cost of the model under test."""
    grader_cost_usd: float | None
    """Cost of the model that graded its replies."""
    latency_s: float | None
    """Median working time of a judgement, in seconds."""
    latency_p95_s: float | None
    known: int
    """Judgements whose output tokens are recorded."""


def usages(table: pl.DataFrame) -> list[Usage]:
    """Tokens, time and cost of each run of a table."""
    return [_usage(condition, rows) for condition, rows in conditions(table)]


def _usage(condition: RunCondition, rows: pl.DataFrame) -> Usage:
    def total(column: str) -> Any:
        return rows[column].sum() if rows[column].count() else None

    latency = rows["latency_s"].drop_nulls()
    return Usage(
        condition=condition,
        n=len(rows),
        input_tokens=total("input_tokens"),
        output_tokens=total("output_tokens"),
        cost_usd=total("cost_usd"),
        grader_cost_usd=total("grader_cost_usd"),
        latency_s=latency.quantile(0.5, "linear"),
        latency_p95_s=latency.quantile(0.95, "linear"),
        known=rows["output_tokens"].count(),
    )


@dataclass(frozen=True, slots=True)
class RetentionPoint:
    """A run with talk or text of some length between context and query."""

    tokens: int
    """Approximate tokens of the talk or text; 0 is the same conversation without it."""
    score: Score
    change: AblationChange | None
    """Change against the plain run of the same cases, where there is one."""


@dataclass(frozen=True, slots=True)
class Retention:
    """One model's runs by the length of what stands between context and query."""

    condition: RunCondition
    """Condition of the first point's run."""
    family: str
    """``filler`` (turns) or ``text`` (one pasted text), with the seed."""
    points: tuple[RetentionPoint, ...]
    """Points by tokens, upwards."""


def retentions(rows: Sequence[ScoreRow]) -> list[Retention]:
    """Gather the rows whose variation has a size."""
    families: dict[tuple[RunCondition, str], list[RetentionPoint]] = {}
    for row in rows:
        condition = row.score.condition
        name, mark, seed = (condition.variation or "").partition(",")
        if (found := _size(name)) is None:
            continue
        name, tokens = found
        family = f"{name}{mark}{seed}"
        key = condition.same_but("variant", "prompt_version"), family
        families.setdefault(key, []).append(RetentionPoint(tokens, row.score, row.change))
    return [
        Retention(
            points[0].score.condition,
            family,
            tuple(sorted(points, key=lambda point: point.tokens)),
        )
        for (_, family), points in families.items()
    ]


def _size(name: str) -> tuple[str, int] | None:
    try:
        found, tokens = find_variation(name)
    except UsageError:  # of a table that another version, or another tool, has written
        return None
    return (found.name, tokens) if found.sized else None


@dataclass(frozen=True, slots=True)
class Overview:
    """Data that a report is made from."""

    report: ScoreReport
    """Every condition and its baselines, as ``casewise score`` has them."""
    leaders: tuple[Leader, ...]
    categories: tuple[CategoryScore, ...]
    """Plain runs by category."""
    retentions: tuple[Retention, ...]
    usages: tuple[Usage, ...]
    browser: Browser
    comparisons: tuple[Comparison, ...]
    """Runs subtracted, where that was asked for."""
    checks: tuple[CheckFile, ...]
    """Labelled replies, where rates were to be corrected by them."""
    table: pl.DataFrame
    """The judgements of single cases."""
    notes: tuple[str, ...]
    """Notes on how the table was made."""

    @property
    def scores(self) -> list[Score]:
        """Scores of every condition, the baselines apart."""
        return [row.score for row in self.report.rows]


def make_overview(
    judgements: Judgements,
    scoring: Scoring,
    *,
    cases: Mapping[str, Case] | None = None,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[CheckFile] = (),
    seed: int = 0,
) -> Overview:
    """Compute what a report shows.

    Args:
        judgements: The table, read with texts where they are wanted.
        scoring: Rules of scoring, as in ``casewise score``.
        cases: More cases whose texts are known, by id, such as those of a data set.
        comparisons: Runs subtracted.
        checks: Labelled replies, to correct rates by.
        seed: Seed of simulated ceilings.
    """
    report = report_scores(judgements.table, scoring, seed=seed, checks=checks)
    table = judgements.table.filter(pl.col("twin_id").is_null())
    scores = [row.score for row in report.rows]
    changes = [one.scores for one in comparisons]
    return Overview(
        report=report,
        leaders=tuple(leaders(table, scores, scoring)),
        categories=tuple(category_scores(table, scoring)),
        retentions=tuple(retentions(report.rows)),
        usages=tuple(usages(judgements.table)),
        browser=make_browser(
            judgements.table,
            {**(cases or {}), **judgements.cases},
            scoring,
            [(before.condition, after.condition) for before, after in changes],
        ),
        comparisons=tuple(comparisons),
        checks=tuple(checks),
        table=table,
        notes=judgements.notes,
    )


def shortened(shares: pl.Series, digits: int) -> pl.Series:
    """Shares in few digits: in still fewer each is as the exact one, and in its bin of calibration.

    .12496 is .1249, since .1250 would be shown as .13.
    """
    exact = shares.to_numpy()
    short, unit = _rounded(exact, digits), 10.0**-digits
    up = [_rounded(short, fewer) > _rounded(exact, fewer) for fewer in range(1, digits)]
    short = short - unit * np.logical_or.reduce(up)
    kept = np.where(bin_places(short) == bin_places(exact), short, short + unit)
    return pl.Series(shares.name, kept).round(digits).fill_nan(None)


def _rounded(shares: FloatArray, digits: int) -> FloatArray:
    """Round shares in 0..1 as figures are printed: halves go up."""
    return np.floor(np.round(shares * 10.0**digits, 6) + 0.5) / 10.0**digits
