"""State of a run against its plan: judgements unread, refused, failed or never asked."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from casewise.sheets import percent
from casewise.statistics import ratio

_OF_ANSWERS = {
    "unparsed": "{} could not be read",
    "refused": "{} refused by the model or its provider",
    "error": "{} failed with an error",
}
"""Phrases for judgements without a verdict, by status; apart, since each has its own remedy."""


@dataclass(frozen=True, slots=True)
class RunState:
    """Judgements of a run, or of the runs of one condition, beside their plan."""

    statuses: Mapping[str, int]
    """Judgements by status; those with an error have no answer."""
    planned: int
    """Judgements that were to be made; where that is not recorded, those there are."""
    stopped: tuple[str, ...] = ()
    """Reasons of runs that did not end, as far as their logs tell them."""

    @property
    def there(self) -> int:
        """Judgements in the table, answered or not."""
        return sum(self.statuses.values())

    @property
    def judged(self) -> int:
        """Judgements with an answer, read or not."""
        return self.there - self.statuses.get("error", 0)

    @property
    def not_asked(self) -> int:
        """Planned judgements that were never asked for."""
        return max(0, self.planned - self.there)

    @property
    def ended_early(self) -> bool:
        """Tell whether the run ended before its plan did."""
        return bool(self.stopped) or self.not_asked > 0

    @property
    def sentence(self) -> str:
        """First sentence of every view of a run that ended early, or had errors; else empty."""
        counts = {status: self.statuses.get(status, 0) for status in _OF_ANSWERS}
        parts = [_OF_ANSWERS[status].format(n) for status, n in counts.items() if n]
        if self.not_asked:
            parts.append(f"{self.not_asked} never asked")
        if self.ended_early:
            why = "; ".join(self.stopped) or "it was stopped or capped"
            said = f"ended early ({why}), with {self._judged}"
        elif counts["error"]:
            said = self._judged
        else:
            return ""
        return f"{said}{': ' if parts else ''}{', '.join(parts)}"

    @property
    def _judged(self) -> str:
        share = percent(ratio(self.judged, self.planned), 0)
        return f"{self.judged} of {self.planned} planned judgements made ({share})"


def run_state(rows: pl.DataFrame) -> RunState:
    """The state of a condition's runs.

    Args:
        rows: All its rows of the judgement table, labelled or not.
    """
    stopped = rows["stopped"].drop_nulls().unique(maintain_order=True).to_list()
    return RunState(Counter(rows["status"]), planned_in(rows), tuple(stopped))


def planned_in(rows: pl.DataFrame) -> int:
    """Judgements that the runs of some rows were to make; at least the rows that there are."""
    runs = rows.group_by("run_id").agg(pl.len().alias("there"), pl.col("planned").max())
    return int(runs.select(pl.max_horizontal("there", "planned").sum()).item())
