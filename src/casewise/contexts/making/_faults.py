"""What is wrong with a context, or with an attempt to make one."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from casewise.cases import Side


class FaultKind(StrEnum):
    """What kind of thing is wrong."""

    FAILED = "failed"
    """No answer came: the request failed."""
    REFUSED = "refused"
    """The model, or its provider, declined to write."""
    UNREAD = "unread"
    """An answer came that holds no context."""
    MISSING = "missing"
    """A parameter is absent, blank or no text."""
    EXTRA = "extra"
    """A parameter that was not asked for, or the same text twice."""
    LENGTH = "length"
    """A parameter says next to nothing, or far too much."""
    QUERY = "query"
    """A parameter repeats the query."""
    ANSWER = "answer"
    """A parameter answers the query."""
    VERDICT = "verdict"
    """A word that gives the judgement away."""
    PLEADING = "pleading"
    """The text pleads instead of describing."""
    ADDRESS = "address"
    """The text speaks to whoever reads or judges it."""
    UNEQUAL = "unequal"
    """Much longer or shorter than its twin."""
    MATCHED = "matched"
    """Twins that must differ in named parameters only do not."""
    COPY = "copy"
    """Nearly the same as another context of the set."""
    MISFIT = "misfit"
    """The context is for another query of the set."""
    CRITIC = "critic"
    """The model critic turned it down."""
    UNCHECKED = "unchecked"
    """The model critic gave no verdict that can be read."""
    TWIN = "twin"
    """Nothing is wrong with it; its twin could not be made."""


NOT_MENDED = frozenset({FaultKind.FAILED, FaultKind.REFUSED, FaultKind.UNCHECKED, FaultKind.TWIN})
"""Faults that no rewriting mends: they are not the text's."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong, and where."""

    kind: FaultKind
    reason: str
    """In words that a person reads, and that the model is told when it repairs."""
    side: Side | None = None
    """The side of the pair; None is both, or what both share."""
    parameter: str | None = None
    """Its place, such as ``recipient.type``; None is the context as a whole."""

    def __str__(self) -> str:
        where = f"{self.parameter}: " if self.parameter else ""
        return f"{where}{self.reason}"

    @property
    def record(self) -> dict[str, Any]:
        """The fault as JSON values."""
        return {
            "kind": str(self.kind),
            "side": self.side,
            "parameter": self.parameter,
            "reason": self.reason,
        }
