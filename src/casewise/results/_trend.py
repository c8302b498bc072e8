"""Runs in time: each at the moment when its log says that it ended."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from casewise.results._verdict import Verdict
from casewise.scores import EvaluationFacts, Overview, RunFacts
from casewise.sheets import json_number


@dataclass(frozen=True, slots=True)
class DatedRun:
    """A run whose log says when it ended, or else began."""

    ended: datetime
    """Time in UTC."""
    version: str
    """The model and the arguments that make it another one, such as a revision."""
    verdict: Verdict
    """What is said of it."""

    @property
    def name(self) -> str:
        """Version and time: ``openai/gpt-4o of 2026-11-27 10:00 UTC``."""
        return f"{self.version} of {self.ended:%Y-%m-%d %H:%M} UTC"

    def records(self) -> list[dict[str, Any]]:
        """Its four figures: shares in 0..1 with their intervals, None where one can't be told."""
        return [
            {
                "ended": self.ended.isoformat(timespec="seconds"),
                "version": self.version,
                "condition": self.verdict.score.condition.text,
                "measure": figure.title,
                "n": self.verdict.score.n,
                **{name: json_number(end) for name, end in zip(_SHARE, ends, strict=True)},
            }
            for figure in self.verdict.figures
            for ends in [_UNTOLD if figure.unknown else figure.share[:3]]
        ]


_SHARE = ("share", "share_low", "share_high")
_UNTOLD = (math.nan,) * 3


def dated_runs(overview: Overview, facts: EvaluationFacts) -> list[DatedRun]:
    """The runs with unchanged contexts whose logs have a date, the earliest first.

    A rung of an evidence ladder is a condition, not a change.
    """
    found = []
    baselines, others = overview.report.baselines, tuple(overview.scores)
    judged = [run for run in facts.runs if not run.condition.of_pairs]
    for run, score in zip(judged, overview.scores, strict=True):
        ended = ended_at(run)
        if ended and not score.condition.same_but("evidence").changed:
            arguments = dict.fromkeys(one for record in run.records for one in record.model_args)
            version = ", ".join([run.model, *arguments])
            said = f"{version} ({score.condition.text}), ended {ended:%Y-%m-%d %H:%M} UTC"
            found.append(DatedRun(ended, version, Verdict(said, score, baselines, others)))
    return sorted(found, key=lambda one: one.ended)


def ended_at(run: RunFacts) -> datetime | None:
    """Time at which a run ended, or else began, in UTC; None where no log says so."""
    times = (_time(one.completed or one.started) for one in run.records)
    return max((one for one in times if one), default=None)


def _time(text: str | None) -> datetime | None:
    """A log's time; one without a zone is taken for UTC."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
