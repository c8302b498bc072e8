"""The critic's rules for a context by itself, and for twins. Each names its fault."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from casewise.cases import Side
from casewise.contexts._words import words_of
from casewise.contexts.making._faults import Fault, FaultKind
from casewise.contexts.making._parameters import PARAMETERS, Values, shared_places
from casewise.contexts.making._words import (
    ADDRESSING_WORDS,
    ANSWERING,
    PLEADING_WORDS,
    VERDICT_WORDS,
    found_words,
)

LEAST_WORDS: Final = 5
"""A parameter with fewer says nothing of a situation."""

MOST_WORDS: Final = 90
"""A parameter with more is a story."""

USUAL_WORDS: Final = 25
"""Words of a parameter that the prompt asks for, about."""

UNEQUAL_TOTAL: Final = 1.5
"""Twins of which one has so many times the other's words can be told apart by length alone."""

UNEQUAL_PARAMETER: Final = 3.0
"""The same for one parameter, where the difference is ``UNEQUAL_WORDS`` or more."""

UNEQUAL_WORDS: Final = 12

REPEATED_SHARE: Final = 0.8
"""A parameter that holds this share of a query's words of content repeats it."""

REPEATED_RUN: Final = 0.6
"""So does one that holds this share of its words in a row, ``LEAST_RUN`` at least."""

LEAST_RUN: Final = 4
LEAST_CONTENT: Final = 5
CONTENT_LETTERS: Final = 4


def check_context(
    values: Values, extra: Sequence[str], query: str, side: Side
) -> tuple[Fault, ...]:
    """The faults of one context by itself.

    Args:
        values: Its texts.
        extra: Names that stood in the answer and are no parameters.
        query: What is asked in it.
        side: Which of the twins it is.
    """
    found = [
        Fault(kind, reason, side, place)
        for place, text in values.items()
        for kind, reason in _check_text(text, query)
    ]
    missing = [
        Fault(FaultKind.MISSING, "the parameter is missing", side, place)
        for place in PARAMETERS
        if not values.get(place, "").strip()
    ]
    names = [
        Fault(FaultKind.EXTRA, f"{name[:40]!r} is none of the parameters", side)
        for name in dict.fromkeys(extra)
    ]
    return (*missing, *found, *_same_texts(values, side), *names)


def _check_text(text: str, query: str) -> Iterator[tuple[FaultKind, str]]:
    words = words_of(text)
    if not text.strip():
        return
    if len(words) < LEAST_WORDS:
        yield FaultKind.LENGTH, f"says too little (words: {len(words)}): write about {USUAL_WORDS}"
    if len(words) > MOST_WORDS:
        yield FaultKind.LENGTH, f"says too much (words: {len(words)}): write about {USUAL_WORDS}"
    if repeats(text, query):
        yield FaultKind.QUERY, "repeats the question: leave its wording out"
    if any(found_words(ANSWERING, text)):
        yield FaultKind.ANSWER, "gives an answer or steps: describe the situation only"
    for kind, pattern, reason in (
        (FaultKind.VERDICT, VERDICT_WORDS, "gives the judgement away ({})"),
        (FaultKind.PLEADING, PLEADING_WORDS, "pleads instead of describing ({})"),
        (FaultKind.ADDRESS, ADDRESSING_WORDS, "speaks to whoever reads it ({})"),
    ):
        if words_found := list(found_words(pattern, text)):
            shown = ", ".join(repr(one[:40]) for one in words_found[:3])
            yield kind, reason.format(shown)


def _same_texts(values: Values, side: Side) -> Iterator[Fault]:
    first: dict[tuple[str, ...], str] = {}
    for place, text in values.items():
        words = tuple(words_of(text))
        if words and words in first:
            reason = f"the same text as {first[words]}"
            yield Fault(FaultKind.EXTRA, reason, side, place)
        first.setdefault(words, place)


def repeats(text: str, query: str) -> bool:
    """Whether a text holds a query: most of its words in a row, or most of those of content."""
    said, asked = words_of(text), words_of(query)
    run = min(len(asked), max(LEAST_RUN, round(REPEATED_RUN * len(asked))))
    if run >= LEAST_RUN - 1 and _runs(said, run) & _runs(asked, run):
        return True
    content = {word for word in asked if len(word) >= CONTENT_LETTERS}
    if len(content) < LEAST_CONTENT:
        return False
    return len(content & set(said)) >= REPEATED_SHARE * len(content)


def _runs(words: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(words[at : at + length]) for at in range(len(words) - length + 1)}


def check_twins(contexts: Mapping[Side, Values], matched: Sequence[str] = ()) -> tuple[Fault, ...]:
    """The faults of twins beside each other.

    Args:
        contexts: The texts of both sides.
        matched: The places in which alone they may differ; empty is everywhere.
    """
    safe, unsafe = contexts["safe"], contexts["unsafe"]
    if matched:
        return (*_check_matched(safe, unsafe, matched), *_unequal(safe, unsafe, matched))
    return tuple(_unequal(safe, unsafe, tuple(PARAMETERS)))


def _check_matched(safe: Values, unsafe: Values, matched: Sequence[str]) -> Iterator[Fault]:
    for place in matched:
        if words_of(safe.get(place, "")) == words_of(unsafe.get(place, "")):
            yield Fault(FaultKind.MATCHED, "the same in both twins", None, place)
    for place in shared_places(matched):
        if safe.get(place) != unsafe.get(place):
            yield Fault(FaultKind.MATCHED, "differs between the twins", None, place)


def _unequal(safe: Values, unsafe: Values, places: Sequence[str]) -> Iterator[Fault]:
    """The twin whose length is further from the usual is the one to mend."""
    sizes: dict[Side, list[int]] = {
        "safe": [len(words_of(safe.get(place, ""))) for place in places],
        "unsafe": [len(words_of(unsafe.get(place, ""))) for place in places],
    }
    totals = {side: sum(counts) for side, counts in sizes.items()}
    if _apart(totals["safe"], totals["unsafe"], UNEQUAL_TOTAL):
        side, other = _further(totals, USUAL_WORDS * len(places))
        low, high = (round(totals[other] * share) for share in (0.8, 1.25))
        yield Fault(
            FaultKind.UNEQUAL,
            f"{totals[side]} words, and the twin has {totals[other]}: write {low} to {high} in all",
            side,
        )
        return
    for place, one, two in zip(places, sizes["safe"], sizes["unsafe"], strict=True):
        if one and two and _apart(one, two, UNEQUAL_PARAMETER):
            counts: dict[Side, int] = {"safe": one, "unsafe": two}
            side, other = _further(counts, USUAL_WORDS)
            yield Fault(
                FaultKind.UNEQUAL,
                f"{counts[side]} words, and {counts[other]} in the twin: write about as many",
                side,
                place,
            )


def _apart(one: int, two: int, ratio: float) -> bool:
    return abs(one - two) >= UNEQUAL_WORDS and max(one, two) > ratio * max(1, min(one, two))


def _further(counts: Mapping[Side, int], usual: int) -> tuple[Side, Side]:
    """The side that is further from the usual length in proportion, and the other."""
    away = {
        side: max(count, 1) / usual if count > usual else usual / max(count, 1)
        for side, count in counts.items()
    }
    return ("safe", "unsafe") if away["safe"] > away["unsafe"] else ("unsafe", "safe")
