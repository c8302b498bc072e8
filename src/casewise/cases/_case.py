"""The case: a query, its context, its authors' intention and people's votes."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    RootModel,
    Tag,
    field_validator,
    model_validator,
)

from casewise.cases._turn import History, Strict, Turn, find_turn_fault

Side = Literal["safe", "unsafe"]
"""A verdict, an intention or a vote."""

GROUPS = ("sender", "recipient", "transmission_principle")
"""The three groups of Contextual Integrity that a context is made of."""


def digest(*parts: JsonValue) -> str:
    """Hash JSON values into 16 hexadecimal characters (64 bits of SHA-256); key order counts."""
    text = json.dumps(parts, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Context(RootModel[dict[str, JsonValue]]):
    """Context of a query by Contextual Integrity: a mapping that keeps order and nesting.

    The groups ``sender``, ``recipient`` and ``transmission_principle`` are usual; other
    names are kept as they are.
    """

    model_config = ConfigDict(frozen=True)

    @field_validator("root")
    @classmethod
    def _finite(cls, value: dict[str, JsonValue]) -> dict[str, JsonValue]:
        # NaN and Infinity have no JSON form, so a file that held them could not be written back.
        try:
            json.dumps(value, allow_nan=False)
        except ValueError:
            raise ValueError("numbers must be finite") from None
        return value


SEQUENTIAL_VOTES = "votes:sequential"
"""Tag of a case that was asked no further once its majority was decided: its label holds, and its
share of safe votes leans to the majority."""


class Vote(Strict):
    """One person's verdict on a case."""

    verdict: Side
    rater: str | None = None
    """Person who voted, or the column of the published table that holds the vote."""
    time: str | None = None
    """Time in ISO 8601."""

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        """Take ``"safe"``/``"unsafe"`` and the published coding 1 (safe) / 2 (unsafe) too."""
        if isinstance(value, int) and not isinstance(value, bool):
            if value not in (1, 2):
                raise ValueError("a vote is 1 (safe) or 2 (unsafe)")
            return {"verdict": "safe" if value == 1 else "unsafe"}
        if isinstance(value, str):
            if value not in ("safe", "unsafe"):
                raise ValueError("a vote is 'safe' or 'unsafe'")
            return {"verdict": value}
        return value


class VoteCounts(Strict):
    """Number of people who called a case safe and unsafe, where the single votes are not known."""

    safe: int = Field(ge=0)
    unsafe: int = Field(ge=0)


def _votes_form(value: object) -> str:
    return "counts" if isinstance(value, Mapping | VoteCounts) else "rows"


class RatingRule(StrEnum):
    """Rule by which ratings on a scale become a label."""

    SIDES = "sides"
    """Each rating is a vote for the half of the scale that it lies in; in the middle it is none."""
    POSITION = "position"
    """The mean rating becomes a share of safe: 0 at the unsafe end of the scale, 1 at the safe."""


class Ratings(Strict):
    """Published ratings of a case on a scale: single ratings, or their mean."""

    values: tuple[Annotated[float, Field(allow_inf_nan=False)], ...] = Field(min_length=1)
    scale: tuple[float, float]
    """The end that means unsafe, then the end that means safe: (-100, 100), (7, 1)."""
    rule: RatingRule | None = None
    """Rule that made the case's votes or its share of them; None where nothing was made."""

    @model_validator(mode="after")
    def _on_the_scale(self) -> Self:
        low, high = sorted(self.scale)
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError("the scale needs two ends that differ")
        beyond = next((value for value in self.values if not low <= value <= high), None)
        if beyond is not None:
            raise ValueError(f"the rating {beyond:g} is not on the scale from {low:g} to {high:g}")
        return self

    def sides(self) -> tuple[Side | None, ...]:
        """Vote that the rule ``sides`` makes of each rating; None in the middle of the scale."""
        positions = (self._position(value) for value in self.values)
        return tuple(
            None if place == 0.5 else "safe" if place > 0.5 else "unsafe" for place in positions
        )

    def position(self) -> float:
        """Share of safe in 0..1 that the rule ``position`` makes of the mean rating."""
        return self._position(math.fsum(self.values) / len(self.values))

    def _position(self, value: float) -> float:
        unsafe, safe = self.scale
        return min(1.0, max(0.0, (value - unsafe) / (safe - unsafe)))


