"""Scores as a terminal table, Markdown, CSV or JSON. Nothing is computed here."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from functools import partial

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from casewise.analysis import METRICS, Score, as_record

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
WIDE = 120
"""Columns of terminal from which on F1 is shown too; other formats always have it."""


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


def _title(scores: Sequence[Score]) -> str:
    rules = " and ".join(dict.fromkeys(str(score.labels) for score in scores))
    against = "the authors' intention" if rules == "intended" else "people's judgement"
    policies = " and ".join(dict.fromkeys(str(score.unparsed) for score in scores))
    return f"Against {against} (labels: {rules}; unread answers: {policies})"


_Column = tuple[str, Callable[[Score], str]]


def _columns(scores: Sequence[Score], *, wide: bool) -> list[_Column]:
    """Head and cell of each column."""
    splits = dict.fromkeys(key for score in scores for key in score.group)
    metrics = [name for name in METRICS if wide or not name.startswith("f1")]
    return [
        ("model", lambda score: str(score.condition["model"])),
        ("condition", condition_text),
        *((name, partial(_group_cell, name)) for name in splits),
        ("n", lambda score: str(score.n)),
        ("read", lambda score: number(score.coverage)),
        *((_HEADS[name], partial(_metric_cell, name)) for name in metrics),
    ]


def _group_cell(name: str, score: Score) -> str:
    return score.group.get(name) or "–"


def _metric_cell(name: str, score: Score) -> str:
    return number(getattr(score, name))


def score_renderable(
    scores: Sequence[Score], others: Sequence[Sequence[Score]], width: int
) -> RenderableType:
    """The table for a terminal, with the accuracy under other label rules below it.

    Args:
        scores: The rows.
        others: The same rows under each of the other label rules.
        width: Columns of the terminal.
    """
    columns = _columns(scores, wide=width >= WIDE)
    table = Table(title=_title(scores), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for index, (head, _) in enumerate(columns):
        table.add_column(head, justify="left" if index < 2 else "right", overflow="fold")
    for score in scores:
        table.add_row(*[Text(cell(score)) for _, cell in columns])
    parts: list[RenderableType] = [table]
    parts += [Text(line) for line in remarks(scores, others)]
    return Group(*parts)


def remarks(scores: Sequence[Score], others: Sequence[Sequence[Score]]) -> list[str]:
    """What must be said beside the numbers, a line each."""
    lines = [_other_rules(index, scores, others) for index in range(len(scores))]
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
                f"'safe' or 'unsafe'; read so little into these numbers."
            )
        if score.condition["model"] == "casewise/smollm2":
            lines.append(
                f"{name}: the embedded model shows that everything works; it judges at chance."
            )
    return list(dict.fromkeys(line for line in lines if line))


LOW_MASS = 0.05
"""Below this share of probability mass, the protocol ``probability`` means nothing."""


def _other_rules(index: int, scores: Sequence[Score], others: Sequence[Sequence[Score]]) -> str:
    found = [
        f"{rows[index].labels} {number(rows[index].accuracy)}"
        + (f" (over {rows[index].n})" if rows[index].label_coverage < 1 else "")
        for rows in others
        if index < len(rows) and rows[index].n and rows[index].labels is not scores[index].labels
    ]
    if not found or scores[index].group:
        return ""
    name = f"{scores[index].condition['model']} ({condition_text(scores[index])})"
    return f"{name}: accuracy under other labels: {', '.join(found)}."


def to_markdown(scores: Sequence[Score]) -> str:
    """A Markdown table under a line that names labels and policy."""
    columns = _columns(scores, wide=True)
    lines = [f"{_title(scores)}", ""]
    heads = [head.replace("-\n", "").replace("\n", " ") for head, _ in columns]
    lines.append("| " + " | ".join(heads) + " |")
    lines.append("|" + "---|" * 2 + "---:|" * (len(columns) - 2))
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
