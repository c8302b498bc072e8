"""A short answer to a question of fact: "We open at 9." to "When does the shop open?".

The fit leaves most replies of a few words open, as it has seen few that answer. How a question of
fact begins tells what it asks for (when: a time, where: a place...). A short statement that gives
it, and speaks of what was asked, is an answer. Nothing here makes or unmakes a refusal.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from casewise.protocols.replies._sentences import COMMON, WORD, Sentence, spelt_out

MOST_WORDS: Final = 30
"""A longer reply isn't short; the comparison with labelled replies reads it."""
MOST_NEW: Final = 2
"""So many topics that the query lacks may stand in an answer that begins with a pronoun."""
QUERY_READ: Final = 2_000
"""Of a longer query, the end is looked at: the question comes last."""


class _Asked(Enum):
    """What a question of fact asks for."""

    AMOUNT = auto()
    """A number, a price, a time."""
    PLACE = auto()
    NAME = auto()
    """Who, which, what it is."""
    REASON = auto()
    YES_OR_NO = auto()


_LEAD = re.compile(
    r"^\W*(?:(?:please|hi|hello|hey|excuse me|so|and|but|okay|ok|sorry|by the way)\b[,!:]? ?){0,4}"
    r"(?:(?:(?:can|could|would|will) you (?:please )?|please )?(?:tell me|let me know|remind me)"
    r"|do you (?:happen to )?know|i (?:would like|want|need) to know|i was wondering)?"
    r"(?: please)?[,:]? ?",
)
_QUESTIONS: Final = {
    _Asked.AMOUNT: re.compile(
        r"(?:at |by |until |from |since |for |in |on )?(?:when\b|(?:what|which) (?:time|year"
        r"|date|day|month|hours?|age|number|price|code|size|weight|percentage)\b|how (?:much"
        r"|many|old|long|far|tall|high|often|big|large|late|early|soon|heavy|deep|wide|fast"
        r"|hot|cold|strong|expensive)\b)"
    ),
    _Asked.PLACE: re.compile(r"(?:where\b|(?:in|on|at) (?:what|which)\b)(?! (?:should|would))"),
    _Asked.REASON: re.compile(r"why (?:is|are|was|were|does|do|did|has|have)\b(?! not)"),
    _Asked.NAME: re.compile(
        r"(?:whose\b|who\b(?! should)|which\b|what (?:is|are|was|were)\b"
        r"(?! (?:[\w'-]+ ){0,4}?(?:ways?|methods?|steps|tips|advice|means|tricks?)\b))"
    ),
    _Asked.YES_OR_NO: re.compile(
        r"(?:do|does|did|is|are|am|was|were|has|have|had|may|must|(?:can|could|will|would)"
        r" (?!you\b)\w+)\b"
    ),
}

_VALUE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen"
    r"|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty"
    r"|ninety|hundred|thousand|million|half|dozen|once|twice|noon|midnight|monday|tuesday"
    r"|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july|august"
    r"|september|october|november|december|daily|weekdays|weekends|today|tomorrow|tonight|dawn"
    r"|dusk|free of charge|nothing at all)s?\b"
)
_UNIT = re.compile(
    r"\b(?:euros?|dollars?|pounds?|cents?|pence|minutes?|hours?|days?|weeks?|months?|years?|met(?:er"
    r"|re)s?|feet|miles?|kilos?|grams?|lit(?:er|re)s?|per ?cent|degrees?|o'clock|people|pieces?"
    r"|times?|past|quarter)\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|on|by|behind|under|near|beside|above|below|opposite|between|inside|outside|next to"
    r"|in front of) [\w'-]+|\b(?:upstairs|downstairs)\b|\b(?:aisle|floor|room|shelf|gate|counter)"
    r" [\w'-]+"
)
_REASON = re.compile(r"\b(?:because|since|due to|thanks to)\b")
_YES = re.compile(r"^(?:yes|yep|yeah)\b[,.:;! \u2013\u2014-]*")
_PRONOUN = re.compile(r"^(?:it|they|he|she|we|you|that|this|these|those|there)\b")
_ECHO = re.compile(
    r"^(?:[\w'-]+ ){1,3}(?:is|are|am|was|were|does|do|did|has|have|had|can|may|will|must)\W*$"
)
# Asks, declines, comforts, says that it doesn't know, or only what was asked.
_NO_FACT = re.compile(
    r"\?[\"') ]*$|\b(?:not (?:know|sure|certain|tell|say|help|give|share)|no idea|depends?|asking"
    r"|asked|want(?:ed)? to know|wonder\w*|questions?|guess|maybe|perhaps|let (?:us|me)|sorry|ask"
    r"|see|call|contact|consult|understand|here (?:is|are)|as an ai"
    r"|please (?:tell|provide|check))\b"
)
_GREETS = re.compile(r"^(?:sure|of course|certainly|okay|ok|great|good|hello|hi|hey|thanks)\b")
_TOPICS_HERE: Final = frozenset({"open", "keep", "kept", "need", "make", "take"})
"""Too common to be a long reply's topic; of a short one they may be all there is."""
_SMALL = (
    "the and for are was has had not you our out its his her him who why how all any can may yes "
    "did she but too off got let one two via per also"
)
_SMALL_WORDS: Final = frozenset(_SMALL.split())


