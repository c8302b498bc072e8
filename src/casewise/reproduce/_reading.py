"""Replies of a work, graded anew by our own reader, against the authors' labels."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from casewise.errors import UsageError
from casewise.protocols import Status, read_reply
from casewise.reproduce._figures import (
    ByReader,
    ReaderRow,
    figures_of,
    load_reader,
    shown_name,
)
from casewise.reproduce._work import WORKS, Work
from casewise.scores import Estimate, compare_runs, find_runs

_REFUSED = pl.col("response_class") == "refusal"


def read_anew(name: str, work: Work, files: Mapping[str, Path], works: Path = WORKS) -> ByReader:
    """Grade the replies of a work, and recompute its figures.

    Args:
        name: The work's name.
        work: The work.
        files: Its files by their paths, each checked.
        works: Folder of the works.

    Raises:
        UsageError: Its reader has no replies.
    """
    reader = load_reader(works, name)
    if not hasattr(reader, "replies"):
        raise UsageError(f"--by-reader: {name} has no replies that can be graded anew")
    # Runs are compared by case and epoch.
    table: pl.DataFrame = reader.read(files).with_columns(pl.col("epoch").fill_null(1))
    texts: Sequence[tuple[str, str]] = reader.replies(files)
    read = [read_reply(reply, query) for query, reply in texts]
    own = table.with_columns(
        pl.Series("response_class", [one.response_class for one in read], pl.String),
        pl.Series("status", [one.status for one in read], pl.String),
    )
    pairs = zip(find_runs({"": table}), find_runs({"": own}), strict=True)
    keys = work.published[0].keys
    rows = (
        _row(shown_name(before.condition, keys), before.rows, after.rows, found.difference)
        for before, after in pairs
        for compared in compare_runs([(before, after)], work.scoring.scoring())
        for found in compared.differences
        if found.metric == "over_refusal"
    )
    alone = [one for one in work.published if not one.against]
    figures = figures_of(work.model_copy(update={"published": alone}), own)
    return ByReader({one.key: one.recomputed for one in figures}, tuple(rows))


def _row(name: str, before: pl.DataFrame, after: pl.DataFrame, found: Estimate) -> ReaderRow:
    is_read = (after["status"] == Status.OK).to_numpy()
    labelled, said = (one.select(_REFUSED).to_series().to_numpy() for one in (before, after))
    return ReaderRow(
        name,
        n=len(after),
        unread=int((~is_read).sum()),
        labelled=int((labelled & is_read).sum()),
        missed=int((labelled & ~said & is_read).sum()),
        added=int((~labelled & said & is_read).sum()),
        difference=found,
    )
