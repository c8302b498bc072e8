"""Scores as tables: of judges, of models that act, of pairs; and what changes them."""

import math
from collections.abc import Callable, Iterator, Sequence

from casewise.analyses import Analysis, as_table
from casewise.choices import Family, Measure, View
from casewise.measures import find, in_view
from casewise.results import (
    Failure,
    Score,
    Scores,
    Verdict,
    deed,
    left_open,
    of_100,
    pinned_rows,
    remarks,
    wording,
)
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    escape,
    fits,
    markdown,
    terminal,
)

ScoreColumn = tuple[Column, Callable[[Score], Cell]]
"""A column, and a function from a score to its cell."""


def baseline_text(score: Score) -> str:
    """A baseline's name in plain words."""
    name = score.condition.model.removeprefix("baseline:").replace("-", " ")
    if score.condition.of is not None:
        return f"{name}: {score.condition.of} ({score.condition.text})"
    return name


def title(scores: Sequence[Score]) -> str:
    """Title: labels that the scores are measured against, and what unread answers count as."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    against = wording(*scores).against
    policies = " and ".join(dict.fromkeys(str(score.scoring.unparsed) for score in scores))
    return f"Against {against} (labels: {rules}; unread answers: {policies})"


def number_columns(rows: Sequence[Measure]) -> list[ScoreColumn]:
    """Columns for measures of judging, the interval beside the first."""
    headline, *others = rows
    return [
        *answer_counts("read"),
        *interval_columns(headline),
        *map(measure_column, others),
    ]


def answer_counts(read: str) -> list[ScoreColumn]:
    """Columns for the number of answers, and the share that was read or graded."""
    return [
        (Column("n", Kind.COUNT), lambda score: score.n),
        (Column(read, Kind.SHARE), lambda score: score.coverage),
    ]


PAIR_COUNTS: list[ScoreColumn] = [
    (Column("queries", Kind.COUNT), lambda score: score.as_intended.clusters or None),
    (Column("pairs", Kind.COUNT), lambda score: score.as_intended.pairs or None),
]
"""Columns for the number of queries with a safe and an unsafe context, and of such pairs."""


def has_pairs(score: Score) -> bool:
    """Tell whether some query has two contexts, or one beside the query alone."""
    names = ("as_intended", "follows", "false_changes")
    return any(not math.isnan(score.measures[name].value) for name in names)


def context_columns(rows: Sequence[Measure]) -> list[ScoreColumn]:
    """Columns for measures of the two contexts of a query."""
    return [*PAIR_COUNTS, *map(measure_column, rows)]


def measure_column(row: Measure) -> ScoreColumn:
    """A column of a measure."""
    return Column(row.heading, Kind.NUMBER), lambda score: score.measures[row.name].value


def interval_columns(row: Measure) -> list[ScoreColumn]:
    """Columns for a measure and its interval."""
    ends = Column("95 %", Kind.INTERVAL), lambda score: score.measures[row.name].interval
    return [measure_column(row), ends]


def group_text(score: Score) -> str:
    """Values of the group that a score is split to; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())


def act_title(scores: Sequence[Score]) -> str:
    """Title of the table of replies: the line that they are measured against."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    return f"Answers and refusals against {wording(*scores).line} (labels: {rules})"


def act_columns(scores: Sequence[Score]) -> list[ScoreColumn]:
    """Columns for refusals and answers; for tool calls where a model makes any."""
    columns = answer_counts("graded")
    for row in in_view(View.RATES, Family.REPLIES):
        if row.sides:
            columns += interval_columns(row)
        elif not row.is_optional:
            columns.append(measure_column(row))
        elif any(row.name in score.measures for score in scores):
            columns.append((Column(row.heading, Kind.NUMBER), tool_rate))
    return columns


def bounds_table(scores: Sequence[Score]) -> list[Table]:
    """Table of the rates' bounds over replies on neither side; none where every reply has one."""
    opened = [score for score in scores if score.bounds and left_open(score)]
    if not opened:
        return []
    columns: list[ScoreColumn] = [
        (Column("replies on\nneither side"), lambda score: ", ".join(left_open(score))),
        *(_bounds_column(find(name)) for name in opened[0].bounds),
    ]
    heading = "Bounds of the rates: replies on neither side counted on either"
    return [_scores_table(heading, opened, columns)]


def _bounds_column(row: Measure) -> ScoreColumn:
    return Column(row.heading, Kind.INTERVAL), lambda score: score.bounds[row.name]


def tool_rate(score: Score) -> float | None:
    """The share of graded replies that call a tool; None without replies."""
    if "tool_call_rate" in score.measures:
        return score.measures["tool_call_rate"].value
    return 0.0 if score.classes else None


def pair_columns() -> list[ScoreColumn]:
    """Columns for the outcomes of pairs of contexts."""
    return [*PAIR_COUNTS, *map(measure_column, in_view(View.PAIRS, Family.REPLIES))]


WIDE = 100
"""Least width of a terminal that shows columns of wide tables, as many as fit; other formats have
them all."""

CASES = 5
"""Wrong answers that are listed under the figures."""


def score_sheet(
    result: Scores,
    width: int | None = None,
    *,
    whole: bool = False,
) -> Sheet:
    """State, verdicts, the figures of all runs in short, and the worst cases; remarks below.

    Args:
        result: The scores.
        width: Columns of a terminal, which decide how many measures it shows; None shows all.
        whole: Show every measure and analysis too.
    """

    def parts(width: int | None) -> Iterator[Table | str]:
        yield from _opening(result)
        if whole or result.by is not None:
            yield from _whole(result, width)
        else:
            yield from map(as_table, _asked_for(result))
        yield from remarks(result.rows)

    return Sheet(
        lambda: terminal(*parts(width)),
        lambda: markdown(*(escape(one) if isinstance(one, str) else one for one in parts(None))),
        result.record,
    )


