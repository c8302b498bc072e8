"""Comparisons of runs, for people and for programs."""

import json
import re
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.analysis import (
    Change,
    Comparison,
    Difference,
    Estimate,
    comparison_records,
    data_text,
    right_after,
    same_data,
)
from casewise.reporting._remarks import rules_remark
from casewise.reporting._scores import number, signed
from casewise.reporting._tables import plain_table

SHOWN = 10
"""Changed cases that are listed for a person; JSON has all."""

_HEADS = ["", "before", "after", "after -\nbefore", "95 %", "p", "Holm", "detect-\nable"]
_HYPHEN = re.compile(r"(?<=\w)-\n")


def comparison_renderable(comparisons: Sequence[Comparison]) -> RenderableType:
    """A block for each two runs: measures, what the contexts do, and the cases that changed."""
    parts: list[RenderableType] = []
    for one in comparisons:
        parts.append(Text(f"Before: {one.before}\nAfter: {one.after}", style="bold"))
        heading = f"{one.n} judgements in common (labels: {one.labels})"
        table = plain_table(heading, _HEADS)
        for difference in one.differences:
            if difference.difference.value == difference.difference.value:
                table.add_row(*_cells(difference))
        for name, change in one.quadrants.items():
            if change.value == change.value:
                before, after = (score.measures[name].value for score in one.scores)
                cells = [number(before), number(after), *_change(change), "", ""]
                table.add_row(name.replace("_", " "), *cells)
        parts += [table, *(Text(line) for line in _lines(one)), Text()]
    return Group(*parts)


_NAMES = {
    "pcc": "PCC",
    "bce": "BCE",
    "brier": "Brier",
    "ece": "ECE",
    "spearman": "Spearman",
    "within_pcc_safe": "PCC in safe",
    "within_pcc_unsafe": "PCC in unsafe",
    "rank_accuracy": "ranked right",
    "shift_pcc": "PCC of shifts",
}


def _cells(one: Difference) -> list[str]:
    name = _NAMES.get(one.metric, one.metric.replace("_", " "))
    ends = [number(one.before.value), number(one.after.value)]
    return [name, *ends, *_change(one.difference), p_text(one.p_holm), number(one.detectable)]


def _change(one: Estimate) -> list[str]:
    return [signed(one.value), _range(one.interval), p_text(one.p)]


def _range(ends: tuple[float, float]) -> str:
    """From where to where, with signs; a dash where no spread is seen."""
    low, high = map(signed, ends)
    return f"{low} to {high}" if ends[0] == ends[0] else low


def p_text(p: float) -> str:
    """A p-value to three digits; the smallest as a bound."""
    return "<.001" if p < 0.0005 else number(p)


def _lines(one: Comparison) -> list[str]:
    test = one.mcnemar
    before, after = (score.condition for score in one.scores)
    lines = []
    if not same_data(before, after):
        lines.append(
            f"Before is over {data_text(before)}, after over {data_text(after)}: cases that both "
            "have, and whose texts or votes may differ."
        )
    lines += [
        f"McNemar: only before right {test.b}, only after right {test.c}; p {p_text(test.p)} "
        f"(Holm {p_text(one.mcnemar_holm)}), by whole queries {p_text(test.p_clustered)} "
        f"({p_text(one.clustered_holm)})."
    ]
    rules = rules_remark(one.scores)
    lines += [rules] if rules else []
    if one.left_out:
        lines.append(f"{one.left_out} judgements have no answered, labelled counterpart.")
    if not one.changed:
        return [*lines, "No verdict changed."]
    better = sum(right_after(change) is True for change in one.changed)
    worse = sum(right_after(change) is False for change in one.changed)
    lines.append(f"{len(one.changed)} verdicts changed: {better} to right, {worse} to wrong.")
    lines += [f"  {_changed(change)}" for change in one.changed[:SHOWN]]
    if len(one.changed) > SHOWN:
        lines.append(f"  ... and {len(one.changed) - SHOWN} more (--format json lists all)")
    return lines


def _changed(change: Change) -> str:
    outcome = {True: "right", False: "wrong", None: "tie"}[right_after(change)]
    words = [change.case_id, f"{change.before} to {change.after}", f"({outcome})"]
    return "  ".join([*words, change.category or ""]).rstrip()


def comparison_json(comparisons: Sequence[Comparison]) -> str:
    """``pairs``: an object for each two runs and metric; ``comparisons``: the rest of each two."""
    record: dict[str, Any] = comparison_records(comparisons)
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def comparison_markdown(comparisons: Sequence[Comparison]) -> str:
    """A table for each two runs."""
    sections = []
    for one in comparisons:
        heads = [_HYPHEN.sub("", head).replace("\n", " ") for head in _HEADS]
        lines = [f"Before: {one.before}  ", f"After: {one.after}  "]
        lines += [f"{one.n} judgements, labels: {one.labels}", ""]
        lines += ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
        lines += [
            "| " + " | ".join(_cells(difference)) + " |"
            for difference in one.differences
            if difference.difference.value == difference.difference.value
        ]
        sections.append("\n".join([*lines, "", *_lines(one)]))
    return "\n\n".join(sections) + "\n"
