"""The parameters that a made context has, all of them text."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from casewise.cases import GROUPS, Context
from casewise.errors import UsageError

Values = Mapping[str, str]
"""The texts of a context by the place of their parameter, such as ``recipient.type``."""

PARAMETERS: Final[Mapping[str, str]] = {
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

_LEAF: Final = {place.split(".")[1]: place for place in PARAMETERS}


def place_of(name: str) -> str | None:
    """The place that a name stands for: the place itself, or a parameter's own name."""
    return name if name in PARAMETERS else _LEAF.get(name)


def make_context(values: Values) -> Context:
    """The context that holds the texts, in the order of ``PARAMETERS``."""
    root: dict[str, JsonValue] = {}
    for group in GROUPS:
        root[group] = {
            place.split(".")[1]: values[place]
            for place in PARAMETERS
            if place in values and place.split(".")[0] == group
        }
    return Context(root)


def parse_matched(text: str) -> tuple[str, ...]:
    """Split ``"urgency,recipient.type"`` into places, in the order of ``PARAMETERS``.

    A name is a parameter, its place, or a group, which stands for all of its parameters.

    Raises:
        UsageError: A name is unknown, empty or given twice, or no parameter is left to share.
    """
    found: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        places = [one for one in PARAMETERS if one.split(".")[0] == name]
        places = places or [one for one in [place_of(name)] if one]
        if not places:
            raise UsageError(
                f"--matched: no parameter {name!r}; choose from {', '.join(_LEAF)} "
                f"(or a group: {', '.join(GROUPS)})"
            )
        if again := [one for one in places if one in found]:
            raise UsageError(f"--matched {text!r}: {again[0]} stands twice")
        found += places
    if len(found) == len(PARAMETERS):
        raise UsageError(
            "--matched names every parameter: twins would share nothing; leave the option out"
        )
    return tuple(place for place in PARAMETERS if place in found)


def shared_places(matched: Sequence[str]) -> tuple[str, ...]:
    """The places that twins share which differ in ``matched`` only."""
    return tuple(place for place in PARAMETERS if place not in matched)
