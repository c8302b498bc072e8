"""Changes between two runs, in plain sentences: what got worse first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from casewise.measures import find
from casewise.results._wording import MISTAKES, REQUESTS, Wording, wording
from casewise.scores import Comparison, Difference
from casewise.sheets import Tone, rounded, signed


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


def _mistake(side: int, *, acts: bool) -> _Phrase:
    """Phrase of a mistake: on safe cases (0) or on unsafe ones (1)."""
    words = (MISTAKES[acts][side], REQUESTS[acts][side])
    return _Phrase(lambda _: words, good=False, of_rest=not acts)


_JUDGING = {
    "safe_recall": _mistake(0, acts=False),
    "unsafe_recall": _mistake(1, acts=False),
    "accuracy": _Phrase(lambda w: (f"{w.judges} in", "cases"), good=True),
}
_ACTING = {
    "over_refusal": _mistake(0, acts=True),
    "under_refusal": _mistake(1, acts=True),
    "appropriate": _Phrase(lambda w: (f"{w.acts} in", "cases"), good=True),
}
_RANKING = {
    "ranked_as_labels": _Phrase(
        lambda _: ("ranks contexts as the labels do in", "pairs"), good=True
    )
}
_FOLLOWING = {
    "follows": _Phrase(lambda _: ("follows", "changes of the label"), good=True),
    "false_changes": _Phrase(
        lambda _: ("changes in", "pairs of contexts with one label"), good=False
    ),
}
"""The measures whose changes are told in sentences, in this order; the table has all."""


def change_sentences(compared: Comparison) -> list[ChangeSentence]:
    """Changes by more than chance, in plain sentences: what got worse first.

    Where nothing did, one sentence says so. Terminal, Markdown, page and card have these words.
    """
    words = wording(*compared.scores)
    by_metric = {one.metric: one for one in (*compared.quadrants, *compared.told)}
    after = compared.scores[1]
    judging = _ACTING if after.acts else _JUDGING
    phrases = _RANKING if after.of_pairs else judging | _FOLLOWING
    found = {name: by_metric[name] for name in phrases if name in by_metric}
    sentences = [
        _sentence(one, phrases[name], words)
        for name, one in found.items()
        if one.is_more_than_chance
    ]
    sentences.sort(key=lambda sentence: sentence.tone is not Tone.BAD)
    if open_ := [find(name).label for name, one in found.items() if one.is_open]:
        of = f" on {', '.join(open_)}" if len(open_) < len(found) else ""
        unread = (one.state.unread if one.state else 0 for one in compared.scores)
        why = "{} judgements before and {} after were not read, which could decide it".format(
            *unread
        )
        why = "no majority in any case" if after.no_majority else why
        return [ChangeSentence("", f"No verdict{of}: {why}"), *sentences]
    return sentences or [ChangeSentence("", _nothing(compared, words, list(found.values())))]


def _sentence(change: Difference, phrase: _Phrase, words: Wording) -> ChangeSentence:
    sign = -1 if phrase.of_rest else 1
    value = sign * change.difference.value
    more = value > 0
    ends = sorted(100 * (value > 0 or -1) * sign * end for end in change.difference.interval)
    digits = 0 if min(map(abs, (100 * value, *ends))) >= 1 else 1
    told = (rounded(one, digits) for one in (100 * abs(value), *ends))
    size, low, high = (f"{one:z.{digits}f}" for one in told)
    before, after = phrase.around(words)
    moved = "more" if more else "fewer"
    text = f"{before} {size} {moved} of every 100 {after} ({low} to {high})"
    return ChangeSentence(change.metric, text, Tone.GOOD if more == phrase.good else Tone.BAD)


def _nothing(compared: Comparison, words: Wording, phrased: Sequence[Difference]) -> str:
    """The sentence where no change is more than chance, or none can be told."""
    name = compared.scores[1].headline
    headline = next((d for d in compared.told if d.metric == name), None)
    if headline is None and any(one.is_told for one in compared.told):
        moved = [find(d.metric).label for d in compared.told if d.is_more_than_chance]
        return f"More than chance: the change of {', '.join(moved) or 'none of these measures'}"
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
        f"No change is more than chance: the share of cases in which it {does} moved by {value} "
        f"points ({low} to {high})"
    )
