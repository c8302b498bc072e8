"""Judgements of a run as a table: of one log, or of many that count as one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl

from casewise.analysis._table import make_table
from casewise.analysis.logs._header import LogHeader
from casewise.analysis.logs._read import ANSWERED_BY, read_samples

Keep = Callable[[Iterable[Mapping[str, Any]]], None]

_PLACE, _PART = "_place", "_part"


def read_judgements(
    header: LogHeader, *, texts: bool = False, keep: Keep | None = None
) -> pl.DataFrame:
    """The judgement table of a run, in the order of its data set.

    A case that stands in several logs of a run in shards counts once: its first judgement, or
    its first error where it was never judged.

    Args:
        header: The log, or the logs of one run.
        texts: Read answers and explanations whole, and the cases' texts.
        keep: Given the rows with their texts, if these are read.
    """
    if not header.parts:
        table, places = _read(header, texts, keep)
        return _with_plan(_without_strangers(table), header, places, table["epoch"])
    frames = []
    for number, part in enumerate(header.parts):
        table, places = _read(part, texts, keep)
        # Rows are dropped as soon as a log is read: in a table they take a tenth.
        marks = (pl.Series(_PLACE, places, pl.Int64), pl.lit(number, pl.Int32).alias(_PART))
        frames.append(table.with_columns(*marks, pl.lit(header.run_id).alias("run_id")))
    whole = _without_strangers(pl.concat(frames))
    failed = pl.col("error").is_not_null()
    order = whole.select(pl.arg_sort_by(_PLACE, "epoch", failed, _PART, maintain_order=True))
    once = whole[order.to_series()].unique(["case_id", "epoch"], keep="first", maintain_order=True)
    return _with_plan(once.drop(_PLACE, _PART), header, once[_PLACE], once["epoch"])


def _with_plan(
    table: pl.DataFrame, header: LogHeader, places: Sequence[int] | pl.Series, epochs: pl.Series
) -> pl.DataFrame:
    """Say how many rows there would be if the run had come to its end.

    A sample may have several rows, a turn each; one that is not there counts as one.
    """
    planned = None
    if header.planned is not None:
        there = pl.DataFrame([pl.Series(_PLACE, places, pl.Int64), epochs]).n_unique()
        planned = len(table) + max(0, header.planned - there)
    return table.with_columns(pl.lit(planned, pl.Int64).alias("planned"))


def _read(header: LogHeader, texts: bool, keep: Keep | None) -> tuple[pl.DataFrame, list[int]]:
    """The table of one log, and the place of each row in the whole."""
    # Samples end in the order in which answers come; sums in another order end in other digits.
    samples = [
        ((place, rows[0]["epoch"]), rows)
        for place, rows in read_samples(header, texts=texts)
        if rows
    ]
    samples.sort(key=itemgetter(0))
    rows = [row for _, found in samples for row in found]
    names = pl.Series(ANSWERED_BY, [row.pop(ANSWERED_BY, None) for row in rows], pl.String)
    if keep is not None:
        keep(rows)
    return make_table(rows).with_columns(names), [
        place for (place, _), found in samples for _ in found
    ]


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