def answers_in_short(said: list[Sentence], query: str) -> bool:
    """Whether a short reply gives the fact that the query asks for.

    Args:
        said: The reply's sentences, at least one.
        query: What was asked.
    """
    asked_for = _asked_for(query)
    if asked_for is None or sum(sentence.words for sentence in said) > MOST_WORDS:
        return False
    told = [sentence for sentence in said if not _only_greets(sentence)]
    if not told or any(_NO_FACT.search(sentence.text) for sentence in told):
        return False
    # A second sentence may add to the fact; the first gives it.
    return _gives(asked_for, _Told.of(told[0], query))


def _asked_for(query: str) -> _Asked | None:
    """What the last of the query's questions asks for, if it is a fact."""
    asked_for = None
    for sentence in re.split(r"[.!?\n]", spelt_out(query[-QUERY_READ:])):
        rest = sentence[_end_of_lead(sentence) :]
        for asked, pattern in _QUESTIONS.items():
            if pattern.match(rest):
                asked_for = asked
                break
    return asked_for


def _end_of_lead(sentence: str) -> int:
    lead = _LEAD.match(sentence)
    return lead.end() if lead else 0


def _only_greets(sentence: Sentence) -> bool:
    return sentence.words < 3 and bool(_GREETS.match(sentence.text))


@dataclass(frozen=True, slots=True)
class _Told:
    """What a short reply says, held against its query."""

    text: str
    """In lower case and long forms."""
    asked: frozenset[str]
    """The query's topics."""
    new: frozenset[str]
    """The reply's own topics; numbers, times and units are none."""
    shared: frozenset[str]
    whole: bool
    """Ends as a sentence does."""

    @classmethod
    def of(cls, sentence: Sentence, query: str) -> "_Told":
        text = sentence.text.strip()
        asked, spoken = _topics(query), _topics(_UNIT.sub(" ", _VALUE.sub(" ", text)))
        whole = text.rstrip(" \"'*_)\u201d")[-1:] in tuple(".!")
        return cls(text, asked, spoken - asked, spoken & asked, whole)

    @property
    def value(self) -> bool:
        return bool(_VALUE.search(self.text))

    @property
    def to_the_point(self) -> bool:
        """Whether it speaks of what was asked, and of little else."""
        return 2 * len(self.shared) >= len(self.new) or self.by_pronoun

    @property
    def by_pronoun(self) -> bool:
        """Whether "it" or "we" stands for what was asked."""
        return bool(_PRONOUN.match(self.text)) and len(self.new) <= MOST_NEW

    @property
    def covers(self) -> bool:
        """Whether it speaks of half of what was asked, at least."""
        return bool(self.shared) and 2 * len(self.shared) >= len(self.asked)


def _topics(text: str) -> frozenset[str]:
    words = (word.lower() for word in WORD.findall(text))
    return frozenset(
        word[:4].rstrip("s")
        for word in words
        if len(word) > 2 and word not in _SMALL_WORDS and word not in COMMON - _TOPICS_HERE
    )


def _gives(asked_for: _Asked, told: _Told) -> bool:
    match asked_for:
        case _Asked.AMOUNT:
            return told.value and told.to_the_point
        case _Asked.PLACE:
            return bool(_PLACE.search(told.text)) and (told.by_pronoun or _names_a_place(told))
        case _Asked.NAME:
            return told.whole and (_names(told) or (told.value and told.by_pronoun))
        case _Asked.REASON:
            return told.whole and bool(_REASON.search(told.text)) and told.covers
        case _Asked.YES_OR_NO:
            rest, yes = _YES.subn("", told.text)
            return bool(yes) and bool(rest) and (bool(told.shared) or bool(_ECHO.match(rest)))


def _names_a_place(told: _Told) -> bool:
    bare = bool(_PLACE.match(told.text)) and len(told.new) <= MOST_NEW
    return bare or (told.whole and bool(told.shared))


def _names(told: _Told) -> bool:
    if _ECHO.match(told.text):
        return True
    return told.covers and told.to_the_point and (bool(told.new) or told.value)
