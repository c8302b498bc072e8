"""Everything that a report shows, computed once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from casewise.analysis._compare import Comparison
from casewise.analysis._report import ScoreReport, report_scores
from casewise.analysis._score import Score, Scoring
from casewise.analysis._sources import Judgements
from casewise.analysis.overview._browser import Browser, make_browser
from casewise.analysis.overview._categories import CategoryScore, category_scores
from casewise.analysis.overview._leaders import Leader, leaders
from casewise.analysis.overview._retention import Retention, retentions
from casewise.analysis.overview._usage import Usage, usages
from casewise.cases import Case


@dataclass(frozen=True, slots=True)
class Overview:
    """What a report is made from."""

    report: ScoreReport
    """Every condition and its baselines, as ``casewise score`` has them."""
    leaders: tuple[Leader, ...]
    categories: tuple[CategoryScore, ...]
    """Plain runs by category."""
    retentions: tuple[Retention, ...]
    usages: tuple[Usage, ...]
    browser: Browser
    comparisons: tuple[Comparison, ...]
    """Runs subtracted, where that was asked for."""
    notes: tuple[str, ...]
    """What a person should know of how the table was made."""

    @property
    def scores(self) -> list[Score]:
        """Of every condition, the baselines apart."""
        return [row.score for row in self.report.rows]


def make_overview(
    judgements: Judgements,
    scoring: Scoring,
    *,
    cases: Mapping[str, Case] | None = None,
    comparisons: Sequence[Comparison] = (),
    seed: int = 0,
) -> Overview:
    """Compute what a report shows.

    Args:
        judgements: The table, read with texts where they are wanted.
        scoring: As in ``casewise score``.
        cases: More cases whose texts are known, by id, such as those of a data set.
        comparisons: Runs subtracted.
        seed: Of simulated ceilings.
    """
    table = judgements.table
    report = report_scores(table, scoring, seed=seed)
    scores = [row.score for row in report.rows]
    return Overview(
        report=report,
        leaders=tuple(leaders(table, scores, scoring)),
        categories=tuple(category_scores(table, scoring)),
        retentions=tuple(retentions(report.rows)),
        usages=tuple(usages(table)),
        browser=make_browser(table, {**(cases or {}), **judgements.cases}, scoring),
        comparisons=tuple(comparisons),
        notes=judgements.notes,
    )
