"""Scores as tables for a terminal, as Markdown, CSV or JSON."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

from rich.console import RenderableType

from casewise.choices import Family, Measure, View
from casewise.measures import find, in_view
from casewise.reporting._acting import (
    act_columns,
    act_tables,
    act_title,
    change_tables,
    correction_table,
    pair_columns,
)
from casewise.reporting._first_figures import figures_table
from casewise.reporting._scores import (
    ScoreColumn,
    baseline_text,
    context_columns,
    group_text,
    interval_columns,
    measure_column,
    number_columns,
    of_contexts,
    remarks,
    rules_remark,
    state_lines,
    title,
)
from casewise.scores import (
    CALIBRATED,
    RuleAccuracy,
    Score,
    ScoreReport,
    ScoreRow,
    as_report_records,
)
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    escape,
    figures,
    fits,
    markdown,
    number,
    terminal,
)
from casewise.sheets import to_csv as table_csv
from casewise.sheets import to_json as as_json

WIDE = 100
"""Least width of a terminal that shows columns of wide tables, as many as fit; other formats have
them all."""

_CHANGES = ("accuracy", "safe_recall", "unsafe_recall", "pcc", "brier", "both_right")


def score_renderable(
    report: ScoreReport, others: Sequence[Sequence[RuleAccuracy]], width: int
) -> RenderableType:
    """The tables, with the accuracy under other label rules and the remarks below them.

    Args:
        report: The rows and their baselines.
        others: The rows of judges under each label rule.
        width: Columns of the terminal.
    """
    scores = [row.score for row in report.rows]
    first = [
        figures_table([one for one in scores if one.acts is acts], report.baselines)
        for acts in (False, True)
    ]
    return terminal(
        *state_lines([*scores, *report.ranked]),
        *(one for one in first if one is not None),
        *_judging(report, [score for score in scores if not score.acts], others, width),
        *_acting(report, [score for score in scores if score.acts]),
        *(
            [_scores_table(View.RANKED.value, report.ranked, _ranked_columns())]
            if report.ranked
            else []
        ),
        *remarks(scores),
    )


def _ranked_columns() -> list[ScoreColumn]:
    headline, *rows = in_view(View.RANKED, Family.PAIRS)
    return [
        (Column("pairs", Kind.COUNT), lambda score: score.n),
        (Column("queries", Kind.COUNT), lambda score: score.queries),
        (Column("read", Kind.SHARE), lambda score: score.coverage),
        *interval_columns(headline),
        *map(measure_column, rows),
    ]


def _ranked_text(score: Score) -> str:
    of = score.condition.of
    return score.condition.text if of is None else f"{score.condition.text}, by its {of}"


def _judging(
    report: ScoreReport,
    scores: Sequence[Score],
    others: Sequence[Sequence[RuleAccuracy]],
    width: int,
) -> list[Table]:
    if not scores:
        return []

    def numbers(rows: Sequence[Measure]) -> Table:
        return _scores_table(title(scores), scores, number_columns(rows), report.baselines)

    parts = [_fitted(View.SCORES, width, numbers)]
    paired = [score for score in scores if score.pairs and not score.group]
    if paired:
        parts.append(
            _fitted(
                View.PAIRS,
                width,
                lambda rows: _scores_table(View.PAIRS, paired, context_columns(rows)),
            )
        )
    parts += [_scores_table(*one) for one in of_contexts(scores)]
    rules = _other_rules(scores, others)
    if rules:
        parts.append(_scores_table("Accuracy under other labels", scores, rules))
    extra = (_changes(report.rows), _shapley(report.rows), _calibration(report.rows))
    return [*parts, *(table for table in (*extra, _costs(report.rows)) if table.rows)]


def _fitted(view: View, width: int, make: Callable[[Sequence[Measure]], Table]) -> Table:
    """A table with as many of the columns of wide tables as fit, the first ones first."""
    rows = in_view(view)
    wide = [row for row in rows if row.wide]
    while wide and (width < WIDE or not fits(make(rows), width)):
        rows.remove(wide.pop())
    return make(rows)


def _acting(report: ScoreReport, scores: Sequence[Score]) -> list[Table]:
    if not scores:
        # Swaps and explanations are a judge's too.
        return change_tables(report)
    tables = [_scores_table(act_title(scores), scores, act_columns(scores))]
    paired = [score for score in scores if score.pairs and not score.group]
    if paired:
        heading = "What it does in a safe and an unsafe context of a query"
        tables.append(_scores_table(heading, paired, pair_columns()))
    tables += [_scores_table(*one) for one in of_contexts(scores)]
    return [*tables, *act_tables(report)]


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

    rows = [Row(cells(_ranked_text(one), one), one.condition.model) for one in scores]
    rows += [Row(cells(baseline_text(one), one), "baselines", dim=True) for one in baselines]
    return Table([Column(""), *(column for column, _ in columns)], rows, heading)


def _other_rules(
    scores: Sequence[Score], others: Sequence[Sequence[RuleAccuracy]]
) -> list[ScoreColumn]:
    """A column for the accuracy under each label rule but the table's own."""
    places = {id(score): place for place, score in enumerate(scores)}
    columns: list[ScoreColumn] = []
    for rows in others:
        if len(rows) != len(scores) or all(
            row.n == 0 or row.labels is score.labels
            for row, score in zip(rows, scores, strict=True)
        ):
            continue

        def cell(score: Score, rows: Sequence[RuleAccuracy] = rows) -> str:
            row = rows[places[id(score)]]
            cases = f" ({row.n})" if row.label_coverage < 1 else ""
            return number(row.accuracy) + cases

        columns.append((Column(str(rows[0].labels), Kind.SHARE), cell))
    return columns


