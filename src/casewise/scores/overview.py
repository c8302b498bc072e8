"""Contents of a page or card, computed once: scores, comparisons, records, and every case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from casewise.cases import Case
from casewise.judgements import Judgements, RunRecord, conditions
from casewise.measures import Scoring
from casewise.protocols import RunCondition
from casewise.replies import CheckFile
from casewise.scores.comparison import Comparison
from casewise.scores.failures import Browser, make_browser
from casewise.scores.report import ScoreReport, report_scores
from casewise.scores.score import Score


@dataclass(frozen=True)
class Overview:
    """Data that a page or a card is made from."""

    report: ScoreReport
    """Every condition and its baselines, as ``casewise score`` has them."""
    browser: Browser
    comparisons: tuple[Comparison, ...]
    """Runs subtracted, where that was asked for."""
    checks: tuple[CheckFile, ...]
    """Labelled replies, where rates were to be corrected by them."""
    records: tuple[RunRecord, ...]
    """How the runs were made, where their logs are at hand."""
    notes: tuple[str, ...]
    """Notes on how the table was made."""

    @property
    def scores(self) -> tuple[Score, ...]:
        """Scores of every condition, the baselines apart."""
        return self.report.scores

    def records_of(self, condition: RunCondition) -> list[RunRecord]:
        """Records of the runs of a condition; none where no log is at hand."""
        ids = self._run_ids.get(condition, ())
        return [one for one in self.records if one.run_id in ids]

    @cached_property
    def _run_ids(self) -> dict[RunCondition, set[str]]:
        return {one: set(rows["run_id"]) for one, rows in conditions(self.report.table)}


def make_overview(
    judgements: Judgements,
    scoring: Scoring,
    *,
    cases: Mapping[str, Case] | None = None,
    comparisons: Sequence[Comparison] = (),
    checks: Sequence[CheckFile] = (),
    records: Sequence[RunRecord] = (),
    seed: int = 0,
) -> Overview:
    """Compute what a page shows.

    Args:
        judgements: The table, read with texts where they are wanted.
        scoring: Rules of scoring, as in ``casewise score``.
        cases: More cases whose texts are known, by id, such as those of a data set.
        comparisons: Runs subtracted.
        checks: Labelled replies, to correct rates by.
        records: How the runs were made.
        seed: Seed of simulated ceilings.
    """
    changes = [one.scores for one in comparisons]
    return Overview(
        report=report_scores(judgements.table, scoring, seed=seed, checks=checks),
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
