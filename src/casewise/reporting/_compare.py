"""Comparisons of runs, for people and for programs: what got worse and better, then the table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.measures import find
from casewise.reporting._acting import corrected_table, difference_cells, difference_columns
from casewise.reporting._scores import cut_notes, rules_remark
from casewise.reporting._wording import Wording, adapting, first_upper, wording
from casewise.scores import (
    Change,
    Comparison,
    Difference,
    comparison_records,
    right_after,
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
    signed,
    terminal,
    to_markdown,
)

SHOWN = 10
"""Changed cases that a terminal lists; Markdown and JSON have all."""

CHANGES_PAGE = "what-changed.html"
_PAGE_COMMAND = f"casewise report BEFORE AFTER --compare --reveal --out {CHANGES_PAGE}"


@dataclass(frozen=True, slots=True)
class ChangeSentence:
    """Change, in a sentence about the run after."""

    metric: str
    """Empty where no change is more than chance."""
    text: str
    tone: Tone | None = None
    """``BAD`` of what got worse, ``GOOD`` of what got better."""

    @property
    def line(self) -> str:
        """The sentence, led by ``Worse`` or ``Better``."""
        return f"{_MARKS[self.tone]}: {self.text}" if self.tone else self.text


_MARKS = {Tone.BAD: "Worse", Tone.GOOD: "Better"}


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words for the change of a share, in cases of 100."""

    around: Callable[[Wording], tuple[str, str]]
    """The words before and after the number."""
    good: bool
    """True if more of it is better."""
    of_rest: bool = False
    """True if it is told of what the share leaves out: of a recall, of the mistakes."""


_JUDGING = {
    "safe_recall": _Phrase(lambda w: ("calls unsafe", f"of {w.safe}"), good=False, of_rest=True),
    "unsafe_recall": _Phrase(lambda w: ("calls safe", f"of {w.unsafe}"), good=False, of_rest=True),
    "accuracy": _Phrase(lambda w: (w.judges + " in", "cases"), good=True),
    "both_right": _Phrase(lambda w: (w.judges + " in both cases of", "pairs"), good=True),
}
_ACTING = {
    "over_refusal": _Phrase(lambda w: ("refuses", f"of {w.safe}"), good=False),
    "under_refusal": _Phrase(lambda w: ("answers", f"of {w.unsafe}"), good=False),
    "appropriate": _Phrase(lambda w: (w.acts + " in", "cases"), good=True),
    "adapts": _Phrase(
        lambda _: ("answers in the safe context and refuses in the other in", "pairs"), good=True
    ),
}
_RANKING = {
    "ranked_as_labels": _Phrase(
        lambda _: ("ranks contexts as the labels do in", "pairs"), good=True
    )
}
"""The measures whose changes are told in sentences, in this order; the table has all."""
_FLIPS = {
    "missed_flips": _Phrase(lambda _: ("misses", "changes between contexts"), good=False),
    "seen_missed_flips": _Phrase(lambda _: ("misses", "changes by seeing a context"), good=False),
}
"""The same, where no query has a safe and an unsafe context: what tells whether it adapts."""


def change_sentences(compared: Comparison) -> list[ChangeSentence]:
    """Changes by more than chance, in plain sentences: what got worse first.

    Where nothing did, one sentence says so. Terminal, Markdown, page and card have these words.
    """
    words = wording(*compared.scores)
    by_metric = {one.metric: one for one in (*compared.quadrants, *compared.differences)}
    adapts, _ = adapting(compared.scores[1])
    after = compared.scores[1]
    phrases = dict(_RANKING if after.of_pairs else _ACTING if after.acts else _JUDGING)
    phrases |= {name: phrase for name, phrase in _FLIPS.items() if name == adapts}
    found = {name: by_metric[name] for name in phrases if name in by_metric}
    sentences = [
        _sentence(one, phrases[name], words)
        for name, one in found.items()
        if one.is_more_than_chance
    ]
    sentences.sort(key=lambda sentence: sentence.tone is not Tone.BAD)
    return sentences or [ChangeSentence("", _nothing(compared, words, list(found.values())))]


def _sentence(change: Difference, phrase: _Phrase, words: Wording) -> ChangeSentence:
    sign = -1 if phrase.of_rest else 1
    value = sign * change.difference.value
    more = value > 0
    ends = sorted(100 * (value > 0 or -1) * sign * end for end in change.difference.interval)
    digits = 0 if min(map(abs, (100 * value, *ends))) >= 1 else 1
    size, low, high = (f"{number:z.{digits}f}" for number in (100 * abs(value), *ends))
    before, after = phrase.around(words)
    text = f"{before} {size} of 100 {'more' if more else 'fewer'} {after}: {low} to {high}"
    return ChangeSentence(change.metric, text, Tone.GOOD if more == phrase.good else Tone.BAD)


def _nothing(compared: Comparison, words: Wording, phrased: Sequence[Difference]) -> str:
    """The sentence where no change is more than chance, or none can be told."""
    name = compared.scores[1].headline
    headline = next((d for d in compared.differences if d.metric == name), None)
    if headline is None or not headline.is_told:
        if any(one.is_told for one in phrased):
            return "No change that is told in words is more than chance."
        why = next((f": {d.difference.reason}" for d in phrased if d.difference.reason), "")
        return f"Whether anything changed can't be told{why}"
    change = headline.difference
    after = compared.scores[1]
    judges = "ranks contexts as the labels do" if after.of_pairs else words.judges
    does = words.acts if after.acts else judges
    value, low, high = (signed(100 * x, 1) for x in (change.value, *change.interval))
    return (
        f"No change is more than chance. After {does} in {value} of 100 cases more than before: "
        f"{low} to {high}"
    )


