"""Contents of a page or card, computed once: scores, comparisons, records, and runs in time."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import polars as pl

from casewise.cases import Case
from casewise.judgements import Judgements, RunRecord
from casewise.measures import Scoring
from casewise.protocols import CONDITION, RunCondition
from casewise.replies import CheckFile
from casewise.results.compare import (
    Comparison,
    Comparisons,
    Run,
    are_comparable,
    compare_runs,
    find_pairs,
    find_runs,
)
from casewise.results.score import Result, Score, Scores, score_table
from casewise.results.verdict import Verdict


@dataclass(frozen=True)
class Overview:
    """Data that a page or a card is made from."""

    scores: Scores
    """Every condition, as ``casewise score`` has it."""
    cases: Mapping[str, Case]
    """Cases whose texts are known, by id."""
    comparisons: tuple[Comparison, ...]
    """Runs subtracted, where that was asked for."""
    checks: tuple[CheckFile, ...]
    """Labelled replies, where rates were to be corrected by them."""
    records: tuple[RunRecord, ...]
    """How the runs were made, where their logs are at hand."""
    notes: tuple[str, ...]
    """Notes on how the table was made."""


def make_overview(
    parts: Mapping[str, Judgements],
    scoring: Scoring,
    *,
    cases: Iterable[Case] = (),
    checks: Sequence[CheckFile] = (),
    records: Sequence[RunRecord] = (),
    compare: bool = False,
    across_versions: bool = False,
    trend: bool = False,
) -> Overview:
    """Compute what a page shows.

    Args:
        parts: Judgements by the place that each was read from, with texts where they are wanted.
        scoring: Rules of scoring, as in ``casewise score``.
        cases: More cases whose texts are known, such as those of a data set.
        checks: Labelled replies, to correct rates by.
        records: How the runs were made.
        compare: Subtract the runs of the first part from those of the others.
        across_versions: Subtract also runs over different versions of a data set.
        trend: Make a trend of the runs.
    """
    tables = {place: part.table for place, part in parts.items()}
    table, *others = tables.values()
    if others:
        # A judgement may stand in several of the parts.
        keys = ["run_id", *CONDITION, "case_id", "epoch"]
        table = pl.concat([table, *others]).unique(keys, maintain_order=True)
    known = {case.id: case for case in cases}
    for part in parts.values():
        known |= part.cases
    pairs = find_pairs(find_runs(tables), across_versions=across_versions) if compare else ()
    comparisons = compare_runs(pairs, scoring, checks=checks)
    return Overview(
        scores=score_table(table, scoring, checks=checks, logs=records if trend else ()),
        cases=known,
        comparisons=tuple(comparisons),
        checks=tuple(checks),
        records=tuple(records),
        notes=tuple(dict.fromkeys(note for part in parts.values() for note in part.notes)),
    )


# --- runs in time --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DatedRun:
    """A run whose log says when it ended, or else began."""

    ended: datetime
    """Time in UTC."""
    version: str
    """The model and the arguments that make it another one, such as a revision."""
    score: Score

    @property
    def name(self) -> str:
        """Version and time: ``openai/gpt-4o of 2026-11-27 10:00 UTC``."""
        return f"{self.version} of {self.ended:%Y-%m-%d %H:%M} UTC"


def dated_runs(scores: Scores) -> list[DatedRun]:
    """The runs with unchanged contexts whose logs have a date, the earliest first.

    A rung of an evidence ladder is a condition, not a change.
    """
    ids = {condition: set(rows["run_id"]) for condition, rows in scores.runs}
    runs = []
    for score in scores:
        records = [log for log in scores.logs if log.run_id in ids[score.condition]]
        times = [time for record in records if (time := _time(record.completed or record.started))]
        if times and not score.condition.same_but("evidence").changed:
            arguments = dict.fromkeys(arg for record in records for arg in record.model_args)
            version = ", ".join([records[0].model, *arguments])
            runs.append(DatedRun(max(times), version, score))
    return sorted(runs, key=lambda run: run.ended)


def _time(text: str | None) -> datetime | None:
    """A log's time; one without a zone is taken for UTC."""
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


LEAST_DATED = 2
"""Runs with a date that a trend takes."""

NO_TREND = "a trend takes two runs with a log each: logs say when a run ended"


@dataclass(frozen=True)
class Trend:
    """Runs by the time at which they ended, the earliest first."""

    rows: tuple[DatedRun, ...]
    leading: tuple[Verdict, ...]
    """On the latest run of each kind."""
    steps: tuple[tuple[RunCondition, RunCondition], ...]
    """The latest run of each kind, after the last one like it."""

    @classmethod
    def of(cls, overview: Overview) -> Self | None:
        """The runs with unchanged contexts whose logs have a date; None of fewer than two.

        The verdicts are on the latest run of each kind, of those with whole contexts if there are
        any: against the first like it over the same data.
        """
        rows = dated_runs(overview.scores)
        if len(rows) < LEAST_DATED:
            return None
        runs = {run.condition: run for run in find_runs({"": overview.scores.table})}
        latest, steps = [], []
        for acts in (False, True):
            kind = [row for row in rows if row.score.acts is acts]
            if whole := [row for row in kind if row.score.condition.plain] or kind:
                *earlier, last = whole
                peers = _comparable_runs(last, earlier, runs, overview.scores.scoring)
                latest.append(_latest_verdict(last, peers, runs, overview))
                steps += [(run.score.condition, last.score.condition) for run in peers[-1:]]
        return cls(tuple(rows), tuple(latest), tuple(steps))


def _comparable_runs(
    last: DatedRun, earlier: Sequence[DatedRun], runs: Mapping[RunCondition, Run], scoring: Scoring
) -> list[DatedRun]:
    """Runs that can be subtracted from a later one, those of its model if there are any."""
    target = last.score.condition
    peers = [
        run
        for run in earlier
        for condition in [run.score.condition]
        if condition.same_but("model") == target.same_but("model")
        and condition.has_data_of(target)
        and are_comparable(runs[condition], runs[target], scoring)
    ]
    return [run for run in peers if run.score.condition.model == target.model] or peers


def _latest_verdict(
    last: DatedRun, peers: Sequence[DatedRun], runs: Mapping[RunCondition, Run], overview: Overview
) -> Verdict:
    """The verdict on the latest of some runs, against the first like it if there is one.

    It names the worst of the changes from the first to a run between them, and from that to it.
    """
    if not peers:
        return Verdict(last.name, last.score)
    first, *between = peers
    steps = [(first, last), *(step for run in between for step in ((first, run), (run, last)))]
    pairs = [(runs[a.score.condition], runs[b.score.condition]) for a, b in steps]
    comparisons = compare_runs(pairs, overview.scores.scoring, checks=overview.checks)
    whole, *others = map(Verdict.of_change, comparisons)
    falls = [
        (other.score.right.value, f"{b.name}, compared with {a.name}: {other.sentence}")
        for other, (a, b) in zip(others, steps[1:], strict=True)
        if "Worse:" in other.sentence
    ]
    subject = f"{last.name}, the latest of {len(peers) + 1} runs, compared with {first.name}"
    between_them = f"On the way, {min(falls)[1]}" if falls else ""
    return replace(whole, subject=subject, between=between_them)


def leading(overview: Overview, trend: Trend | None = None) -> Result[Any] | Trend:
    """The result that a page begins with: what changed, else the trend, else the scores."""
    if overview.comparisons:
        return Comparisons.of(overview.comparisons)
    return trend or overview.scores
