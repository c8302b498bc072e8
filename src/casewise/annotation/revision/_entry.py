"""One line of the journal: who changed what, when and why, sealed by a digest."""

import hashlib
import json
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_serializer

from casewise.cases import Case, to_fields

FORMAT: Literal[1] = 1
"""The version of the journal's form."""

_SEAL = ', "digest": "'


class Action(StrEnum):
    """What a line of the journal tells of."""

    BEGIN = "begin"
    EDIT = "edit"
    NEW_VERSION = "new-version"
    ACCEPT = "accept"
    REJECT = "reject"
    REOPEN = "reopen"
    OUTSIDE = "outside"


SNAPSHOTS = (Action.BEGIN, Action.OUTSIDE)
"""Lines that hold the whole file."""


class Entry(BaseModel):
    """One line of the journal."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = FORMAT
    number: int = Field(ge=1)
    """1, 2, 3, without a gap."""
    time: str
    """When, in UTC, ISO 8601."""
    author: str = Field(min_length=1)
    action: Action
    query_id: str | None = None
    """The pair, by its query id before the action; none where the whole file is meant."""
    reason: str = ""
    before: tuple[Case, ...] = ()
    """The cases that the action replaced or removed, votes and all."""
    after: tuple[Case, ...] = ()
    """What stands in their place, one for one; in ``begin`` and ``outside`` the whole file."""
    file_before: str
    """The data set's hash (``dataset_hash``) before the action."""
    file_after: str
    """And after it; the same where only a decision was taken."""
    previous: str
    """The digest of the line before; empty in the first line."""

    @field_serializer("before", "after")
    def _plain(self, cases: tuple[Case, ...]) -> list[dict[str, Any]]:
        return [to_fields(case) for case in cases]


class BadLineError(ValueError):
    """A line that is no whole, unaltered line of a journal."""


def seal(entry: Entry) -> tuple[str, str]:
    """The line of an entry, without its line end, and its digest.

    The digest is SHA-256 over the line as it would stand without it. It shows slips and careless
    changes; who means to deceive can compute every digest anew.
    """
    body = json.dumps(entry.model_dump(mode="json"), ensure_ascii=False)
    digest = hashlib.sha256(body.encode()).hexdigest()
    return f'{body[:-1]}{_SEAL}{digest}"}}', digest


def unseal(line: str) -> tuple[Entry, str]:
    """Read a line and check its digest.

    Raises:
        BadLineError: The line is cut short, altered, or of another form.
    """
    body, mark, rest = line.rpartition(_SEAL)
    if not mark or not rest.endswith('"}'):
        raise BadLineError("the line is cut short or has no digest")
    digest = rest[:-2]
    body += "}"
    if hashlib.sha256(body.encode()).hexdigest() != digest:
        raise BadLineError("the line was altered: its digest differs")
    try:
        return Entry.model_validate(json.loads(body)), digest
    except (ValidationError, ValueError, RecursionError):
        raise BadLineError("the line is of a form that this version does not read") from None