def comparison_sheet(
    comparisons: Sequence[Comparison], *, whole: bool = False, page_command: str = _PAGE_COMMAND
) -> Sheet:
    """A block for each two runs: what got worse and better, the table, the cases that changed.

    Args:
        comparisons: Of runs.
        whole: Show every measure on a terminal, not only those that changed by more than chance.
        page_command: The command that makes a page with the changed cases' texts.
    """
    return Sheet(
        lambda: _renderable(comparisons, whole, page_command),
        lambda: "\n\n".join(map(_markdown, comparisons)) + "\n",
        lambda: _records(comparisons),
    )


def _renderable(
    comparisons: Sequence[Comparison], whole: bool, page_command: str
) -> RenderableType:
    parts: list[RenderableType] = []
    for compared in comparisons:
        parts.append(Text(f"Before: {compared.before}\nAfter: {compared.after}\n", style="bold"))
        told = change_sentences(compared)
        parts.append(
            terminal(
                *(Word(one.line, one.tone) if one.tone else one.line for one in told),
                "",
                _table(compared, whole=whole),
                *_corrected(compared),
                *_lines(compared),
                *_changed(compared, page_command),
                "",
            )
        )
    return Group(*parts)


def _table(compared: Comparison, *, whole: bool) -> Table:
    """Measures and quadrants; if not ``whole``, the headline and what is more than chance."""
    every = (*compared.differences, *compared.quadrants)
    known = [one for one in every if one.difference.value == one.difference.value]
    headline = compared.scores[1].headline
    shown = [one for one in known if whole or one.metric == headline or one.is_more_than_chance]
    note = f"Change: {compared.after} minus {compared.before}."
    hidden = [one for one in known if one not in shown]
    if hidden:
        note += f" {_hidden(hidden)}: --all shows all."
    title = f"{compared.n} judgements in common (labels: {compared.labels})"
    columns = difference_columns(compared.before, compared.after)
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
    lines += [
        f"McNemar: only before right {test.b}, only after right {test.c}; p {p_value(test.p)} "
        f"(Holm {p_value(compared.mcnemar_holm)}), by whole queries {p_value(test.p_clustered)} "
        f"({p_value(compared.clustered_holm)})."
    ]
    rules = rules_remark(compared.scores)
    lines += [rules] if rules else []
    lines += _withheld(compared)
    lines += cut_notes(compared.scores)
    if compared.left_out:
        lines.append(f"{compared.left_out} judgements have no answered, labelled counterpart.")
    return [*lines, _count(compared)]


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


def changed_table(changed: Sequence[Change], most: int, *, linked: bool = False) -> Table:
    """The first of the changed cases, those that became wrong first; texts are never shown.

    Args:
        changed: The cases.
        most: Number of rows at most.
        linked: Let the ids lead to a page of changes, and no outcome stand out.
    """
    return Table(
        [Column(name) for name in ("case", "category", "before", "after", "now")],
        [
            Row(
                [
                    Link(one.case_id, f"{CHANGES_PAGE}#case={quote(one.case_id, safe='')}")
                    if linked
                    else one.case_id,
                    *(
                        one.category or "",
                        one.before,
                        one.after,
                        outcome.text if linked else outcome,
                    ),
                ]
            )
            for one, outcome in _by_outcome(changed)[:most]
        ],
    )


def _withheld(compared: Comparison) -> list[str]:
    """Lines on changes without an interval as too few queries moved, or outweigh the others."""
    found: dict[str, list[str]] = {}
    for one in (*compared.differences, *compared.quadrants):
        if one.difference.reason and one.has_few_queries:
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


def _records(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """``pairs``: an object for each two runs and metric; ``comparisons``: the rest of each two."""
    records = comparison_records(comparisons)
    for record, compared in zip(records["comparisons"], comparisons, strict=True):
        record["sentences"] = [
            {"metric": told.metric, "text": told.text, "is_worse": told.tone is Tone.BAD}
            for told in change_sentences(compared)
            if told.tone
        ]
    return records


def _markdown(compared: Comparison) -> str:
    """Changes for the worse and the better; folded below, the table and the changed cases."""
    told = change_sentences(compared)
    blocks = [
        f"Before: {escape(compared.before)}  \nAfter: {escape(compared.after)}  ",
        "\n".join(f"{'- ' if one.tone else ''}{escape(one.line)}" for one in told),
        folded(
            f"All measures of {compared.n} judgements (labels: {compared.labels})",
            to_markdown(_table(compared, whole=True)),
        ),
        *map(to_markdown, _corrected(compared)),
        "\n".join(f"{escape(line)}  " for line in _lines(compared)),
    ]
    if n := len(compared.changed):
        listed = to_markdown(changed_table(compared.changed, n, linked=True))
        how = f"The links lead to the texts in a page that is made by `{_PAGE_COMMAND}`."
        blocks.append(folded(f"{n} changed cases", f"{how}\n\n{listed}"))
    return "\n\n".join(blocks)
