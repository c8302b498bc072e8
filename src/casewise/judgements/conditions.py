"""Conditions of a judgement table: split, aligned over the cases they share, and their state."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from casewise.choices import UnreadPolicy
from casewise.judgements.schema import OF_CASE
from casewise.protocols import CONDITION, RunCondition, acting
from casewise.sheets import percent


def conditions(table: pl.DataFrame) -> Iterator[tuple[RunCondition, pl.DataFrame]]:
    """Yield each condition of a table with its rows.

    Runs that judge the same cases under one condition are kept apart.
    """
    for part in table.partition_by(*CONDITION, "dataset_hash", maintain_order=True):
        again = part.select(ANSWER_KEYS).is_duplicated().any()
        for run in part.partition_by("run_id", maintain_order=True) if again else [part]:
            yield RunCondition.of_row(run.select(*RunCondition()).row(0, named=True)), run


ANSWER_KEYS = ["case_id", "epoch"]


def shared_rows(parts: Sequence[pl.DataFrame], unparsed: UnreadPolicy) -> tuple[pl.DataFrame, ...]:
    """The rows of each part whose case and epoch every part has, in the same order.

    Under ``honest`` each part must have read its answer; under ``reference`` unread verdicts stay,
    but unread replies don't: the published script has no replies, so nothing says how to fill them.
    """
    counted = pl.col("status") == "ok"
    if unparsed is UnreadPolicy.REFERENCE:
        counted |= ~pl.col("protocol").is_in(acting())
    parts = [part.filter(counted) for part in parts]
    keys = parts[0].select(ANSWER_KEYS)
    for part in parts[1:]:
        keys = keys.join(part.select(ANSWER_KEYS), on=ANSWER_KEYS, how="semi")
    return tuple(
        keys.join(part, on=ANSWER_KEYS, how="left", maintain_order="left") for part in parts
    )


_OF_ANSWERS = {
    "unparsed": "{} could not be read",
    "refused": "{} refused by the model or its provider",
    "error": "{} failed with an error",
}
"""Phrases for judgements without a verdict, by status; apart, since each has its own remedy."""


MOST_UNREAD = 0.2
"""Share of a run from which on it gives no verdict if it was not read."""


@dataclass(frozen=True, slots=True)
class RunState:
    """Judgements of a run, or of the runs of one condition, beside their plan."""

    statuses: Mapping[str, int]
    """Judgements by status; those with an error have no answer."""
    planned: int
    """Judgements that were to be made; where that is not recorded, those there are."""
    stopped: tuple[str, ...] = ()
    """Reasons of runs that did not end, as far as their logs tell them."""
    is_recorded: bool = True
    """Whether the plan is recorded; else nobody can tell that the run has finished."""

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
    def sentence(self) -> str:
        """First sentence of every view of a run that ended early, or had errors; else empty."""
        if self.stopped or (self.not_asked and self.is_recorded):
            why = "; ".join(self.stopped) or "it was stopped or capped"
            said = f"ended early ({why}), with {self._judged}"
        elif self.statuses.get("error") or self.not_asked:
            said = self._judged
        else:
            return ""
        return said + self.gaps

    @property
    def gaps(self) -> str:
        """Judgements without a verdict, by reason, after a colon; empty where there are none."""
        counts = {text: self.statuses.get(status, 0) for status, text in _OF_ANSWERS.items()}
        counts["{} never asked"] = self.not_asked
        parts = [text.format(f"{n:,}") for text, n in counts.items() if n]
        return f": {', '.join(parts)}" if parts else ""

    @property
    def _judged(self) -> str:
        share = percent(self.judged / self.planned, 0)
        planned = "planned " if self.is_recorded else ""
        return f"{self.judged} of {self.planned} {planned}judgements made ({share})"

    @property
    def unread(self) -> int:
        """Planned judgements without an answer that was read."""
        return self.planned - self.statuses.get("ok", 0)

    @property
    def is_broken(self) -> bool:
        """Tell whether too little was read for any verdict: a fifth or more is missing."""
        return self.unread >= MOST_UNREAD * self.planned


def run_state(rows: pl.DataFrame, other: pl.DataFrame | None = None) -> RunState:
    """The state of a condition's runs.

    Args:
        rows: All its rows of the judgement table, labelled or not.
        other: Rows of another run, whose cases were to be judged where no plan is recorded.
    """
    stopped = rows["stopped"].drop_nulls().unique(maintain_order=True).to_list()
    recorded = not rows["planned"].has_nulls()
    lost = 0 if other is None or recorded else len(lost_rows(rows, other))
    planned = planned_in(rows) + lost
    return RunState(Counter(rows["status"]), planned, tuple(stopped), recorded)


def lost_rows(rows: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """Rows of cases that another run has and a run lacks, one for each epoch of the run."""
    known = other.select("case_id", *OF_CASE).unique("case_id", maintain_order=True)
    asked = known.join(rows.select("epoch").unique(), how="cross")
    return asked.join(rows.select(ANSWER_KEYS), on=ANSWER_KEYS, how="anti", maintain_order="left")


def planned_in(rows: pl.DataFrame) -> int:
    """Judgements that the runs of some rows were to make; at least the rows that there are."""
    runs = rows.group_by("run_id").agg(pl.len().alias("there"), pl.col("planned").max())
    return int(runs.select(pl.max_horizontal("there", "planned").sum()).item())
