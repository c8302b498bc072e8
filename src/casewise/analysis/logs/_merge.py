"""Judgements of a run as a table: of one log, or of many that count as one."""

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

import polars as pl

from casewise.analysis._table import make_table
from casewise.analysis.logs._header import LogHeader
from casewise.analysis.logs._read import read_samples

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
        return _read(header, texts, keep)[0]
    frames = []
    for number, part in enumerate(header.parts):
        table, places = _read(part, texts, keep)
        # Rows are dropped as soon as a log is read: in a table they take a tenth.
        marks = (pl.Series(_PLACE, places, pl.Int64), pl.lit(number, pl.Int32).alias(_PART))
        frames.append(table.with_columns(*marks, pl.lit(header.run_id).alias("run_id")))
    whole = pl.concat(frames)
    failed = pl.col("error").is_not_null()
    order = whole.select(pl.arg_sort_by(_PLACE, "epoch", failed, _PART, maintain_order=True))
    return (
        whole[order.to_series()]
        .unique(["case_id", "epoch"], keep="first", maintain_order=True)
        .drop(_PLACE, _PART)
    )


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
    if keep is not None:
        keep(rows)
    return make_table(rows), [place for (place, _), found in samples for _ in found]
