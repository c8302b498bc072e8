"""Parameters of a made context, and the prompts that make, repair and review it.

Its form is a JSON schema; what can be wrong with it is a fault that has a place.

Pure, as all that reads its answers: no model is called here.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pydantic import JsonValue

from casewise.cases import GROUPS, Context, Side, digest
from casewise.contexts._render import quote
from casewise.errors import UsageError

Values = Mapping[str, str]
"""Texts of a context by the place of their parameter, such as ``recipient.type``."""

PARAMETERS: Mapping[str, str] = {
    "sender.platform_type": "the service or device on which the chatbot is used, who runs it, "
    "and who can get to it",
    "sender.nature_of_the_interaction": "what is going on when the question is asked: the "
    "occasion, and what came before",
    "recipient.type": "who the person is who asks: role, age, tie to the service",
    "recipient.background": "what is known of that person beyond the role: training, history, "
    "circumstances, what they have told",
    "transmission_principle.urgency": "how soon the answer is wanted, and what hangs on it",
    "transmission_principle.sender_purpose": "what the service is there for, and what its "
    "operator wants answers to be used for",
    "transmission_principle.confidentiality": "who can read or keep the conversation, and for "
    "how long",
    "transmission_principle.source_accountability": "who stands behind the answers, and what "
    "they rest on",
}
"""Place and meaning of each parameter, in the order of a context."""

_LEAF = {place.split(".")[1]: place for place in PARAMETERS}


def place_of(name: str) -> str | None:
    """Place of a parameter, by its place or its own name; None of another name."""
    return name if name in PARAMETERS else _LEAF.get(name)


def make_context(values: Values) -> Context:
    """The context that holds the texts, in the order of ``PARAMETERS``."""
    groups: dict[str, JsonValue] = {
        group: {name: values[f"{group}.{name}"] for name in names if f"{group}.{name}" in values}
        for group, names in _by_group(tuple(PARAMETERS)).items()
    }
    return Context(groups)


def _by_group(places: Sequence[str]) -> dict[str, list[str]]:
    """Names of the parameters at some places, by those groups that have any."""
    names = {
        group: [place.split(".")[1] for place in places if place.split(".")[0] == group]
        for group in GROUPS
    }
    return {group: listed for group, listed in names.items() if listed}


def parse_matched(text: str) -> tuple[str, ...]:
    """Split ``"urgency,recipient.type"`` into places, in the order of ``PARAMETERS``.

    A name is a parameter, its place, or a group, which stands for all of its parameters.

    Raises:
        UsageError: A name is unknown, empty or given twice, or no parameter is left to share.
    """
    matched: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        places = [parameter for parameter in PARAMETERS if parameter.split(".")[0] == name]
        places = places or [place for place in [place_of(name)] if place]
        if not places:
            raise UsageError(
                f"--matched: no parameter {name!r}; choose from {', '.join(_LEAF)} "
                f"(or a group: {', '.join(GROUPS)})"
            )
        if again := [place for place in places if place in matched]:
            raise UsageError(f"--matched {text!r}: {again[0]} stands twice")
        matched += places
    if len(matched) == len(PARAMETERS):
        raise UsageError(
            "--matched names every parameter: twins would share nothing; leave the option out"
        )
    return tuple(place for place in PARAMETERS if place in matched)


def shared_places(matched: Sequence[str]) -> tuple[str, ...]:
    """Places that twins share where they may differ in ``matched`` only."""
    return tuple(place for place in PARAMETERS if place not in matched)


JsonSchema = dict[str, Any]


def context_schema(places: Sequence[str] = tuple(PARAMETERS)) -> JsonSchema:
    """Schema of an object of groups whose parameters are required texts."""
    return _object(
        {
            group: _object({name: {"type": "string"} for name in names})
            for group, names in _by_group(places).items()
        }
    )


def pair_schema(matched: Sequence[str]) -> JsonSchema:
    """Schema of twins: parameters that they share, and those of each."""
    own = context_schema(matched)
    return _object({"shared": context_schema(shared_places(matched)), "safe": own, "unsafe": own})


def _object(properties: dict[str, JsonSchema]) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class ContextFault(StrEnum):
    """Kind of fault of a made context."""

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
    """Twins differ in other parameters than the named ones, or are alike in a named one."""
    COPY = "copy"
    """Nearly the same as another context of the set."""
    MISFIT = "misfit"
    """The context is for another query of the set."""
    CRITIC = "critic"
    """The model critic turned it down."""
    UNCHECKED = "unchecked"
    """The model critic gave no verdict that can be read."""
    TWIN = "twin"
    """The twin could not be made; the context itself has no fault."""


NOT_MENDED = frozenset(
    {ContextFault.FAILED, ContextFault.REFUSED, ContextFault.UNCHECKED, ContextFault.TWIN}
)
"""Faults that are not the text's, so that no rewriting mends them."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of a made context, and its place."""

    kind: ContextFault
    reason: str
    """Reason, in words for people and for the model that repairs it."""
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


Piece = Literal["safe", "unsafe", "both"]
"""Contexts that one request asks for: one side, or both twins at once."""

_EDITION = 1
_MAKING = ("make", "safe", "unsafe", "pair", "repair")
_INTENDED = {"safe": "it should answer.", "unsafe": "it should hold back."}
_OF_THE_QUERY = "the language that the question is written in"


@cache
def _template(name: str) -> str:
    folder = files("casewise.contexts") / "prompts"
    return (folder / f"{name}-{_EDITION}.txt").read_text("utf-8").rstrip("\n")


def _version(name: str, *templates: str) -> str:
    text = "\n".join([*map(_template, templates), repr(PARAMETERS)])
    return f"casewise/{name}-{_EDITION}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"


MAKE_VERSION = _version("make", *_MAKING)
"""Version of the prompts that make contexts."""

CRITIC_VERSION = _version("critic", "critic")
"""Version of the model critic's prompt."""


def render_making(
    query: str, piece: Piece, language: str | None, matched: Sequence[str] = ()
) -> str:
    """Prompt that asks for a context, or for twins.

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
    """Prompt that asks for a draft without its faults.

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
    """Prompt that asks the model critic to review a context."""
    return _template("critic").format(
        intended=_INTENDED[side],
        query=quote(query),
        context=quote(make_context(values).root),
        language=_language(language),
        nonce=review_nonce(query, side, values),
    )


def review_nonce(query: str, side: Side, values: Values) -> str:
    """Id that a verdict on the context must repeat: 8 hexadecimal characters of a digest."""
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
    return {group: dict.fromkeys(names, "...") for group, names in _by_group(places).items()}
