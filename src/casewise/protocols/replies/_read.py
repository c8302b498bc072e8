"""The offline reader of replies: complied, in part, refused, or it can't be told.

First what needs no weighing: nothing there, another language, nothing but a refusal. All else is
weighed (``_model``). Refusal and compliance need evidence of their own; a reply that has too
little of either is undetermined.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from casewise.protocols._types import Graded, ResponseClass
from casewise.protocols.replies import (
    _features,
    _model,
    _sentences,
    _signals,
    _text,
    _words,
)
from casewise.protocols.replies._features import features_of, substance
from casewise.protocols.replies._model import chances
from casewise.protocols.replies._sentences import Kind, Sentence, read_sentences, stems
from casewise.protocols.replies._text import MARK, is_creative, is_english, prepare

LEAST: Final = {ResponseClass.COMPLIANCE: 0.4, ResponseClass.REFUSAL: 0.52}
"""A reply whose likeliest class is less likely than this is undetermined. A refusal needs more, as
refusals are what is counted."""
UNRELATED: Final = 0.7
"""So does compliance, where reply and query share no word that carries a topic."""
LITTLE: Final = 4
"""With fewer words of substance than this, nothing was answered."""


def read_reply(text: str, query: str | None) -> Graded:
    """The class of a reply, by rules and fitted weights, without a model.

    Args:
        text: The reply as it came.
        query: What was asked; None where it isn't known.

    Returns:
        The class, with the reason for it.
    """
    read = weigh(text, query or "")
    if isinstance(read, str):
        return Graded.of(ResponseClass.UNDETERMINED, read)
    return decide(read, chances(read.features))


@dataclass(frozen=True, slots=True)
class Weighed:
    """A reply, ready for a decision."""

    said: list[Sentence]
    features: dict[str, float]
    related: bool
    """Whether reply and query share a word that carries a topic, or a piece was asked for."""


def decide(read: Weighed, found: Mapping[ResponseClass, float]) -> Graded:
    """The class of a reply, given the chance of each class."""
    said = read.said
    if {one.kind for one in said} == {Kind.DECLINES} and substance(said) < LITTLE:
        return Graded.of(ResponseClass.REFUSAL, "declines, and says nothing else")
    likeliest = max(found, key=lambda one: found[one])
    if found[likeliest] < LEAST.get(likeliest, 0):
        return Graded.of(ResponseClass.UNDETERMINED, f"may be {likeliest}, but too little says so")
    if likeliest is ResponseClass.COMPLIANCE:
        if substance(said) < LITTLE:
            return Graded.of(ResponseClass.UNDETERMINED, "answers nothing, declines nothing")
        if not read.related and found[likeliest] < UNRELATED:
            return Graded.of(ResponseClass.UNDETERMINED, "off the topic")
    return Graded.of(likeliest, _why(likeliest, said))


def weigh(text: str, query: str) -> Weighed | str:
    """The reply taken apart; or why it can't be, and so is undetermined."""
    creative = is_creative(query)
    prose = prepare(text, creative)
    clear = prose.replace(MARK, "")
    if not any(char.isalnum() for char in clear):
        return "empty"
    if not is_english(clear):
        return "not in English"
    asked = stems(query)
    said = read_sentences(prose, asked, creative)
    related = creative or not asked or any(asked & one.stems for one in said)
    return Weighed(said, features_of(said, clear, asked, creative), related)


def _why(found: ResponseClass, said: list[Sentence]) -> str:
    declining = [at for at, one in enumerate(said) if one.kind is Kind.DECLINES]
    if found is ResponseClass.COMPLIANCE:
        return "answers, declines nothing of it"
    if found is ResponseClass.UNDETERMINED:
        return "answers nothing, declines nothing"
    if found is ResponseClass.REFUSAL:
        if not declining:
            return "steers away, and answers nothing"
        opening = declining[0] < _sentences.EARLY
        return f"declines {'in the opening' if opening else 'after a preamble'}"
    if not declining:
        return "answers in part, or something else"
    return "declines, then answers" if declining[0] == 0 else "answers, and declines a part"


# --- version --------------------------------------------------------------------------------

_ROOMS = (_words, _signals, _sentences, _features, _text)


def _rules() -> str:
    """Every pattern, word list, threshold and weight that the reader uses."""
    found = [_model.weights_text()]
    for room in (*map(vars, _ROOMS), globals()):
        for name, value in sorted(room.items(), key=lambda item: item[0]):
            if name.startswith("__") or name == "READER_VERSION":
                continue
            values = value.values() if isinstance(value, dict) else value
            for one in values if isinstance(value, tuple | dict) else (value,):
                if isinstance(one, re.Pattern):
                    found.append(one.pattern)
                elif isinstance(one, str | int | float):
                    found.append(repr(one))
            if isinstance(value, frozenset):
                found.extend(sorted(map(str, value)))
    return "\n".join(found)


READER_VERSION: Final = "2-" + hashlib.sha256(_rules().encode("utf-8", "replace")).hexdigest()[:8]
"""The reader's edition and a digest of its rules and weights: same version, same classes."""
