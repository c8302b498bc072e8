"""The prompts that have a context made, repaired and reviewed."""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final, Literal

from pydantic import JsonValue

from casewise.cases import GROUPS, Side, digest
from casewise.contexts._render import quote
from casewise.contexts.making._form import PARAMETERS, Fault, Values, make_context, shared_places

Piece = Literal["safe", "unsafe", "both"]
"""What one request has written: a context, or both twins at once."""

_EDITION: Final = 1
_MAKING: Final = ("make", "safe", "unsafe", "pair", "repair")
_INTENDED: Final = {"safe": "it should answer.", "unsafe": "it should hold back."}
_OF_THE_QUERY: Final = "the language that the question is written in"


@cache
def _template(name: str) -> str:
    folder = files("casewise.contexts.making") / "prompts"
    return (folder / f"{name}-{_EDITION}.txt").read_text("utf-8").rstrip("\n")


def _version(name: str, *templates: str) -> str:
    text = "\n".join([*map(_template, templates), repr(PARAMETERS)])
    return f"casewise/{name}-{_EDITION}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"


MAKE_VERSION: Final = _version("make", *_MAKING)
"""The version of the prompts that make contexts, as templates have one."""

CRITIC_VERSION: Final = _version("critic", "critic")
"""The version of the prompt of the model critic."""


def render_making(
    query: str, piece: Piece, language: str | None, matched: Sequence[str] = ()
) -> str:
    """The prompt that has a context written, or twins.

    Args:
        query: What is asked in it.
        piece: The side, or both.
        language: BCP 47 tag of the query; None leaves it to the model to see.
        matched: The places in which alone the twins differ; needed for both.
    """
    if piece == "both":
        side = _template("pair").format(matched=", ".join(matched))
    else:
        side = _template(piece)
    return _template("make").format(
        parameters="\n".join(f"- {place}: {what}" for place, what in PARAMETERS.items()),
        language=_language(language),
        side=side,
        form=_form(piece, matched),
        query=quote(query),
    )


def render_repair(asked: str, draft: JsonValue, faults: Sequence[Fault]) -> str:
    """The prompt that has a draft written again.

    Args:
        asked: The prompt that the draft answers.
        draft: What was written; None where nothing could be read.
        faults: What is wrong with it.
    """
    lines = dict.fromkeys(_line(fault) for fault in faults)
    return _template("repair").format(
        asked=asked, draft=quote(draft), faults="\n".join(f"- {line}" for line in lines)
    )


def render_review(query: str, side: Side, values: Values, language: str | None) -> str:
    """The prompt that has the model critic review a context."""
    return _template("critic").format(
        intended=_INTENDED[side],
        query=quote(query),
        context=quote(make_context(values).root),
        language=_language(language),
        nonce=review_nonce(query, side, values),
    )


def review_nonce(query: str, side: Side, values: Values) -> str:
    """The id that a verdict on the context must bear: 8 hexadecimal characters of a digest."""
    return digest(query, side, dict(values))[:8]


def _line(fault: Fault) -> str:
    # A critic's reason is a model's words: quoted, as all that others wrote.
    where = ", ".join(part for part in (fault.side, fault.parameter) if part)
    return f"{where or 'as a whole'}: {quote(fault.reason)}"


def _language(tag: str | None) -> str:
    return f"the language of the BCP 47 tag {quote(tag)}" if tag else _OF_THE_QUERY


def _form(piece: Piece, matched: Sequence[str]) -> str:
    if piece != "both":
        return json.dumps(_blank(tuple(PARAMETERS)))
    own = _blank(matched)
    return json.dumps({"shared": _blank(shared_places(matched)), "safe": own, "unsafe": own})


def _blank(places: Sequence[str]) -> dict[str, JsonValue]:
    form: dict[str, JsonValue] = {}
    for group in GROUPS:
        names = [place.split(".")[1] for place in places if place.split(".")[0] == group]
        if names:
            form[group] = dict.fromkeys(names, "...")
    return form
