"""Contents of a page or card, computed once: scores, comparisons, records, and every case."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from casewise.cases import Case
from casewise.judgements import Judgements, RunRecord
from casewise.measures import Scoring
from casewise.protocols import CONDITION
from casewise.replies import CheckFile
from casewise.results.compare import Comparison, compare_runs, find_pairs
from casewise.results.failures import Browser, make_browser
from casewise.results.score import Scores, score_table


@dataclass(frozen=True)
class Overview:
    """Data that a page or a card is made from."""

    scores: Scores
    """Every condition, as ``casewise score`` has it."""
    browser: Browser
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
    tables = {place: one.table for place, one in parts.items()}
    table, *others = tables.values()
    if others:
        # A judgement may stand in several of the parts.
        keys = ["run_id", *CONDITION, "case_id", "epoch"]
        table = pl.concat([table, *others]).unique(keys, maintain_order=True)
    known = {case.id: case for case in cases}
    for one in parts.values():
        known |= one.cases
    pairs = find_pairs(tables, across_versions=across_versions) if compare else ()
    comparisons = compare_runs(pairs, scoring, checks=checks)
    changes = [(one.scores[0].condition, one.scores[1].condition) for one in comparisons]
    return Overview(
        scores=score_table(table, scoring, checks=checks, logs=records if trend else ()),
        browser=make_browser(table, known, scoring, changes),
        comparisons=tuple(comparisons),
        checks=tuple(checks),
        records=tuple(records),
        notes=tuple(dict.fromkeys(note for one in parts.values() for note in one.notes)),
    )
