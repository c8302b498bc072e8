"""Runs in time: each at the moment when its log says that it ended."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

from casewise.protocols import RunCondition
from casewise.results.compare import Comparisons, are_comparable, compare_runs, find_runs
from casewise.results.overview import Overview
from casewise.results.score import Result, Score, Scores
from casewise.results.verdict import Verdict


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
    found = []
    for score in scores:
        records = [one for one in scores.logs if one.run_id in ids[score.condition]]
        times = [time for one in records if (time := _time(one.completed or one.started))]
        if times and not score.condition.same_but("evidence").changed:
            arguments = dict.fromkeys(one for record in records for one in record.model_args)
            version = ", ".join([records[0].model, *arguments])
            found.append(DatedRun(max(times), version, score))
    return sorted(found, key=lambda one: one.ended)


def _time(text: str | None) -> datetime | None:
    """A log's time; one without a zone is taken for UTC."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)


LEAST_DATED = 2
"""Runs with a date that a trend takes."""

NO_TREND = "a trend takes two runs with a log each: logs say when a run ended"


@dataclass(frozen=True, repr=False)
class Trend(Result[DatedRun]):
    """Runs by the time at which they ended, the earliest first."""

    scores: Scores = field(kw_only=True)
    steps: tuple[tuple[RunCondition, RunCondition], ...] = field(default=(), kw_only=True)
    """The latest run of each kind, after the last one like it."""

    @classmethod
    def of(cls, overview: Overview) -> Self:
        """The runs with unchanged contexts whose logs have a date; fewer than two are no trend.

        The verdicts are on the latest run of each kind, of those with whole contexts if there are
        any, and of a ladder's of one rung: against the first like it over the same data.
        """
        runs = dated_runs(overview.scores)
        rows = tuple(runs) if len(runs) >= LEAST_DATED else ()
        latest, steps = [], []
        for acts in (False, True):
            kind = [one for one in rows if one.score.acts is acts]
            if whole := [one for one in kind if one.score.condition.plain] or kind:
                rung = whole[-1].score.condition.evidence
                there = [one for one in whole if one.score.condition.evidence == rung]
                like = _like_the_last(there, overview)
                latest.append(_latest(there, like, overview))
                steps += [(one.score.condition, there[-1].score.condition) for one in like[-1:]]
        return cls(rows, tuple(latest), scores=overview.scores, steps=tuple(steps))

    def record(self) -> list[dict[str, Any]]:
        """An object for each figure of each run, as of every analysis."""
        return self.scores.analysis_records("trend")

    def records(self) -> list[dict[str, Any]]:
        """The same as rows."""
        return self.record()


def _like_the_last(dated: Sequence[DatedRun], overview: Overview) -> list[DatedRun]:
    """Earlier runs that can be subtracted from the last, those of its model if there are any."""
    last = dated[-1].score.condition
    runs = {one.condition: one for one in find_runs({"": overview.scores.table})}
    like = [
        one
        for one in dated[:-1]
        for earlier in [one.score.condition]
        if earlier.same_but("model") == last.same_but("model")
        and earlier.has_data_of(last)
        and are_comparable(runs[earlier], runs[last], overview.scores.scoring)
    ]
    return [one for one in like if one.score.condition.model == last.model] or like


def _latest(dated: Sequence[DatedRun], like: Sequence[DatedRun], overview: Overview) -> Verdict:
    """The verdict on the latest of some runs, against the first like it if there is one.

    It names the worst of the changes from the first to a run between them, and from that to it.
    """
    last = dated[-1]
    more = f", the latest of {len(dated)} runs" if len(dated) > 1 else ""
    alone = Verdict(f"{last.name}{more}", last.score)
    if not like:
        return alone
    runs = {one.condition: one for one in find_runs({"": overview.scores.table})}
    before, *between = like
    steps = [(before, last), *(step for one in between for step in ((before, one), (one, last)))]
    pairs = [(runs[a.score.condition], runs[b.score.condition]) for a, b in steps]
    compared = compare_runs(pairs, overview.scores.scoring, checks=overview.checks)
    falls = [
        (verdict.score.right.value, f"{b.name}, compared with {a.name}: {verdict.sentence}")
        for one, (a, b) in zip(compared[1:], steps[1:], strict=True)
        for verdict in [Verdict.of_change(one)]
        if verdict.sentence.startswith("Worse")
    ]
    return replace(
        alone,
        subject=f"{alone.subject}, compared with {before.name}",
        score=compared[0].scores[1],
        comparison=compared[0],
        between=f"On the way, {min(falls)[1]}" if falls else "",
    )


def leading(overview: Overview, trend: Trend | None = None) -> Result[Any]:
    """The result that a page begins with: what changed, else the trend, else the scores."""
    if overview.comparisons:
        return Comparisons.of(overview.comparisons)
    return trend or overview.scores
