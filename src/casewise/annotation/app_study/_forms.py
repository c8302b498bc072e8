"""What the pages send."""

from typing import Annotated, Literal
from unicodedata import category

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from casewise.cases import Side

MOST_REASON = 2000
"""Characters."""


def _blank_to_none(value: object) -> object:
    return None if value == "" else value


def _clean(value: object) -> object:
    """Without what is no text: PostgreSQL keeps no zero bytes, and nobody reads the others."""
    if not isinstance(value, str):
        return value
    lines = value.replace("\r\n", "\n").replace("\r", "\n")
    kept = "".join(one for one in lines if one in "\n\t" or category(one) not in ("Cc", "Cs"))
    return kept.strip() or None


class SentForm(BaseModel):
    """Every form."""

    model_config = ConfigDict(frozen=True)

    form: str = Field(max_length=200)
    """From ``Sessions.form``."""


class SentConsent(SentForm):
    """The consent page."""

    agree: Literal["yes", "no"]
    age: bool = False
    read: bool = False


class SentAnswer(SentForm):
    """The answer to a page."""

    verdict: Annotated[Side | None, BeforeValidator(_blank_to_none)] = None
    confidence: Annotated[int | None, BeforeValidator(_blank_to_none), Field(ge=1, le=5)] = None
    reason: Annotated[
        Annotated[str, StringConstraints(max_length=MOST_REASON)] | None, BeforeValidator(_clean)
    ] = None


class SentWithdrawal(SentForm):
    """That a person withdraws."""

    code: str = Field(default="", max_length=64)
    """The personal code, where the platform's id alone let the person in."""


class SentCode(BaseModel):
    """A personal code, to come back with."""

    code: str = Field(max_length=64)


class SentPurge(SentForm):
    """Whose data the administrator deletes."""

    rater: str = Field(max_length=64)
    """The pseudonym, or the personal code."""


class SentToken(BaseModel):
    """The administrator's token."""

    token: str = Field(max_length=500)
