"""The rules that a study file fixes: when a case has votes enough, and whom screening flags."""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from casewise.statistics import LEAST_VOTES, POSTERIOR, Boundary


class Rule(StrEnum):
    """The rules of screening."""

    ATTENTION = "attention"
    FAST = "fast"
    ONE_ANSWER = "one_answer"
    AGREEMENT = "agreement"
    HONEYPOT = "honeypot"
    LEFT = "left"
    COPIED = "copied"
    TIMES = "times"
    TOOL = "tool"
    UNREAD = "unread"
    CHANGED = "changed"


SIGNALS = tuple(Rule)[4:]
"""The rules that are off unless they are set: study files before there were any lack them."""


class StudyPart(BaseModel):
    """A part of a study file: strict, finite and fixed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Screening(StudyPart):
    """Rules that flag people, fixed before the study starts. Flags never delete.

    Null switches a rule off. Those that rest on signals are null unless they are set: a study file
    that was written before there were any records none.
    """

    attention_failed: int | None = Field(default=1, ge=0)
    """Flagged are those who fail more attention checks: one is a slip that careful people make."""
    fast_share: float | None = Field(default=0.2, ge=0, le=1)
    """Flagged are those with a greater share of votes faster than ``fast_seconds``."""
    fast_seconds: float | None = Field(default=None, ge=0)
    """None: what the words of each case take at the greatest speed at which people understand."""
    one_answer_share: float | None = Field(default=0.95, ge=0.5, le=1)
    """Flagged are those who give one answer to a greater share of at least 20 cases, where the
    others' answers make that unlikely."""
    agreement_p: float | None = Field(default=0.05, gt=0, lt=1)
    """Flagged are those who agree with the others less than these agree among themselves, with a
    one-sided p below this after Benjamini & Hochberg's adjustment for the number of people: of
    those whom the rule flags, no greater share is flagged by chance."""
    agreement_most: float | None = Field(default=0.2, ge=0, le=1)
    """If agreement would flag a greater share of the people who voted, it flags nobody: then votes
    may fall in two groups, and which of them is right isn't in the votes."""
    honeypot_pages: int | None = Field(default=None, ge=0)
    """Flagged are those who follow the hidden text of more pages."""
    left_share: float | None = Field(default=None, ge=0, le=1)
    """Flagged are those who leave a greater share of the pages for another window or tab."""
    copied_share: float | None = Field(default=None, ge=0, le=1)
    """Flagged are those who copy the case, or paste, on a greater share of the pages."""
    even_times: float | None = Field(default=None, gt=0)
    """Flagged are those the logarithms of whose times vary less: the standard deviation of the
    middle four fifths, over at least 12 cases."""
    words_p: float | None = Field(default=None, gt=0, lt=1)
    """Flagged are those whose times rise less with the words of the cases than other people's:
    adjusted p below this."""
    tool_told: bool | None = None
    """True: flagged are those who say at the end that a tool gave some or all of the answers."""
    unread_share: float | None = Field(default=None, gt=0, lt=1)
    """Flagged are the most who probably answer without reading, of whom no greater share is
    expected to have read: by votes, times and checks together, ``casewise.statistics.unread``."""
    changed_p: float | None = Field(default=None, gt=0, lt=1)
    """Flagged are those whose pace and leniency change at one place, as if another person went on:
    adjusted p below this."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules to report on: those without signals, and those of signals that are on."""
        on = {
            Rule.HONEYPOT: self.honeypot_pages is not None,
            Rule.LEFT: self.left_share is not None,
            Rule.COPIED: self.copied_share is not None,
            Rule.TIMES: self.even_times is not None or self.words_p is not None,
            Rule.TOOL: bool(self.tool_told),
            Rule.UNREAD: self.unread_share is not None,
            Rule.CHANGED: self.changed_p is not None,
        }
        return tuple(rule for rule in Rule if on.get(rule, True))

    @property
    def watches(self) -> bool:
        """True if pages hold hidden text, and note when they are left and copied from."""
        return bool({Rule.HONEYPOT, Rule.LEFT, Rule.COPIED} & set(self.rules))


PLANNED = Screening(
    attention_failed=2,
    fast_share=0.5,
    one_answer_share=None,
    agreement_p=None,
    honeypot_pages=1,
    left_share=0.5,
    copied_share=0.2,
    even_times=0.1,
    tool_told=True,
    unread_share=0.05,
    changed_p=0.05,
)
"""The rules of a new study. Votes, times and checks are weighed together (``unread_share``); rules
on single ones flag extremes."""


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class StoppingRule(StrEnum):
    """Rule that ends the votes on a case: at their number, or once the majority is decided."""

    FIXED = "fixed"
    SEQUENTIAL = "sequential"


class Collection(StudyPart):
    """Votes that a case gets: ``Study.votes``, or at most so many under a stopping rule."""

    rule: StoppingRule = StoppingRule.FIXED
    posterior: float = Field(default=POSTERIOR, gt=0.5, lt=1)
    """A case stops when its majority is that of all people with at least this probability."""
    least: int = Field(default=LEAST_VOTES, ge=1)
    """Votes on every case, however clear."""

    @property
    def is_sequential(self) -> bool:
        """True if cases stop by the rule."""
        return self.rule is StoppingRule.SEQUENTIAL

    @property
    def boundary(self) -> Boundary:
        """Numbers of votes at which cases stop by the rule."""
        return Boundary(self.posterior, self.least)

    def majorities(self, most: int) -> Ints:
        """(most + 1,) by the number of votes, the smallest majority that decides."""
        return self.boundary.majorities(most)

    def stops(
        self, cell: Sequence[int] | Ints, safe: Sequence[bool] | Ints | Floats, cells: int
    ) -> Ints:
        """(cells,) the number of votes at which each was decided; 0 where it wasn't."""
        return self.boundary.stops(cell, safe, cells)
