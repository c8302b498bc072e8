"""Comparisons of runs, for people and for programs: what got worse and better, then the table."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.choices import Family
from casewise.measures import family_of, find
from casewise.reporting._scores import corrected_table, difference_cells, difference_columns
from casewise.results import (
    Change,
    Comparison,
    Comparisons,
    Difference,
    Verdict,
    first_upper,
    right_after,
    rules_remark,
    run_warnings,
)
from casewise.sheets import (
    Column,
    Kind,
    Link,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    escape,
    folded,
    p_value,
    terminal,
    to_markdown,
)

SHOWN = 10
"""Changed cases that a terminal lists; Markdown and JSON have all."""

CHANGES_PAGE = "what-changed.html"
_PAGE_COMMAND = f"casewise report BEFORE AFTER --compare --reveal --out {CHANGES_PAGE}"


def comparison_sheet(
    result: Comparisons, *, whole: bool = False, page_command: str = _PAGE_COMMAND
) -> Sheet:
    """A block for each two runs: what got worse and better, the table, the cases that changed.

    Args:
        result: Comparisons of runs.
        whole: Show every measure on a terminal, not only those that changed by more than chance.
        page_command: The command that makes a page with the changed cases' texts.
    """
    told = list(zip(result, result.verdicts, strict=True))
    return Sheet(
        lambda: Group(*(part for one in told for part in _blocks(*one, whole, page_command))),
        lambda: "\n\n".join(_markdown(*one) for one in told) + "\n",
        result.record,
    )


def _blocks(
    compared: Comparison, verdict: Verdict, whole: bool, page_command: str
) -> Iterator[RenderableType]:
    yield Text(f"Before: {compared.before}\nAfter: {compared.after}", style="bold")
    tones = {Tone.BAD, Tone.GOOD} & {one.tone for one in verdict.figures if one.is_real}
    tone = Tone.BAD if Tone.BAD in tones else next(iter(tones), None)
    state, sentence = verdict.said
    yield terminal(
        state,
        Word(sentence, tone) if tone else sentence,
        "",
        _table(compared, whole=whole),
        *_corrected(compared),
        *_ladder(compared),
        *_lines(compared),
        *_changed(compared, page_command),
        "",
    )


def _table(compared: Comparison, *, whole: bool) -> Table:
    """Measures and quadrants; if not ``whole``, the headline and what is more than chance."""
    every = (*compared.differences, *compared.quadrants)
    known = [one for one in every if one.difference.value == one.difference.value]
    headline = compared.scores[1].headline
    shown = [one for one in known if whole or one.metric == headline or one.is_more_than_chance]
    note = "Change: after minus before."
    hidden = [one for one in known if one not in shown]
    if hidden:
        note += f" {_hidden(hidden)}: --all shows all."
    title = f"{compared.n} judgements in common (labels: {compared.labels})"
    columns = difference_columns()
    rows = [Row([*difference_cells(find(one.metric).label, one), one.detectable]) for one in shown]
    return Table([*columns, Column("detect-\nable", Kind.NUMBER)], rows, title, note)


def _hidden(differences: Sequence[Difference]) -> str:
    """Number of figures without a change beyond chance, and of those that can't be told."""
    untold = sum(not one.is_told for one in differences)
    unmoved = len(differences) - untold
    parts = []
    if unmoved:
        plural = "figures do" if unmoved > 1 else "figure does"
        parts.append(f"{unmoved} further {plural} not change by more than chance")
    if untold:
        changes = f"the changes of {untold}" if untold > 1 else "the change of 1"
        parts.append(f"{changes} can't be told")
    return first_upper("; ".join(parts))


def _ladder(compared: Comparison) -> list[Table]:
    """Measures of both evidence ladders, and their differences."""
    rows = [Row(difference_cells(find(one.metric).label, one)) for one in compared.ladder]
    columns = difference_columns()
    return [Table(columns, rows, "Evidence ladders")] if rows else []


def _corrected(compared: Comparison) -> list[Table]:
    if not compared.corrections:
        return []
    return [corrected_table(compared.corrections, compared.corrected)]


