"""Judgements of a run as a table: of one log, or of many that count as one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import polars as pl

from casewise.analysis._table import make_table
from casewise.analysis.logs._rows import rows_of
from casewise.cases import address_of
from casewise.logs import (
    ANSWERED_BY,
    SHARDS,
    Asked,
    Attempts,
    LoggedRun,
    LogHeader,
    counting,
    read_records,
    runs_of,
)

Keep = Callable[[Iterable[Mapping[str, Any]]], None]


def choose_logs(headers: Iterable[LogHeader]) -> tuple[list[LoggedRun], list[str]]:
    """The runs that logs are of, in their order, with a note on each that did not end."""
    runs = sorted(runs_of(headers), key=lambda run: run.first.order)
    return runs, [
        f"{where}: the run did not end ({why}); what it has counts"
        for run in runs
        if not run.complete
        for where, why in [_unfinished(run)]
    ]


def _unfinished(run: LoggedRun) -> tuple[str, str]:
    """Where the logs of a run stand that did not end, and how it is known."""
    path = run.first.path
    if run.alone:
        return address_of(path), run.first.log.status
    folder = path.parent.parent.parent if path.parent.parent.name == SHARDS else path.parent
    return address_of(folder), "its logs don't hold every case"


def read_judgements(
    run: LoggedRun, *, texts: bool = False, keep: Keep | None = None
) -> pl.DataFrame:
    """The judgement table of a run, in the order of its data set.

    A case that stands in several of its logs counts once; see ``counting``.

    Args:
        run: Its logs.
        texts: Read answers and explanations whole, and the cases' texts.
        keep: Given the rows with their texts, if these are read.
    """
    # A log at a time: as rows, judgements take ten times the memory that they take in a table.
    logs = [_read(header, run, texts, keep) for header in run.logs]
    table = pl.concat(log.table for log in logs)
    if len(logs) > 1:
        table = table.filter(_counted(logs)).sort(_PLACE, "epoch", maintain_order=True)
    planned = None
    if run.planned is not None:
        # A sample may have several rows, a turn each; one that is not there counts as one.
        planned = len(table) + max(0, run.planned - table.select(_PLACE, "epoch").n_unique())
    table = _without_strangers(table.drop(_PLACE))
    return table.with_columns(pl.lit(planned, pl.Int64).alias("planned"))


_PLACE = "_place"
"""The column with a sample's place in the condition."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of one log."""

    table: pl.DataFrame
    asked: list[Asked]
    """Whose row each is."""
    attempts: Attempts


def _counted(logs: Sequence[_Read]) -> pl.Series:
    """Which rows are of attempts that count."""
    counted = counting([log.attempts for log in logs])
    found = [
        asked in attempts
        for log, attempts in zip(logs, counted, strict=True)
        for asked in log.asked
    ]
    return pl.Series(found, dtype=pl.Boolean)


def _read(header: LogHeader, run: LoggedRun, texts: bool, keep: Keep | None) -> _Read:
    records = [one for one in read_records(header, whole=texts) if not one.in_flight]
    # Samples end in the order in which answers come; sums in another order end in other digits.
    places = header.places
    ranked = [((places.get(one.case, len(places)), one.epoch), one) for one in records]
    ranked.sort(key=itemgetter(0))
    condition = run.condition
    rows, asked, at = [], list[Asked](), list[int]()
    for (place, epoch), record in ranked:
        found = rows_of(record, condition, texts=texts)
        rows += found
        asked += [(record.case, epoch)] * len(found)
        at += [place] * len(found)
    names = pl.Series(ANSWERED_BY, [row.pop(ANSWERED_BY, None) for row in rows], pl.String)
    if keep is not None:
        keep(rows)
    table = make_table(rows).with_columns(names, pl.Series(_PLACE, at, pl.Int64))
    return _Read(table, asked, Attempts.of_records(header, records))


_SAID = ("verdict", "p_safe", "raw_score", "mass", "response_class", "mentions")


def _without_strangers(table: pl.DataFrame) -> pl.DataFrame:
    """Make errors of answers by another model, if there are others by the model itself.

    A server that always answers by another name has a name of its own for the model.
    """
    name = pl.col(ANSWERED_BY)
    own = table.select(((pl.col("status") == "ok") & name.is_null()).any()).item()
    if own:
        strange = name.is_not_null() & (pl.col("status") != "error")
        reason = pl.lit("another model: the answer is by ") + name
        table = table.with_columns(
            *(pl.when(strange).then(None).otherwise(pl.col(one)).alias(one) for one in _SAID),
            pl.when(strange).then(pl.lit("error")).otherwise(pl.col("status")).alias("status"),
            pl.when(strange).then(reason).otherwise(pl.col("error")).alias("error"),
        )
    return table.drop(ANSWERED_BY)
