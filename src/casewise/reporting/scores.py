"""Scores: the table of runs, the worst cases, and, whole, every measure and analysis."""

from collections.abc import Iterator, Sequence

from casewise.analyses import ANALYSES
from casewise.measures import find
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
    left_open,
    pinned_rows,
    remarks,
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

    def written() -> str:
        parts = _parts(result, whole=whole)
        return markdown(*(escape(one) if isinstance(one, str) else one for one in parts))

    return Sheet(lambda: terminal(*_parts(result, whole=whole)), written, result.record)


@sheet_of.register
def measures_sheet(result: Score) -> Sheet:
    """Every measure of a run, with its interval."""
    return page([_measures([result], ())], result.record)


def _parts(result: Scores, *, whole: bool) -> Iterator[Table | str]:
    if result.by is not None:
        yield runs_table(result.verdicts, (), "By part")
    else:
        for one in result.leading:
            yield from (one.subject, *one.said, "")
        if result.verdicts:
            yield runs_table(result.verdicts, result.baselines, "In short")
        if found := result.failures(CASES):
            yield cases_table(found)
    if whole:
        yield from (*result.shape, "")
        for acts in (False, True):
            if scores := [one for one in result if one.acts is acts]:
                yield _measures(scores, () if acts else result.baselines)
    analyses = result.analyses if whole or result.by is not None else _asked_for(result)
    yield from (as_table(one) for one in analyses if one.lines)
    yield from remarks(result.rows)


def _asked_for(result: Scores) -> Iterator[Analysis]:
    """Analyses that an option asked for, and of what the table of runs can't hold."""
    wanted = {
        "correction": any(one.correction for one in result),
        "calibration": result.calibrate,
        "ladder": any(one.condition.evidence for one in result),
        "rank": result.ranked,
    }
    yield from (ANALYSES[name](result) for name, is_wanted in wanted.items() if is_wanted)


def _measures(scores: Sequence[Score], baselines: Sequence[Score]) -> Table:
    """Every measure: a row a measure, a column a run."""
    rules = " and ".join(dict.fromkeys(str(one.labels) for one in scores))
    policies = " and ".join(dict.fromkeys(str(one.scoring.unparsed) for one in scores))
    every = [*scores, *baselines]
    rows = [
        Row(["n", *(count(one.n) for one in every)]),
        Row(["read", *(number(one.coverage) for one in every)]),
    ]
    names = dict.fromkeys(name for one in scores for name in one.measures)
    rows += [Row([find(name).label, *(one.measures.get(name) for one in every)]) for name in names]
    opened = [one for one in scores if one.bounds and left_open(one)]
    for name in dict.fromkeys(name for one in opened for name in one.bounds):
        ends = (interval(one.bounds.get(name)) if one in opened else None for one in every)
        rows.append(Row([f"{find(name).label}, bounds", *ends]))
    title = f"Against {wording(*scores).against} (labels: {rules}; unread answers: {policies})"
    others = (one.condition.model.removeprefix("baseline:").replace("-", " ") for one in baselines)
    heads = (*map(whole_title, scores), *others)
    return Table([Column("measure"), *figures(Kind.ESTIMATE, *heads)], rows, title)


def all_verdicts(overview: Overview, result: object) -> list[Verdict]:
    """A verdict on each run in order; those that were compared first, after against before."""
    compared = list(result.verdicts) if isinstance(result, Comparisons) else []
    known = {condition for one in compared for condition in one.conditions}
    others = [Verdict("", one) for one in overview.scores if one.condition not in known]
    return [*compared, *others]


def whole_title(score: Score) -> str:
    """Whole name of a run, and of a part of it."""
    part = ", ".join(value or "–" for value in score.group.values())
    return ": ".join(filter(None, (score.condition.title, part)))


def runs_table(verdicts: Sequence[Verdict], baselines: Sequence[Score], title: str = "") -> Table:
    """State and figures of runs, and under them what they are held against."""
    rows = []
    for one in verdicts:
        changes = (
            f"{each.text}; change {each.change_text}" if each.change_text else each.text
            for each in one.figures
        )
        before = f", before: {one.conditions[0].title}" if one.comparison else ""
        rows.append(Row([f"{whole_title(one.score)}{before}", one.state, *changes]))
    held_against = pinned_rows(verdicts, baselines)
    rows += [Row([name, "", *texts], dim=True) for name, texts in held_against.items()]
    heads = figure_titles(*(one.score for one in verdicts))
    columns = [Column("run"), Column("state"), *figures(Kind.ESTIMATE, *heads)]
    return Table(columns, rows, title)


def cases_table(failures: Sequence[Failure], title: str = "Worst cases") -> Table:
    """A row a case: its distance from people, its id, category and run, and why it is wrong."""
    several = len({one.run for one in failures}) > 1
    rows = []
    for one in failures:
        run = [one.run.title] if several else []
        cells = (one.distance, one.case_id, one.category or "", *run, one.sentence)
        rows.append(Row(cells))
    names = ("case", "category", *(["run"] if several else []), "why")
    return Table([Column("off by", Kind.NUMBER, 2), *map(Column, names)], rows, title)