def _lines(compared: Comparison) -> list[str]:
    test = compared.mcnemar
    before, after = (score.condition for score in compared.scores)
    lines = []
    if not before.has_data_of(after):
        lines.append(
            f"Before is over {before.data_text}, after over {after.data_text}: cases that both "
            "have, and whose texts or votes may differ."
        )
    counts = f"McNemar: only before right {test.b}, only after right {test.c}"
    p = (
        f"; p {p_value(test.p)} (Holm {p_value(compared.mcnemar_holm)}), by whole queries "
        f"{p_value(test.p_clustered)} ({p_value(compared.clustered_holm)})"
    )
    # Those that rank contexts have no verdicts that could be right.
    judges = family_of(before.protocol) is not Family.PAIRS
    lines += [f"{counts}{'' if math.isnan(test.p) else p}."] if judges else []
    rules = rules_remark(compared.scores)
    lines += [rules] if rules else []
    lines += _withheld(compared)
    lines += run_warnings(compared.scores)
    if compared.left_out:
        lines.append(f"{compared.left_out} judgements have no answered, labelled counterpart.")
    return [*lines, *([_count(compared)] if judges else [])]


def _count(compared: Comparison) -> str:
    if not compared.changed:
        return "No verdict changed."
    after = [right_after(change) for change in compared.changed]
    text = f"{len(after)} verdicts changed: {after.count(False)} to wrong, {after.count(True)} to "
    return text + ("right." if None not in after else f"right, {after.count(None)} neither.")


_OUTCOMES = {
    False: Word("wrong", Tone.BAD),
    True: Word("right", Tone.GOOD),
    None: Word("neither", Tone.DOUBT),
}
"""Outcome of a verdict, worst first."""


def _by_outcome(changed: Sequence[Change]) -> list[tuple[Change, Word]]:
    """Changed cases, those that became wrong first; why a label isn't what most votes say."""
    places = list(_OUTCOMES)
    return [
        (change, replace(word, text=": ".join(filter(None, (word.text, change.label_note)))))
        for change in sorted(changed, key=lambda one: places.index(right_after(one)))
        for word in [_OUTCOMES[right_after(change)]]
    ]


def changed_table(changed: Sequence[Change], most: int) -> Table:
    """The first of the changed cases, newly wrong ones first; ids lead to a page of changes."""
    return Table(
        [Column(name) for name in ("case", "category", "before", "after", "now")],
        [
            Row(
                [
                    Link(one.case_id, f"{CHANGES_PAGE}#case={quote(one.case_id, safe='')}"),
                    one.category or "",
                    one.before,
                    one.after,
                    outcome.text,
                ]
            )
            for one, outcome in _by_outcome(changed)[:most]
        ],
    )


def _withheld(compared: Comparison) -> list[str]:
    """Lines on changes whose interval is withheld, one for each reason."""
    found: dict[str, list[str]] = {}
    for one in (*compared.differences, *compared.quadrants):
        if one.difference.reason:
            found.setdefault(one.difference.reason, []).append(find(one.metric).label)
    return [
        f"No interval for the change of {', '.join(names)}: {reason}."
        for reason, names in found.items()
    ]


def _changed(compared: Comparison, page_command: str) -> list[Word | str]:
    """Changed cases on a terminal, and how to see their texts."""
    lines: list[Word | str] = []
    for change, outcome in _by_outcome(compared.changed)[:SHOWN]:
        words = [change.case_id, f"{change.before} to {change.after}", f"({outcome.text})"]
        lines.append(Word("  ".join(["", *words, change.category or ""]).rstrip(), outcome.tone))
    if len(compared.changed) > SHOWN:
        lines.append(f"  ... and {len(compared.changed) - SHOWN} more (--format json lists all)")
    if compared.changed:
        lines += [f"Their texts: {page_command}", f"Then open {CHANGES_PAGE}#case=ID."]
    return lines


def _markdown(compared: Comparison, verdict: Verdict) -> str:
    """Changes for the worse and the better; folded below, the table and the changed cases."""
    state, sentence = map(escape, verdict.said)
    blocks = [
        f"Before: {escape(compared.before)}  \nAfter: {escape(compared.after)}  \n{state}",
        sentence,
        folded(
            f"All measures of {compared.n} judgements (labels: {compared.labels})",
            to_markdown(_table(compared, whole=True)),
        ),
        *map(to_markdown, [*_corrected(compared), *_ladder(compared)]),
        "\n".join(f"{escape(line)}  " for line in _lines(compared)),
    ]
    if n := len(compared.changed):
        listed = to_markdown(changed_table(compared.changed, n))
        how = f"The links lead to the texts in a page that is made by `{_PAGE_COMMAND}`."
        blocks.append(folded(f"{n} changed cases", f"{how}\n\n{listed}"))
    return "\n\n".join(blocks)
