"""Contents of a page or card, computed once: scores, comparisons, records, and every case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from casewise.cases import Case
from casewise.judgements import Judgements, RunRecord
from casewise.measures import Scoring
from casewise.replies import CheckFile
from casewise.results.compare import Comparison
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
    judgements: Judgements,
    scoring: Scoring,
    *,
    cases: Mapping[str, Case] | None = None,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[CheckFile] = (),
    records: Sequence[RunRecord] = (),
    trend: bool = False,
) -> Overview:
    """Compute what a page shows.

    Args:
        judgements: The table, read with texts where they are wanted.
        scoring: Rules of scoring, as in ``casewise score``.
        cases: More cases whose texts are known, by id, such as those of a data set.
        comparisons: Runs subtracted.
        checks: Labelled replies, to correct rates by.
        records: How the runs were made.
        trend: Whether a trend is made of them.
    """
    changes = [one.scores for one in comparisons]
    return Overview(
        scores=score_table(
            *(judgements.table, scoring),
            checks=checks,
            logs=records if trend else (),
        ),
        browser=make_browser(
            judgements.table,
            {**(cases or {}), **judgements.cases},
            scoring,
            [(before.condition, after.condition) for before, after in changes],
        ),
        comparisons=tuple(comparisons),
        checks=tuple(checks),
        records=tuple(records),
        notes=judgements.notes,
    )
