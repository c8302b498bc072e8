"""Parameters of a context that an explanation leans on.

A list of words, no model: an explanation in quite other words than the context's is not seen to
lean on it, so that a parameter taken as unmentioned may be meant all the same.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, pairwise
from typing import Final

from pydantic import JsonValue

from casewise.cases import Context
from casewise.contexts import leaf_parameters

SHORT: Final = 3
"""Most different words of content in a short value; one of them shows it."""

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_LONGEST: Final = 40

_GRAMMAR: Final = (
    "a about above after again against all also although always am among an and another any anyone"
    " anything are aren't around as at away be because been before being below both but by can"
    " can't cannot could did didn't do does doesn't don't done down during each either else enough"
    " ever every few for from get give given goes got had has hasn't have having he her here hers"
    " him himself his how however i if in instead into is isn't it its itself just keep kept let"
    " like made make makes many may me might more most much must my neither never no nobody none"
    " nor not nothing now of off often on once one only onto or other others our out over own per"
    " rather same say she should since so some someone something still such take than that the"
    " their them themselves then there therefore these they thing this those though through thus"
    " to together too toward under until up upon us use used uses using very was wasn't we were"
    " what when where whether which while who whole whom whose why will with within without won't"
    " would yes yet you your yours two three first second new well even"
)
_VERDICT: Final = (
    "answer appropriate ask assess assistant bot case chatbot concern consider context could"
    " danger dangerous detail explain explanation harm harmful help helpful information intend"
    " intent intention judge judgement model parameter person people provide query question reason"
    " recipient reply request respond response risk safe safety say sender situation specific talk"
    " tell think transmission principle type unsafe user verdict want"
)
"""Words that every verdict is made of."""
_DEGREE: Final = "high higher low lower medium moderate normal strong weak good bad"
"""Words of degree, which an explanation gives to risks as well."""
_GENERIC: Final = "type kind name value detail description other info information note level status"
"""Names that are everyday words: they count only behind their group's name."""


def mentioned_parameters(explanation: str, context: Context, query: str) -> tuple[str, ...]:
    """The parameters that an explanation leans on, by their paths, in the context's order.

    It leans on a parameter that it names in words (``source accountability``; an everyday name
    such as ``type`` needs its group before it, or the user or the chatbot: "the user's type"), or
    of whose value it has two distinctive words, one if the value is short. Distinctive are words
    of content that stand neither in the query nor in another parameter's name or value. Words are
    compared in lower case and by their stems.
    """
    spoken = _stems(explanation)
    text, said = f" {' '.join(spoken)} ", set(spoken).difference(_stems(query))
    found: dict[str, tuple[set[str], JsonValue]] = {}
    once, twice = set[str](), set[str]()
    for path, value in leaf_parameters(context).items():
        # Nothing but what was said: of two hundred words a context has, that is a few.
        words = said.intersection(_content(value))
        found[path] = words, value
        both = words | (said & _stems_of_name(path))
        twice |= once & both
        once |= both
    return tuple(
        path
        for path, (words, value) in found.items()
        if _is_enough(len(words - twice), value) or _is_named(path, text)
    )


def _is_enough(words: int, value: JsonValue) -> bool:
    """Tell whether a number of distinctive words shows that a value is meant."""
    return words > 1 or (words == 1 and len(set(_content(value))) <= SHORT)


def _is_named(path: str, text: str) -> bool:
    """Tell whether words name a parameter, or a mapping within its group that it is part of."""
    return any(phrase in text for phrase in _phrases(path))


@lru_cache(maxsize=1_000)
def _phrases(path: str) -> tuple[str, ...]:
    """Phrases that name a parameter, with a space at either end."""
    names = [" ".join(_stems(name)) for name in path.split(".")]
    spoken = _SPOKEN.get(path.split(".")[0], names[0])
    phrases: list[str] = []
    for above, name in pairwise(names) if len(names) > 1 else [("", names[0])]:
        everyday = _GENERIC_STEMS.issuperset(name.split())
        if name:
            phrases += (
                [f"{group} {name}" for group in (above, spoken) if group] if everyday else [name]
            )
    return tuple(f" {phrase} " for phrase in phrases)


def _content(value: JsonValue) -> Iterator[str]:
    """The stems of a value's words that say something."""
    text = value if isinstance(value, str) else "\n".join(_texts(value))
    return chain.from_iterable(map(_telling_stems, _tokens(text)))


@lru_cache(maxsize=20_000)
def _telling_stems(token: str) -> tuple[str, ...]:
    return tuple(
        stem
        for stem in _token_stems(token)
        if len(stem) > (1 if stem.isdigit() else 2) and stem not in _STOP_STEMS
    )


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _stems(text: str) -> list[str]:
    return [*chain.from_iterable(map(_token_stems, _tokens(text)))]


def _tokens(text: str) -> list[str]:
    """Pieces between spaces: quicker to find than words, and seen again as often."""
    return text.replace("_", " ").lower().split()


@lru_cache(maxsize=20_000)
def _token_stems(token: str) -> tuple[str, ...]:
    return tuple(map(_stem, _WORD.findall(token)))


@lru_cache(maxsize=1_000)
def _stems_of_name(path: str) -> frozenset[str]:
    return frozenset(stem for key in path.split(".") for stem in _stems(key))


_ENDINGS: Final = (
    ("ability", "able"),
    ("ibility", "ible"),
    ("ality", "al"),
    ("ency", "ent"),
    ("ancy", "ant"),
    ("ations", "ate"),
    ("ation", "ate"),
    ("ies", "y"),
    ("ied", "y"),
    ("ings", ""),
    ("ing", ""),
    ("ed", ""),
    ("ly", ""),
    ("es", "e"),
    ("s", ""),
)
"""Endings and their replacements, tried in this order; the stem that is left has a vowel and three
letters or more."""
_BY_LAST: Final = {
    last: tuple(pair for pair in _ENDINGS if pair[0][-1] == last)
    for last in {ending[-1] for ending, _ in _ENDINGS}
}
_VOWEL: Final = re.compile(r"[aeiouy]")


def _stem(word: str) -> str:
    """A word without its ending: nurse, nurses; verify, verified; urgent, urgency, urgently."""
    word = word.replace("’", "'").removesuffix("'s")[:_LONGEST]
    for ending, other in _BY_LAST.get(word[-1:], ()):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _VOWEL.search(stem):
            if (ending == "s" and stem[-1] in "su") or (ending == "ed" and stem[-1] == "e"):
                break
            if other == "" and len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
                stem = stem[:-1]
            word = stem + other
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


_STOP_STEMS: Final = frozenset(map(_stem, f"{_GRAMMAR} {_VERDICT} {_DEGREE}".split()))
_GENERIC_STEMS: Final = frozenset(map(_stem, _GENERIC.split()))
_SPOKEN: Final = {"recipient": _stem("user"), "sender": _stem("chatbot")}
