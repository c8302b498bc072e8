"""Scores for a terminal: a table that fits it, and what must be said beside the numbers."""

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casewise.analysis import LOW_MASS, Score
from casewise.reporting._scores import (
    Column,
    condition_text,
    group_text,
    number,
    number_columns,
    title,
)

WIDE = 100
"""Columns of terminal from which on F1 is shown too; other formats always have it."""


def score_renderable(
    scores: Sequence[Score],
    others: Sequence[Sequence[Score]],
    baselines: Sequence[Score],
    width: int,
) -> RenderableType:
    """The table, with the accuracy under other label rules and the remarks below it.

    Args:
        scores: The rows.
        others: The same rows under each label rule.
        baselines: What predicting the intended side scores on the same cases.
        width: Columns of the terminal.
    """
    parts: list[RenderableType] = [
        _table(title(scores), scores, number_columns(wide=width >= WIDE))
    ]
    rules = _other_rules(scores, others)
    if rules:
        parts.append(_table("Accuracy under other labels", scores, rules))
    parts += [Text(line) for line in [*_baseline_lines(baselines), *remarks(scores)]]
    return Group(*parts)


def _table(heading: str, scores: Sequence[Score], columns: Sequence[Column]) -> Table:
    """Rows under the name of their model; the condition is the first column."""
    table = Table(
        title=heading,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("")
    for head, _ in columns:
        table.add_column(head, justify="right", no_wrap=True)
    model = None
    for score in scores:
        if score.condition["model"] != model:
            model = score.condition["model"]
            table.add_row(Text(str(model), style="bold"))
        place = ": ".join(part for part in (condition_text(score), group_text(score)) if part)
        table.add_row(Text(f"  {place}"), *[Text(cell(score)) for _, cell in columns])
    return table


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


def _baseline_lines(baselines: Sequence[Score]) -> list[str]:
    """What every accuracy must be held against."""
    return list(
        dict.fromkeys(
            f"Answering what each context's author meant scores accuracy "
            f"{number(one.measures['accuracy'].value)}, PCC {number(one.measures['pcc'].value)} "
            f"(labels: {one.labels}, {one.n} cases)."
            for one in baselines
            if one.n and one.labels != "intended"
        )
    )


def remarks(scores: Sequence[Score]) -> list[str]:
    """What must be said beside the numbers, a line each."""
    lines = []
    for score in scores:
        name = f"{score.condition['model']} ({condition_text(score)})"
        if score.coverage < 1:
            unread = ", ".join(f"{n} {what}" for what, n in score.statuses.items() if what != "ok")
            lines.append(
                f"{name}: {unread} of {score.n}; counted as wrong or right, they would put the "
                f"accuracy anywhere from {number(score.accuracy_low)} to "
                f"{number(score.accuracy_high)}."
            )
        if score.label_coverage < 1:
            lines.append(
                f"{name}: {number(score.label_coverage)} of the judgements have a label under "
                f"the rule '{score.labels}'; the others are left out."
            )
        if score.mass < LOW_MASS:
            lines.append(
                f"{name}: the first token puts only {number(score.mass)} of its probability on "
                "'safe' or 'unsafe': these numbers mean little."
            )
        if score.condition["model"] == "casewise/smollm2":
            lines.append(
                f"{name}: the embedded model shows that everything works; it judges at chance."
            )
    return list(dict.fromkeys(lines))