def _change_columns() -> list[Column]:
    names = (name.replace("_", "\n") for name in _CHANGES)
    return [Column(""), Column("n", Kind.COUNT), *figures(Kind.ESTIMATE, *names)]


def _changes(rows: Sequence[ScoreRow]) -> Table:
    return Table(
        _change_columns(),
        [
            Row([score.condition.title, change.n, *(change.change[one] for one in _CHANGES)])
            for score, change in ((row.score, row.change) for row in rows)
            if change is not None and not score.acts
        ],
        "Change when parts of the context are removed (95 %)",
    )


def _shapley(rows: Sequence[ScoreRow]) -> Table:
    return Table(
        _change_columns(),
        [
            Row(
                [part.replace("_", " "), found.n, *(shares[one] for one in _CHANGES)],
                group=score.condition.title,
            )
            for score, found in ((row.score, row.shapley) for row in rows)
            if found is not None and not score.acts
            for part, shares in found.shares.items()
        ],
        "Shapley shares of the parts of the context (95 %)",
    )


def _calibration(rows: Sequence[ScoreRow]) -> Table:
    return Table(
        [Column(""), *figures(Kind.NUMBER, *(find(one).label for one in CALIBRATED))],
        [line for row in rows for line in _calibrated(row)],
        "Recalibrated on held-out queries",
    )


def _calibrated(row: ScoreRow) -> Iterator[Row]:
    if (found := row.calibration) is None:
        return
    names = {
        "before": "as it is",
        "temperature": f"temperature {number(found.mean_temperature, 2)}",
        "isotonic": "isotonic",
    }
    for field, name in names.items():
        values = (one.value for one in getattr(found, field).values())
        yield Row([name, *values], group=row.score.condition.title)


def _costs(rows: Sequence[ScoreRow]) -> Table:
    heads = ("verdicts", "always\nsafe", "always\nunsafe")
    return Table(
        [
            Column(""),
            *figures(Kind.ESTIMATE, *heads),
            Column("best\nthreshold", Kind.NUMBER),
            Column("held out", Kind.ESTIMATE),
        ],
        [
            Row(
                [
                    row.score.condition.title,
                    *(found.verdicts, found.always_safe, found.always_unsafe),
                    best.threshold if best else None,
                    best.held_out if best else None,
                ]
            )
            for row in rows
            if (found := row.costs) is not None
            for best in [found.thresholds]
        ],
        "Mean cost of mistakes a case (95 %)",
    )


def to_markdown(reports: Sequence[ScoreReport]) -> str:
    """Tables of each report: runs and baselines, pairs of contexts, corrected rates of replies."""
    parts: list[Table | str] = []
    for report in reports:
        scores = [row.score for row in report.rows]
        judged = [score for score in scores if not score.acts]
        acted = [score for score in scores if score.acts]
        everything = [*judged, *report.baselines]
        parts += map(escape, state_lines([*scores, *report.ranked]))
        if judged:
            paired = [score for score in everything if score.pairs]
            parts.append(_table(title(judged), everything, number_columns(in_view(View.SCORES))))
            parts.append(_table(View.PAIRS, paired, context_columns(in_view(View.PAIRS))))
        parts += [_table(*one) for one in of_contexts(judged)]
        if acted:
            parts.append(_table(act_title(acted), acted, [*act_columns(acted), *pair_columns()]))
            corrected = correction_table(report)
            parts += [corrected] if corrected.rows else []
            parts += [_table(*one) for one in of_contexts(acted)]
            parts.append(escape(rules_remark(acted)))
        if report.ranked:
            parts.append(_table(View.RANKED.value, report.ranked, _ranked_columns()))
    return markdown(*parts)


def _table(heading: str, scores: Sequence[Score], numbers: Sequence[ScoreColumn]) -> Table:
    names: list[ScoreColumn] = [(Column("model"), _model), (Column("condition"), _condition)]
    if any(score.group for score in scores):
        names.append((Column(", ".join(scores[0].group)), group_text))
    columns = [*names, *numbers]
    rows = [Row([cell(score) for _, cell in columns]) for score in scores]
    return Table([column for column, _ in columns], rows, heading, keys=len(names))


def _model(score: Score) -> str:
    model = score.condition.model
    return f"baseline: {baseline_text(score)}" if model.startswith("baseline:") else model


def _condition(score: Score) -> str:
    return "" if score.condition.model.startswith("baseline:") else _ranked_text(score)


def to_csv(reports: Sequence[ScoreReport]) -> str:
    """A line for each row, columns as in JSON; lists are JSON, what is undefined is empty."""
    return table_csv(Table.of_records(_records(reports)))


def to_json(reports: Sequence[ScoreReport]) -> str:
    """A list of objects, the baselines of each report last; what is undefined is null."""
    return as_json(_records(reports))


def _records(reports: Sequence[ScoreReport]) -> list[dict[str, Any]]:
    return list(chain.from_iterable(as_report_records(report) for report in reports))
