"""Comparisons of runs, for people and for programs."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.reporting._first_figures import compared_figures, headline
from casewise.reporting._scores import rules_remark
from casewise.scores import (
    Change,
    Comparison,
    Difference,
    Estimate,
    comparison_records,
    data_text,
    right_after,
    same_data,
)
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    escape,
    interval,
    p_value,
    terminal,
    to_json,
    to_markdown,
)

SHOWN = 10
"""Changed cases that are listed for a person; JSON has all."""

_COLUMNS = (
    Column(""),
    Column("before", Kind.NUMBER),
    Column("after", Kind.NUMBER),
    Column("after -\nbefore", Kind.CHANGE),
    Column("95 %", Kind.INTERVAL),
    Column("p", Kind.P_VALUE),
    Column("Holm", Kind.P_VALUE),
    Column("detect-\nable", Kind.NUMBER),
)


def comparison_renderable(comparisons: Sequence[Comparison]) -> RenderableType:
    """A block for each two runs: measures, what the contexts do, and the cases that changed."""
    parts: list[RenderableType] = []
    for one in comparisons:
        parts.append(Text(f"Before: {one.before}\nAfter: {one.after}", style="bold"))
        parts.append(terminal(headline(compared_figures(one)), _table(one), *_lines(one), ""))
    return Group(*parts)


def _table(one: Comparison) -> Table:
    rows = [
        Row(_cells(difference))
        for difference in one.differences
        if difference.difference.value == difference.difference.value
    ]
    for name, change in one.quadrants.items():
        if change.value == change.value:
            before, after = (score.measures[name].value for score in one.scores)
            rows.append(Row([name.replace("_", " "), before, after, *_change(change), "", ""]))
    return Table(_COLUMNS, rows, f"{one.n} judgements in common (labels: {one.labels})")


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


def _cells(one: Difference) -> list[Cell]:
    name = _NAMES.get(one.metric, one.metric.replace("_", " "))
    ends = (one.before.value, one.after.value)
    return [name, *ends, *_change(one.difference), one.p_holm, one.detectable]


def _change(one: Estimate) -> list[Cell]:
    return [one.value, interval(one.interval, with_signs=True), one.p]


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
        f"McNemar: only before right {test.b}, only after right {test.c}; p {p_value(test.p)} "
        f"(Holm {p_value(one.mcnemar_holm)}), by whole queries {p_value(test.p_clustered)} "
        f"({p_value(one.clustered_holm)})."
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
    return to_json(comparison_records(comparisons))


def comparison_markdown(comparisons: Sequence[Comparison]) -> str:
    """A table for each two runs."""
    sections = []
    for one in comparisons:
        lines = [f"Before: {escape(one.before)}  ", f"After: {escape(one.after)}  "]
        lines += [f"{one.n} judgements, labels: {one.labels}", ""]
        lines += [escape(headline(compared_figures(one))), "", to_markdown(_table(one)), ""]
        sections.append("\n".join([*lines, *(f"{escape(line)}  " for line in _lines(one))]))
    return "\n\n".join(sections) + "\n"
