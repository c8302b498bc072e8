"""Contents of a page, computed once: scores, comparisons, records, and every case.

The case browser shows what people said of each case, and what each run said.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl

from casewise.cases import Case, LabelRule, Labels, label_notes, make_labels
from casewise.choices import FailureGroup
from casewise.judgements import Judgements, RunRecord, conditions
from casewise.measures import Scoring, family_of, label_fields, make_answers, outcomes
from casewise.protocols import RunCondition
from casewise.replies import CheckFile
from casewise.scores.comparison import Comparison
from casewise.scores.failures import (
    MARKS,
    Failure,
    judged_and_acted,
    list_failures,
    mark_failures,
)
from casewise.scores.report import ScoreReport, report_scores
from casewise.scores.score import Score
from casewise.statistics import FloatArray, IntArray, credits

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


@dataclass(frozen=True)
class Overview:
    """Data that a page or a card is made from."""

    report: ScoreReport
    """Every condition and its baselines, as ``casewise score`` has them."""
    browser: Browser
    comparisons: tuple[Comparison, ...]
    """Runs subtracted, where that was asked for."""
    checks: tuple[CheckFile, ...]
    """Labelled replies, where rates were to be corrected by them."""
    records: tuple[RunRecord, ...]
    """How the runs were made, where their logs are at hand."""
    notes: tuple[str, ...]
    """Notes on how the table was made."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of every condition, the baselines apart."""
        return self.report.scores

    def records_of(self, condition: RunCondition) -> list[RunRecord]:
        """Records of the runs of a condition; none where no log is at hand."""
        ids = self._run_ids.get(condition, ())
        return [one for one in self.records if one.run_id in ids]

    @cached_property
    def _run_ids(self) -> dict[RunCondition, set[str]]:
        return {one: set(rows["run_id"]) for one, rows in conditions(self.report.table)}


def make_overview(
    judgements: Judgements,
    scoring: Scoring,
    *,
    cases: Mapping[str, Case] | None = None,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[CheckFile] = (),
    records: Sequence[RunRecord] = (),
    seed: int = 0,
) -> Overview:
    """Compute what a page shows.

    Args:
        judgements: The table, read with texts where they are wanted.
        scoring: Rules of scoring, as in ``casewise score``.
        cases: More cases whose texts are known, by id, such as those of a data set.
        comparisons: Runs subtracted.
        checks: Labelled replies, to correct rates by.
        records: How the runs were made.
        seed: Seed of simulated ceilings.
    """
    changes = [one.scores for one in comparisons]
    return Overview(
        report=report_scores(judgements.table, scoring, seed=seed, checks=checks),
        browser=make_browser(
            judgements.table,
            {**(cases or {}), **judgements.cases},
            scoring,
            [(before.condition, after.condition) for before, after in changes],
        ),
        comparisons=tuple(comparisons),
        checks=tuple(checks),
        records=tuple(records),
        notes=judgements.notes,
    )
