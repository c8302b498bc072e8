"""Signals that come with an answer: a page's hidden text, and what its script has counted."""

import re
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from casewise.annotation.store.signals import PageSignals, PageWatch
from casewise.annotation.study.schema import Study
from casewise.cases import digest

_SOUNDS = tuple(first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou")


def hidden_word(study: Study, block: int, position: int) -> str | None:
    """The word that a page's hidden text asks for: no real one, and another on each page.

    None in a study that records no signals.
    """
    if not study.screening.watches:
        return None
    drawn = bytes.fromhex(digest("word", study.id, study.seed, block, position)[:8])
    return "".join(_SOUNDS[one % len(_SOUNDS)] for one in drawn)


def _is_said(value: object) -> bool:
    return bool(str(value or "").strip())


def _counts(value: object) -> str | None:
    """Anybody may send anything: what the script can't have written counts for nothing."""
    whole = isinstance(value, str) and re.fullmatch(
        r"\d{1,4} \d{1,6}(\.\d)? \d{1,4} \d{1,4}", value
    )
    return str(value) if whole else None


class SentSignals(BaseModel):
    """The fields of a page's form that no person fills in."""

    word: Annotated[bool, BeforeValidator(_is_said)] = False
    """Whether the hidden field held anything."""
    watched: Annotated[str | None, BeforeValidator(_counts)] = None
    """Times left, seconds away, times copied and pasted. None where scripts are off."""

    def signals(
        self, study: Study, block: int, position: int, said: str | None
    ) -> PageSignals | None:
        """The signals of a page with their reason; None in a study that records none."""
        word = hidden_word(study, block, position)
        if word is None:
            return None
        followed = self.word or word in (said or "").lower()
        if self.watched is None:
            return PageSignals(followed)
        left, away, copied, pasted = self.watched.split()
        return PageSignals(followed, PageWatch(int(left), float(away), int(copied), int(pasted)))
