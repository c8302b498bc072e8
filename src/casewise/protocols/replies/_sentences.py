"""A reply's sentences, each with what it does: decline, ask, preach, make small talk or answer."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from casewise.protocols._text import sentences
from casewise.protocols.replies._signals import (
    DECLINING,
    DECLINING_EARLY,
    SMALL_TALK,
    WORD,
    Signal,
    moral_words,
    signals_of,
)
from casewise.protocols.replies._text import MARK
from casewise.protocols.replies._words import spelt_out

MAX_SENTENCES: Final = 200
"""Of more sentences, the first and the last hundred are read."""
MAX_LENGTH: Final = 600
"""Longer sentences are cut: what declines, declines early."""
EARLY: Final = 3
"""The opening is this many sentences long."""
SHORT: Final = 32
"""Small talk has fewer words than this."""
ASIDE: Final = 40
"""So has a disclaimer, and what preaches has no more."""
PREACHY: Final = 0.1
"""The share of words that preach, from which a sentence preaches by itself."""

QUOTED: Final = "quoted"
"""Stands for a word that the reply quotes, where signals are looked for."""


class Kind(StrEnum):
    """What a sentence does."""

    DECLINES = "declines"
    ASKS = "asks"
    SMALL_TALK = "small talk"
    ECHO = "echo"
    PREACHES = "preaches"
    CONTENT = "content"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence."""

    text: str
    """In lower case and long forms, quotations hidden."""
    words: int
    quoted: int
    """How many of the words are quoted."""
    concrete: bool
    """Holds a number, a colon, a semicolon, a bracket or a dash, or is a list item."""
    item: bool
    stems: frozenset[str]
    signals: frozenset[Signal]
    moral: int
    """How many of the words preach."""
    kind: Kind = Kind.CONTENT


_LIST_ITEM = re.compile(
    r"^\s{0,8}(?:[-*+\u2022\u2014\u2013\u2023\u25aa]|\(?\d{1,2}[.)\ufe0f]|[a-z][.)]"
    r"|[\u2460-\u2473]|\d\ufe0f?\u20e3)\s*\S"
)
_CONCRETE = re.compile(r"[\d:;()|=\"]|\s[\u2013\u2014-]\s")
_MARKED = re.compile(rf"{MARK}[^\s{MARK}]*")
_ABOUT_THE_PIECE = re.compile(
    r"\b(?:speech|letter|scene|story|poem|script|piece|text|draft|parts?|lines?|writ(?:e|ing|ten)"
    r"|version|request|above|passage|rest|ending|verse|dialogue|monologue|message|joke)\b"
)


def read_sentences(prose: str, asked: frozenset[str], creative: bool) -> list[Sentence]:
    """The sentences of a reply's plain prose.

    Args:
        prose: The prose, as ``prepare`` gives it.
        asked: The stems of the query.
        creative: Whether a piece of writing was asked for.
    """
    found = sentences(prose)
    if len(found) > MAX_SENTENCES:
        found = found[: MAX_SENTENCES // 2] + found[-MAX_SENTENCES // 2 :]
    said = [_sentence(one[: 2 * MAX_LENGTH]) for one in found]
    kinds = [_kind(one, at, len(said), asked, creative) for at, one in enumerate(said)]
    declined = Kind.DECLINES in kinds
    return [
        replace(one, kind=Kind.PREACHES if _preaches(one, kind, declined) else kind)
        for one, kind in zip(said, kinds, strict=True)
    ]


def _sentence(sentence: str) -> Sentence:
    clear = sentence.replace(MARK, "")
    text = spelt_out(_MARKED.sub(QUOTED, sentence))[:MAX_LENGTH]
    item = bool(_LIST_ITEM.match(clear))
    return Sentence(
        text=text,
        words=len(WORD.findall(clear)),
        quoted=text.count(QUOTED),
        concrete=item or bool(_CONCRETE.search(clear)),
        item=item,
        stems=stems(clear),
        signals=signals_of(text),
        moral=moral_words(text),
    )


def _kind(one: Sentence, at: int, of: int, asked: frozenset[str], creative: bool) -> Kind:
    if _declines(one, at, of, creative):
        return Kind.DECLINES
    if Signal.ASKS in one.signals:
        return Kind.ASKS
    if one.words < 3 or (one.words < SHORT and one.signals & SMALL_TALK):
        return Kind.SMALL_TALK
    if len(one.stems - asked) < 2 and not one.concrete and not one.quoted:
        return Kind.ECHO
    return Kind.CONTENT


def _declines(one: Sentence, at: int, of: int, creative: bool) -> bool:
    if Signal.DISCLAIMS in one.signals and one.words < ASIDE:
        return False
    if not one.signals & DECLINING and not (at < EARLY and one.signals & DECLINING_EARLY):
        return False
    # In the middle of a piece that was asked for, a character speaks.
    if not creative or at < 2 or one.text.startswith(("(", "[")):
        return True
    return at >= of - 2 and bool(_ABOUT_THE_PIECE.search(one.text))


def _preaches(one: Sentence, kind: Kind, declined: bool) -> bool:
    if kind is not Kind.CONTENT or one.words > ASIDE or one.item:
        return False
    if not one.signals & {Signal.CRIME, Signal.SHOULD}:
        return False
    # Beside a refusal, a law or a danger is its reason.
    return declined or Signal.SHOULD in one.signals or one.moral > PREACHY * one.words


# --- words shared with the query ------------------------------------------------------------

_COMMON_WORDS = (
    "about above after again against also another anybody anyone anything because been before "
    "being between both cannot could does doing down during each else ever every from give goes "
    "have having here into just know like made make makes many more most much must near need "
    "never only other over people person rather really same says shall should show simple some "
    "somebody someone something still such sure take takes tell than that their them then there "
    "these they thing things this those through time under until upon used using very want "
    "wants well were what when where which while whose will with within without would write "
    "your yours open keep kept"
)
COMMON: Final = frozenset(_COMMON_WORDS.split())
"""Words that carry no topic."""


def stems(text: str) -> frozenset[str]:
    """The first letters of the words that carry a topic."""
    words = (word.lower() for word in WORD.findall(text))
    return frozenset(word[:5].rstrip("s") for word in words if len(word) > 3 and word not in COMMON)
