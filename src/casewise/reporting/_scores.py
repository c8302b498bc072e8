"""Scores as Markdown, CSV or JSON, and the cells that every table of scores shares."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from functools import partial

from casewise.analysis import Score, as_record

Column = tuple[str, Callable[[Score], str]]
"""A head (its lines parted by line ends) and what makes a cell."""

_HEADS = {
    "accuracy": "accu-\nracy",
    "safe_recall": "recall\nsafe",
    "unsafe_recall": "recall\nunsafe",
    "f1_safe": "F1\nsafe",
    "f1_unsafe": "F1\nunsafe",
    "pcc": "PCC",
    "bce": "BCE",
    "brier": "Brier",
}


def number(value: float, digits: int = 3) -> str:
    """A number as the field prints it: without a leading zero; a dash where undefined."""
    if value != value:
        return "–"
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def condition_text(score: Score) -> str:
    """A condition in few words: ``score``, ``probability, none``, ``binary, without recipient``."""
    parts = [score.condition["protocol"] or "?"]
    if score.condition["delivery"] not in (None, "judge"):
        parts.append(str(score.condition["delivery"]))
    if score.condition["ablation"]:
        parts.append(f"without {score.condition['ablation'].replace(',', ', ')}")
    if score.condition["variant"] not in (None, "greedy", "published"):
        parts.append(str(score.condition["variant"]))
    return ", ".join(parts)


def title(scores: Sequence[Score]) -> str:
    """What the scores are measured against, and what unread answers count as."""
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    against = "the authors' intention" if rules == "intended" else "people's judgement"
    policies = " and ".join(dict.fromkeys(str(score.unparsed) for score in scores))
    return f"Against {against} (labels: {rules}; unread answers: {policies})"


def number_columns(*, wide: bool) -> list[Column]:
    """The columns of numbers; narrow tables leave F1 out."""
    metrics = [name for name in _HEADS if wide or not name.startswith("f1")]
    return [
        ("n", lambda score: str(score.n)),
        ("read", lambda score: number(score.coverage)),
        (_HEADS["accuracy"], partial(_metric_cell, "accuracy")),
        ("±\n95 %", lambda score: number(score.measures["accuracy"].margin)),
        *((_HEADS[name], partial(_metric_cell, name)) for name in metrics if name != "accuracy"),
    ]


def _metric_cell(name: str, score: Score) -> str:
    return number(score.measures[name].value)


def group_text(score: Score) -> str:
    """The value that a split stands for; empty without a split."""
    return ", ".join(value or "–" for value in score.group.values())


def to_markdown(scores: Sequence[Score]) -> str:
    """A Markdown table under a line that names labels and policy."""
    texts: list[Column] = [
        ("model", lambda score: str(score.condition["model"])),
        ("condition", condition_text),
    ]
    if any(score.group for score in scores):
        texts.append((", ".join(scores[0].group), group_text))
    columns = [*texts, *number_columns(wide=True)]
    heads = [head.replace("-\n", "").replace("\n", " ") for head, _ in columns]
    lines = [title(scores), "", "| " + " | ".join(heads) + " |"]
    lines.append("|" + "---|" * len(texts) + "---:|" * (len(columns) - len(texts)))
    for score in scores:
        cells = [cell(score).replace("|", "\\|") for _, cell in columns]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def to_csv(scores: Sequence[Score]) -> str:
    """One line a row, columns as in JSON; what is undefined is empty."""
    records = [as_record(score) for score in scores]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(dict.fromkeys(key for one in records for key in one)))
    writer.writeheader()
    for record in records:
        writer.writerow(record | {"statuses": json.dumps(record["statuses"])})
    return out.getvalue()


def to_json(scores: Sequence[Score]) -> str:
    """A list of objects; what is undefined is null."""
    records = [as_record(score) for score in scores]
    return json.dumps(records, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
