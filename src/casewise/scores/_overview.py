"""What a report shows, computed once: scores, leaders, retention, costs, cases."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.cases import Case
from casewise.errors import UsageError
from casewise.protocols import find_variation
from casewise.scores._ablation import AblationChange
from casewise.scores._case_browser import Browser, make_browser
from casewise.scores._check_files import CheckFile
from casewise.scores._condition_scores import Score, Scoring, conditions
from casewise.scores._judgement_sources import Judgements
from casewise.scores._leaders import CategoryScore, Leader, category_scores, leaders
from casewise.scores._run_comparison import Comparison
from casewise.scores._score_report import ScoreReport, ScoreRow, report_scores


@dataclass(frozen=True, slots=True)
class Usage:
    """What one run took, as far as its rows say; None where none says."""

    condition: dict[str, Any]
    n: int
    """Judgements."""
    input_tokens: int | None
    """Of the judgements that say, summed; so are the next two."""
    output_tokens: int | None
    cost_usd: float | None
    """Of the model under test."""
    grader_cost_usd: float | None
    """Of the model that graded its replies, summed."""
    latency_s: float | None
    """The median judgement's working time in seconds."""
    latency_p95_s: float | None
    known: int
    """Judgements that say how many tokens they took."""


def usages(table: pl.DataFrame) -> list[Usage]:
    """What each run of a table took."""
    return [_usage(condition, rows) for condition, rows in conditions(table)]


def _usage(condition: dict[str, Any], rows: pl.DataFrame) -> Usage:
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


_SAME = ("model", "protocol", "delivery", "ablation")


@dataclass(frozen=True, slots=True)
class RetentionPoint:
    """A run with talk or text of some length between context and query."""

    tokens: int
    """About how many; 0 is the same conversation without the talk."""
    score: Score
    change: AblationChange | None
    """Against the plain run of the same cases, where there is one."""


@dataclass(frozen=True, slots=True)
class Retention:
    """One model's runs by the length of what stands between context and query."""

    condition: dict[str, Any]
    """Of the first of them."""
    family: str
    """``filler`` (turns) or ``text`` (one pasted text)."""
    points: tuple[RetentionPoint, ...]
    """By tokens, upwards."""


def retentions(rows: Sequence[ScoreRow]) -> list[Retention]:
    """Gather the rows whose variation has a size."""
    families: dict[tuple[object, ...], list[RetentionPoint]] = {}
    for row in rows:
        found = _size(row.score.condition)
        if found is None:
            continue
        family, tokens = found
        key = (*(row.score.condition[name] for name in _SAME), family)
        families.setdefault(key, []).append(RetentionPoint(tokens, row.score, row.change))
    return [
        Retention(
            points[0].score.condition,
            str(key[-1]),
            tuple(sorted(points, key=lambda point: point.tokens)),
        )
        for key, points in families.items()
    ]


def variation_of(condition: Mapping[str, Any]) -> str | None:
    """The variation in a condition's variant; None without one."""
    parts = str(condition["variant"] or "").split(";")
    return next((part.removeprefix("vary=") for part in parts if part.startswith("vary=")), None)


def _size(condition: Mapping[str, Any]) -> tuple[str, int] | None:
    name = variation_of(condition)
    if name is None:
        return None
    try:
        found, tokens = find_variation(name)
    except UsageError:  # of a table that another version, or another tool, has written
        return None
    return (found.name, tokens) if found.sized else None


@dataclass(frozen=True, slots=True)
class Overview:
    """What a report is made from."""

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
    notes: tuple[str, ...]
    """What a person should know of how the table was made."""

    @property
    def scores(self) -> list[Score]:
        """Of every condition, the baselines apart."""
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
        scoring: As in ``casewise score``.
        cases: More cases whose texts are known, by id, such as those of a data set.
        comparisons: Runs subtracted.
        checks: Labelled replies, to correct rates by.
        seed: Of simulated ceilings.
    """
    table = judgements.table
    report = report_scores(table, scoring, seed=seed, checks=checks)
    scores = [row.score for row in report.rows]
    return Overview(
        report=report,
        leaders=tuple(leaders(table, scores, scoring)),
        categories=tuple(category_scores(table, scoring)),
        retentions=tuple(retentions(report.rows)),
        usages=tuple(usages(table)),
        browser=make_browser(table, {**(cases or {}), **judgements.cases}, scoring),
        comparisons=tuple(comparisons),
        checks=tuple(checks),
        notes=judgements.notes,
    )
