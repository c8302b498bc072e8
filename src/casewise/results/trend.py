"""Runs in time: each at the moment when its log says that it ended."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from casewise.results.verdict import Verdict
from casewise.scores import Overview, Score
from casewise.sheets import json_number


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

    def records(self) -> list[dict[str, Any]]:
        """Its four figures: shares in 0..1 with their intervals, None where one can't be told."""
        return [
            {
                "ended": self.ended.isoformat(timespec="seconds"),
                "version": self.version,
                "condition": self.score.condition.text,
                "measure": figure.title,
                "n": self.score.n,
                **{
                    name: json_number(end)
                    for name, end in zip(_SHARE, figure.share[:3], strict=True)
                },
            }
            for figure in Verdict("", self.score).figures
        ]


_SHARE = ("share", "share_low", "share_high")


def dated_runs(overview: Overview) -> list[DatedRun]:
    """The runs with unchanged contexts whose logs have a date, the earliest first.

    A rung of an evidence ladder is a condition, not a change.
    """
    found = []
    for score in overview.scores:
        records = overview.records_of(score.condition)
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
