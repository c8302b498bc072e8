"""Reports of scores as Markdown, CSV or JSON."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from casewise.reporting._acting import act_columns, act_title, correction_table, pair_columns
from casewise.reporting._scores import (
    ScoreColumn,
    baseline_text,
    condition_text,
    context_columns,
    group_text,
    number_columns,
    of_contexts,
    rules_remark,
    title,
)
from casewise.scores import Score, ScoreReport, as_report_records
from casewise.sheets import Column, Row, Table, escape, markdown
from casewise.sheets import to_csv as table_csv
from casewise.sheets import to_json as as_json


def to_markdown(reports: Sequence[ScoreReport]) -> str:
    """Two tables a report and what was corrected, under a line that names labels and policy."""
    parts: list[Table | str] = []
    for report in reports:
        scores = [row.score for row in report.rows]
        judged = [score for score in scores if not score.acts]
        acted = [score for score in scores if score.acts]
        everything = [*judged, *report.baselines]
        if judged:
            paired = [score for score in everything if score.pairs]
            parts.append(_table(title(judged), everything, number_columns(wide=True)))
            parts.append(_table("What the context does", paired, context_columns(wide=True)))
        parts += [_table(*one) for one in of_contexts(judged)]
        if acted:
            parts.append(_table(act_title(acted), acted, [*act_columns(acted), *pair_columns()]))
            corrected = correction_table(report)
            parts += [corrected] if corrected.rows else []
            parts += [_table(*one) for one in of_contexts(acted)]
            parts.append(escape(rules_remark(acted)))
    return markdown(*parts)


def _table(heading: str, scores: Sequence[Score], numbers: Sequence[ScoreColumn]) -> Table:
    names: list[ScoreColumn] = [(Column("model"), _model), (Column("condition"), _condition)]
    if any(score.group for score in scores):
        names.append((Column(", ".join(scores[0].group)), group_text))
    columns = [*names, *numbers]
    rows = [Row([cell(score) for _, cell in columns]) for score in scores]
    return Table([column for column, _ in columns], rows, heading, keys=len(names))


def _model(score: Score) -> str:
    model = str(score.condition["model"])
    return f"baseline: {baseline_text(score)}" if model.startswith("baseline:") else model


def _condition(score: Score) -> str:
    return "" if str(score.condition["model"]).startswith("baseline:") else condition_text(score)


def to_csv(reports: Sequence[ScoreReport]) -> str:
    """One line a row, columns as in JSON, which lists stay; what is undefined is empty."""
    return table_csv(Table.of_records(_records(reports)))


def to_json(reports: Sequence[ScoreReport]) -> str:
    """A list of objects, the baselines of each report last; what is undefined is null."""
    return as_json(_records(reports))


def _records(reports: Sequence[ScoreReport]) -> list[dict[str, Any]]:
    return list(chain.from_iterable(as_report_records(report) for report in reports))