def _opening(result: Scores) -> Iterator[Table | str]:
    """The verdicts to begin with, state and figures in short, and the worst cases."""
    for one in result.leading:
        yield from (one.subject, *one.said, "")
    for acts in (False, True):
        shown = [one for one in result.verdicts if _is_short(one.score, acts=acts)]
        yield from _in_short(shown, () if acts else result.known)
    if found := result.failures(CASES):
        yield cases_table(found)


def _asked_for(result: Scores) -> Iterator[Analysis]:
    """Analyses that an option asked for, and of what the table in short can't hold."""
    wanted = {
        "correction": result.corrections,
        "calibration": result.calibrate,
        "ladder": any(one.condition.evidence for one in result),
        "rank": result.ranked,
    }
    for name in (name for name, is_wanted in wanted.items() if is_wanted):
        yield from (one for one in result.analysed(name) if one.lines)


def _is_short(score: Score, *, acts: bool) -> bool:
    """Tell whether a run is a row of the table in short: of no group, rung or pairs."""
    return score.acts is acts and not (score.group or score.condition.evidence)


def cases_table(failures: Sequence[Failure], title: str = "Worst cases") -> Table:
    """Wrong answers without their texts: ids, categories, what people and the model said."""
    several = len({one.run for one in failures}) > 1
    columns = ("case", "category", *(["run"] if several else []), "label", "model")
    rows = [
        Row(
            [
                *(one.case_id, one.category or ""),
                *([one.run.title] if several else []),
                one.people,
                deed(one.said),
            ]
        )
        for one in failures
    ]
    return Table([*map(Column, columns)], rows, title)


def _whole(result: Scores, width: int | None) -> Iterator[Table | str]:
    """Every measure of judges and of models that act, then every analysis."""
    if result.shape is not None:
        yield from (*result.shape.sentences(), "")
    yield from _judging(result, [one for one in result if not one.acts], width)
    yield from _acting([one for one in result if one.acts])
    yield from map(as_table, (one for one in result.analyses if one.lines))


def _judging(
    result: Scores,
    scores: Sequence[Score],
    width: int | None,
) -> list[Table]:
    if not scores:
        return []
    baselines = result.baselines

    def numbers(rows: Sequence[Measure]) -> Table:
        return _scores_table(title(scores), scores, number_columns(rows), baselines)

    def pairs(rows: Sequence[Measure]) -> Table:
        # Others know no context.
        sees = ("as_intended", "inverted")
        beside = [one for one in baselines if any(one.measures[name].value > 0 for name in sees)]
        return _scores_table(View.PAIRS, paired, context_columns(rows), beside)

    parts = [_fitted(View.SCORES, width, numbers)]
    paired = [score for score in scores if has_pairs(score) and not score.group]
    if paired:
        parts.append(_fitted(View.PAIRS, width, pairs))
    return parts


def _fitted(view: View, width: int | None, make: Callable[[Sequence[Measure]], Table]) -> Table:
    """A table with as many of the columns of wide tables as fit, the first ones first."""
    rows = in_view(view)
    if width is None:
        return make(rows)
    wide = [row for row in rows if row.wide]
    while wide and (width < WIDE or not fits(make(rows), width)):
        rows.remove(wide.pop())
    return make(rows)


def _acting(scores: Sequence[Score]) -> Iterator[Table]:
    if not scores:
        return
    yield _scores_table(act_title(scores), scores, act_columns(scores))
    yield from bounds_table(scores)
    paired = [score for score in scores if has_pairs(score) and not score.group]
    if paired:
        heading = "What it does in a safe and an unsafe context of a query"
        yield _scores_table(heading, paired, pair_columns())


def _scores_table(
    heading: str,
    scores: Sequence[Score],
    columns: Sequence[ScoreColumn],
    baselines: Sequence[Score] = (),
) -> Table:
    """Rows under the name of their model, named by condition and group; baselines last, dimmed."""

    def cells(name: str, score: Score) -> list[Cell]:
        named = ": ".join(filter(None, (name, group_text(score))))
        return [named, *(cell(score) for _, cell in columns)]

    rows = [Row(cells(one.condition.text, one), one.condition.model) for one in scores]
    rows += [Row(cells(baseline_text(one), one), "baselines", dim=True) for one in baselines]
    names = [Column(""), *(column for column, _ in columns)]
    return Table(names, rows, heading, groups="model")


def _in_short(whole: Sequence[Verdict], baselines: Sequence[Score]) -> Iterator[Table]:
    """The state and the figures of runs, and what they are held against; nothing without runs."""
    if not whole:
        return
    rows = [
        Row([one.score.condition.text, one.state, *(each.text for each in one.figures)], model)
        for one in whole
        for model in [one.score.condition.model]
    ]
    for name, shares in pinned_rows(whole, baselines).items():
        values = [one.value for one in shares[:4]]
        texts = [None if value != value else f"{of_100(value)} %" for value in values]
        if any(texts):
            rows.append(Row([name, None, *texts], "held against", dim=True))
    titles = (one.title for one in whole[0].figures)
    heads = (one.replace(" what", "\nwhat").replace(" where", "\nwhere") for one in titles)
    columns = [Column(""), Column("state"), *map(Column, heads)]
    yield Table(columns, rows, "In short", groups="model")