Votes = Annotated[
    Annotated[VoteCounts, Tag("counts")] | Annotated[tuple[Vote, ...], Tag("rows")],
    Discriminator(_votes_form),
]
"""Votes as counts, or as rows of rater, verdict and time."""


def _number_to_text(value: object) -> object:
    number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if number else value


def _blank_to_none(value: object) -> object:
    return None if value in ("", [], ()) else value


OptionalText = Annotated[str | None, BeforeValidator(_blank_to_none)]
"""Text, or None for an empty cell of a spreadsheet."""


class Case(Strict):
    """One query in one context (or in none), with its author's intention and people's votes."""

    query: str
    """Question of the user to the chatbot."""
    context: Context | None = None
    """Context in which it is asked; null in the no-context arm."""
    history: History = ()
    """Earlier turns of the conversation, oldest first."""
    id: Annotated[str, BeforeValidator(_number_to_text)] = Field(
        min_length=1,
        default_factory=lambda data: case_id(data["query"], data["context"], data["history"]),
    )
    """Id that the file gives, or the hash of query, context and history."""
    query_id: str = Field(min_length=1, default_factory=lambda data: digest(data["query"]))
    """The hash of the query: shared by the cases of a pair."""
    category: OptionalText = None
    intended: Side | None = None
    """Side that its authors meant: those of the context, or of a set of queries without contexts.
    Never a vote."""
    votes: Annotated[Votes | None, BeforeValidator(_blank_to_none)] = None
    author_vote: Side | None = None
    """The 21st vote of the published outputs, which equals the intention and is no annotator's."""
    published_safe_rate: float | None = Field(default=None, ge=0, le=1)
    """The share of safe votes as the data's authors published it; or, by the rule that ``ratings``
    names, where the mean rating stands on its scale."""
    ratings: Ratings | None = None
    source: OptionalText = None
    licence: OptionalText = None
    language: OptionalText = None
    """BCP 47 tag, for example ``en``."""
    tags: tuple[str, ...] = ()
    version: int = Field(default=1, ge=1)
    """The edition of the case: a change after votes were cast opens the next, without votes."""
    replaces: OptionalText = None
    """The id of the edition before."""

    @field_validator("history")
    @classmethod
    def _is_a_conversation(cls, value: tuple[Turn, ...]) -> tuple[Turn, ...]:
        if (wrong := find_turn_fault(value)) is not None:
            raise ValueError(wrong)
        return value

    @field_validator("query")
    @classmethod
    def _not_blank(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("the query is blank")
        return value

    @property
    def votes_safe(self) -> int | None:
        """The number of safe votes, or None where nobody voted."""
        return self._count("safe")

    @property
    def votes_unsafe(self) -> int | None:
        """The number of unsafe votes, or None where nobody voted."""
        return self._count("unsafe")

    @property
    def has_sequential_votes(self) -> bool:
        """Tell whether its votes were collected only until the majority was decided."""
        return self.votes is not None and SEQUENTIAL_VOTES in self.tags

    def _count(self, side: Side) -> int | None:
        if self.votes is None:
            return None
        if isinstance(self.votes, VoteCounts):
            return self.votes.safe if side == "safe" else self.votes.unsafe
        return sum(vote.verdict == side for vote in self.votes)


def case_id(query: str, context: Context | None, history: tuple[Turn, ...]) -> str:
    """Hash of query, context and history: the id of a case whose file gives none."""
    root = context.root if context is not None else None
    return digest(query, root, [list(turn.values) for turn in history])


def find_twins(cases: Iterable[Case]) -> dict[str, Case]:
    """Twin of each case, by id: the first case of its query that is intended the other way.

    Cases without a context or an intended side have no twin.
    """
    cases = [case for case in cases if case.context is not None and case.intended]
    first: dict[tuple[str, str | None], Case] = {}
    for case in cases:
        first.setdefault((case.query_id, case.intended), case)
    other = {"safe": "unsafe", "unsafe": "safe"}
    twins = ((case.id, first.get((case.query_id, other[case.intended or ""]))) for case in cases)
    return {id: twin for id, twin in twins if twin is not None}
