"""Signals of a page beside the answer: signals of answers that no person gave."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator

from casewise.cases import digest
from casewise_study.study.schema import Study


@dataclass(frozen=True, slots=True)
class PageWatch:
    """Counts of the page's script, from showing to answer."""

    left: int
    """Times that the page lost the focus, or was hidden."""
    away: float
    """Seconds until it had it again, in all."""
    copied: int
    """Times that a part of the case was copied."""
    pasted: int
    """Times that something was pasted."""

    @classmethod
    def read(cls, sent: object) -> Self | None:
        """Read what the script wrote; None of anything else, as anybody may send anything."""
        counts = _WATCHED.fullmatch(sent) if isinstance(sent, str) else None
        if counts is None:
            return None
        left, away, copied, pasted = counts.groups()
        return cls(int(left), float(away), int(copied), int(pasted))


_WATCHED = re.compile(r"(\d{1,4}) (\d{1,6}(?:\.\d)?) (\d{1,4}) (\d{1,4})")


@dataclass(frozen=True, slots=True)
class PageSignals:
    """The signals that come with the answer to a page."""

    honeypot: bool
    """True if the page's hidden text was followed."""
    watch: PageWatch | None = None
    """None where scripts are off."""


SIGNAL_FIELDS = ("trap_pages", "trapped", "watched", "left", "away_seconds", "copied")
"""The fields of ``PersonRecord`` that sum up the signals of pages."""


def sum_signals(pages: Sequence[PageSignals]) -> dict[str, Any]:
    """The signals of a person's pages, by the fields of ``PersonRecord``; None is not counted."""
    watched = [page.watch for page in pages if page.watch is not None]
    trapped = sum(page.honeypot for page in pages)
    summed: tuple[float | None, ...] = (None, None, None)
    if watched:
        summed = (
            sum(watch.left > 0 for watch in watched),
            sum(watch.away for watch in watched),
            sum(watch.copied + watch.pasted > 0 for watch in watched),
        )
    figures = (len(pages), trapped, len(watched), *summed)
    return dict(zip(SIGNAL_FIELDS, figures, strict=True))


_SOUNDS = tuple(first + vowel for first in "bdfgklmnprstvz" for vowel in "aeiou")


def hidden_word(study: Study, block: int, position: int) -> str | None:
    """The word that a page's hidden text asks for: no real one, and another on each page.

    None in a study that records no signals.
    """
    if not study.screening.watches:
        return None
    drawn = bytes.fromhex(digest("word", study.id, study.seed, block, position)[:8])
    return "".join(_SOUNDS[byte % len(_SOUNDS)] for byte in drawn)


def _is_filled(value: object) -> bool:
    return bool(str(value or "").strip())


class SentSignals(BaseModel):
    """The fields of a page's form that no person fills in."""

    word: Annotated[bool, BeforeValidator(_is_filled)] = False
    """True if the hidden field held anything."""
    watched: Annotated[PageWatch | None, BeforeValidator(PageWatch.read)] = None
    """None where scripts are off."""

    def signals(
        self, study: Study, block: int, position: int, reason: str | None
    ) -> PageSignals | None:
        """The signals of a page with their reason; None in a study that records none."""
        word = hidden_word(study, block, position)
        if word is None:
            return None
        return PageSignals(self.word or word in (reason or "").lower(), self.watched)
