"""Reports of scores as Markdown, CSV or JSON."""

import json
from collections.abc import Sequence
from itertools import chain

from casewise.analysis import Score, ScoreReport, as_report_records
from casewise.files import csv_text
from casewise.reporting._acting import act_columns, act_title, pair_columns
from casewise.reporting._remarks import rules_remark
from casewise.reporting._scores import (
    Column,
    baseline_text,
    condition_text,
    context_columns,
    group_text,
    number_columns,
    title,
)


def to_markdown(reports: Sequence[ScoreReport]) -> str:
    """Two tables a report, under a line that names labels and policy."""
    sections = []
    for report in reports:
        scores = [row.score for row in report.rows]
        judged = [score for score in scores if not score.acts]
        acted = [score for score in scores if score.acts]
        everything = [*judged, *report.baselines]
        if judged:
            paired = [score for score in everything if score.pairs]
            sections += [title(judged), _table(everything, number_columns(wide=True))]
            sections += ["What the context does", _table(paired, context_columns(wide=True))]
        if acted:
            sections += [act_title(acted), _table(acted, [*act_columns(), *pair_columns()])]
            sections += [line for line in (rules_remark(acted),) if line]
    return "\n\n".join(sections) + "\n"


def _table(scores: Sequence[Score], numbers: Sequence[Column]) -> str:
    texts: list[Column] = [("model", _model), ("condition", _condition)]
    if any(score.group for score in scores):
        texts.append((", ".join(scores[0].group), group_text))
    columns = [*texts, *numbers]
    heads = [head.replace("-\n", "").replace("\n", " ").strip() for head, _ in columns]
    lines = ["| " + " | ".join(heads) + " |"]
    lines.append("|" + "---|" * len(texts) + "---:|" * (len(columns) - len(texts)))
    for score in scores:
        cells = [cell(score).replace("|", "\\|") for _, cell in columns]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _model(score: Score) -> str:
    model = str(score.condition["model"])
    return f"baseline: {baseline_text(score)}" if model.startswith("baseline:") else model


def _condition(score: Score) -> str:
    return "" if str(score.condition["model"]).startswith("baseline:") else condition_text(score)


def to_csv(reports: Sequence[ScoreReport]) -> str:
    """One line a row, columns as in JSON, which lists stay; what is undefined is empty."""
    records = list(chain.from_iterable(as_report_records(report) for report in reports))
    names = list(dict.fromkeys(key for one in records for key in one))
    return csv_text(names, ([_flat(one.get(name)) for name in names] for one in records))


def _flat(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def to_json(reports: Sequence[ScoreReport]) -> str:
    """A list of objects, the baselines of each report last; what is undefined is null."""
    records = list(chain.from_iterable(as_report_records(report) for report in reports))
    return json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
