"""Scores for a terminal: tables that fit it, and what must be said beside the numbers."""

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.analysis import Score, ScoreReport, ScoreRow
from casewise.reporting._acting import (
    act_columns,
    act_tables,
    act_title,
    change_tables,
    pair_columns,
)
from casewise.reporting._remarks import remarks
from casewise.reporting._scores import (
    Column,
    baseline_text,
    condition_text,
    context_columns,
    group_text,
    number,
    number_columns,
    title,
    with_margin,
)
from casewise.reporting._tables import PlainTable, plain_table

WIDE = 100
"""Columns of terminal from which on F1 is shown too; other formats always have it."""

_CHANGES = ("accuracy", "safe_recall", "unsafe_recall", "pcc", "brier", "both_right")


def score_renderable(
    report: ScoreReport, others: Sequence[Sequence[Score]], width: int
) -> RenderableType:
    """The tables, with the accuracy under other label rules and the remarks below them.

    Args:
        report: The rows and their baselines.
        others: The same rows under each label rule.
        width: Columns of the terminal.
    """
    scores = [row.score for row in report.rows]
    parts = [
        *_judging(report, [score for score in scores if not score.acts], others, width),
        *_acting(report, [score for score in scores if score.acts]),
        *(Text(line) for line in remarks(scores)),
    ]
    return Group(*parts)


def _judging(
    report: ScoreReport, scores: Sequence[Score], others: Sequence[Sequence[Score]], width: int
) -> list[RenderableType]:
    if not scores:
        return []
    wide = width >= WIDE
    numbers = number_columns(wide=wide)
    parts: list[RenderableType] = [_scores_table(title(scores), scores, numbers, report.baselines)]
    paired = [score for score in scores if score.pairs and not score.group]
    if paired:
        heading = "What the two contexts of a query do"
        parts.append(_scores_table(heading, paired, context_columns(wide=wide)))
    judged = [[score for score in rows if not score.acts] for rows in others]
    rules = _other_rules(scores, judged)
    if rules:
        parts.append(_scores_table("Accuracy under other labels", scores, rules))
    return [*parts, *_extra_tables(report.rows)]


def _acting(report: ScoreReport, scores: Sequence[Score]) -> list[RenderableType]:
    if not scores:
        # Swaps and explanations are a judge's too.
        return [*change_tables(report)]
    tables: list[RenderableType] = [_scores_table(act_title(scores), scores, act_columns())]
    paired = [score for score in scores if score.pairs and not score.group]
    if paired:
        heading = "What it does in the two contexts of a query"
        tables.append(_scores_table(heading, paired, pair_columns()))
    return [*tables, *act_tables(report)]


def _scores_table(
    heading: str,
    scores: Sequence[Score],
    columns: Sequence[Column],
    baselines: Sequence[Score] = (),
) -> PlainTable:
    """Rows under the name of their model; the condition is the first column."""
    table = plain_table(heading, ["", *(head for head, _ in columns)])
    model = None
    for score in scores:
        if score.condition["model"] != model:
            model = score.condition["model"]
            table.add_row(Text(str(model), style="bold"))
        cells = [Text(cell(score)) for _, cell in columns]
        table.add_row(Text(f"  {_of_group(condition_text(score), score)}"), *cells)
    if baselines:
        table.add_row(Text("to hold against", style="bold"))
    for score in baselines:
        cells = [Text(cell(score), style="dim") for _, cell in columns]
        name = _of_group(baseline_text(score), score)
        table.add_row(Text(f"  {name}", style="dim"), *cells)
    return table


def _of_group(name: str, score: Score) -> str:
    """What a row is about, with the group that it is split to."""
    group = group_text(score)
    return f"{name}: {group}" if group else name


def _other_rules(scores: Sequence[Score], others: Sequence[Sequence[Score]]) -> list[Column]:
    """A column for each label rule that gives another accuracy than the table's own."""
    places = {id(score): place for place, score in enumerate(scores)}
    columns: list[Column] = []
    for rows in others:
        if len(rows) != len(scores) or all(
            row.n == 0 or row.labels is score.labels
            for row, score in zip(rows, scores, strict=True)
        ):
            continue

        def cell(score: Score, rows: Sequence[Score] = rows) -> str:
            row = rows[places[id(score)]]
            cases = f" ({row.n})" if row.label_coverage < 1 else ""
            return number(row.measures["accuracy"].value) + cases

        columns.append((str(rows[0].labels), cell))
    return columns


def _extra_tables(rows: Sequence[ScoreRow]) -> list[RenderableType]:
    makers: list[tuple[str, list[str], Callable[[ScoreRow], list[list[str]]]]] = [
        (
            "Change when parts of the context are removed (± 95 %)",
            ["", "n", *(name.replace("_", "\n") for name in _CHANGES)],
            _change_cells,
        ),
        (
            "Shapley shares of the parts of the context (± 95 %)",
            ["", "n", *(name.replace("_", "\n") for name in _CHANGES)],
            _shapley_cells,
        ),
        (
            "Recalibrated on held-out queries",
            ["", "accuracy", "PCC", "BCE", "Brier", "ECE"],
            _calibration_cells,
        ),
        (
            "Mean cost of mistakes a case (± 95 %)",
            ["", "verdicts", "always\nsafe", "always\nunsafe", "best\nthreshold", "held out"],
            _cost_cells,
        ),
    ]
    tables: list[RenderableType] = []
    for heading, heads, cells in makers:
        filled = [(row.score, lines) for row in rows if (lines := cells(row))]
        if not filled:
            continue
        table = plain_table(heading, heads)
        for score, lines in filled:
            name = f"{score.condition['model']} ({condition_text(score)})"
            if len(lines) > 1:
                table.add_row(Text(name))
            for line in lines:
                first = f"  {line[0]}" if len(lines) > 1 else name
                table.add_row(*(Text(cell) for cell in [first, *line[1:]]))
        tables.append(table)
    return tables


def _change_cells(row: ScoreRow) -> list[list[str]]:
    if row.change is None or row.score.acts:
        return []
    found = row.change.change
    return [["", str(row.change.n), *(with_margin(found[name]) for name in _CHANGES)]]


def _shapley_cells(row: ScoreRow) -> list[list[str]]:
    if row.shapley is None or row.score.acts:
        return []
    return [
        [
            group.replace("_", " "),
            str(row.shapley.n),
            *(with_margin(shares[name]) for name in _CHANGES),
        ]
        for group, shares in row.shapley.shares.items()
    ]


def _calibration_cells(row: ScoreRow) -> list[list[str]]:
    if (found := row.calibration) is None:
        return []
    names = {
        "before": "as it is",
        "temperature": f"temperature {found.mean_temperature:.2f}",
        "isotonic": "isotonic",
    }
    return [
        [name, *(number(one.value) for one in getattr(found, field).values())]
        for field, name in names.items()
    ]


def _cost_cells(row: ScoreRow) -> list[list[str]]:
    if (found := row.costs) is None:
        return []
    means = [with_margin(one) for one in (found.verdicts, found.always_safe, found.always_unsafe)]
    if found.thresholds is None:
        return [["", *means, "–", "–"]]
    best = number(found.thresholds.threshold)
    return [["", *means, best, with_margin(found.thresholds.held_out)]]
