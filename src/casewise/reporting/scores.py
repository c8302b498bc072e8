"""Scores: the table of runs, the worst cases, and, whole, every measure and analysis."""

from collections.abc import Iterator, Sequence

from casewise.analyses import ANALYSES
from casewise.measures import find_measure
from casewise.reporting.analyses import as_table
from casewise.results import (
    Analysis,
    Comparisons,
    Failure,
    Overview,
    Score,
    Scores,
    Verdict,
    figure_titles,
    pinned_rows,
    remarks,
    unread_counts,
    wording,
)
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    count,
    escape,
    figures,
    interval,
    markdown,
    number,
    page,
    sheet_of,
    terminal,
)

CASES = 5
"""Wrong answers that are listed under the figures."""


@sheet_of.register
def score_sheet(result: Scores, *, whole: bool = False) -> Sheet:
    """Verdicts, the table of runs, and the worst cases; remarks below.

    Args:
        result: The scores.
        whole: Show every measure and analysis too.
    """

    def as_markdown() -> str:
        parts = _parts(result, whole=whole)
        return markdown(*(escape(part) if isinstance(part, str) else part for part in parts))

    return Sheet(lambda: terminal(*_parts(result, whole=whole)), as_markdown, result.record)


@sheet_of.register
def measures_sheet(result: Score) -> Sheet:
    """Every measure of a run, with its interval."""
    return page([_measures([result], ())], result.record)


def _parts(result: Scores, *, whole: bool) -> Iterator[Table | str]:
    if result.by is not None:
        yield runs_table(result.verdicts, (), "By part")
    else:
        for verdict in result.leading:
            yield from (verdict.subject, *verdict.statements, "")
        if result.verdicts:
            yield runs_table(result.verdicts, result.baselines, "In short")
        if failures := result.failures(CASES):
            yield cases_table(failures)
    if whole:
        yield from (*result.shape, "")
        for acts in (False, True):
            if scores := [score for score in result if score.acts is acts]:
                yield _measures(scores, () if acts else result.baselines)
    analyses = result.analyses if whole or result.by is not None else _requested(result)
    yield from (as_table(analysis) for analysis in analyses if analysis.lines)
    yield from remarks(result.rows)


def _requested(result: Scores) -> Iterator[Analysis]:
    """Analyses that an option asked for, and of what the table of runs can't hold."""
    requests = {
        "correction": any(score.correction for score in result),
        "calibration": result.calibrate,
        "ladder": any(score.condition.evidence for score in result),
        "rank": result.ranked,
    }
    yield from (ANALYSES[name](result) for name, is_wanted in requests.items() if is_wanted)


def _measures(scores: Sequence[Score], baselines: Sequence[Score]) -> Table:
    """Every measure: a row a measure, a column a run."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    policies = " and ".join(dict.fromkeys(str(score.scoring.unparsed) for score in scores))
    every = [*scores, *baselines]
    rows = [
        Row(["n", *(count(score.n) for score in every)]),
        Row(["read", *(number(score.coverage) for score in every)]),
    ]
    names = dict.fromkeys(name for score in scores for name in score.measures)
    rows += [
        Row([find_measure(name).label, *(score.measures.get(name) for score in every)])
        for name in names
    ]
    opened = [score for score in scores if score.bounds and unread_counts(score)]
    for name in dict.fromkeys(name for score in opened for name in score.bounds):
        ends = (interval(score.bounds.get(name)) if score in opened else None for score in every)
        rows.append(Row([f"{find_measure(name).label}, bounds", *ends]))
    title = f"Against {wording(*scores).against} (labels: {rules}; unread answers: {policies})"
    others = (
        baseline.condition.model.removeprefix("baseline:").replace("-", " ")
        for baseline in baselines
    )
    heads = (*map(whole_title, scores), *others)
    return Table([Column("measure"), *figures(Kind.ESTIMATE, *heads)], rows, title)


def all_verdicts(overview: Overview, result: object) -> list[Verdict]:
    """A verdict on each run in order; those that were compared first, after against before."""
    compared = list(result.verdicts) if isinstance(result, Comparisons) else []
    known = {condition for verdict in compared for condition in verdict.conditions}
    others = [Verdict("", score) for score in overview.scores if score.condition not in known]
    return [*compared, *others]


def whole_title(score: Score) -> str:
    """Whole name of a run, and of a part of it."""
    part = ", ".join(value or "–" for value in score.group.values())
    return ": ".join(filter(None, (score.condition.title, part)))


def runs_table(verdicts: Sequence[Verdict], baselines: Sequence[Score], title: str = "") -> Table:
    """State and figures of runs, and under them what they are held against."""
    rows = []
    for verdict in verdicts:
        changes = (
            f"{figure.text}; change {figure.change_text}" if figure.change_text else figure.text
            for figure in verdict.figures
        )
        before = f", before: {verdict.conditions[0].title}" if verdict.comparison else ""
        rows.append(Row([f"{whole_title(verdict.score)}{before}", verdict.state, *changes]))
    held_against = pinned_rows(verdicts, baselines)
    rows += [Row([name, "", *texts], dim=True) for name, texts in held_against.items()]
    heads = figure_titles(*(verdict.score for verdict in verdicts))
    columns = [Column("run"), Column("state"), *figures(Kind.ESTIMATE, *heads)]
    return Table(columns, rows, title)


def cases_table(failures: Sequence[Failure], title: str = "Worst cases") -> Table:
    """A row a case: its distance from people, its id, category and run, and why it is wrong."""
    several = len({failure.run for failure in failures}) > 1
    rows = []
    for failure in failures:
        run = [failure.run.title] if several else []
        cells = (failure.distance, failure.case_id, failure.category or "", *run, failure.sentence)
        rows.append(Row(cells))
    names = ("case", "category", *(["run"] if several else []), "why")
    return Table([Column("off by", Kind.NUMBER, 2), *map(Column, names)], rows, title)
