"""The form of an answer as a JSON schema, for providers that hold a model to one."""

from collections.abc import Sequence
from typing import Any

from casewise.cases import GROUPS
from casewise.contexts.making._parameters import PARAMETERS, shared_places

JsonSchema = dict[str, Any]


def context_schema(places: Sequence[str] = tuple(PARAMETERS)) -> JsonSchema:
    """An object of groups that hold the named parameters, all of them text and needed."""
    groups: dict[str, JsonSchema] = {}
    for group in GROUPS:
        names = [place.split(".")[1] for place in places if place.split(".")[0] == group]
        if names:
            groups[group] = _object({name: {"type": "string"} for name in names})
    return _object(groups)


def pair_schema(matched: Sequence[str]) -> JsonSchema:
    """What twins share, and what each has of its own."""
    own = context_schema(matched)
    return _object({"shared": context_schema(shared_places(matched)), "safe": own, "unsafe": own})


def _object(properties: dict[str, JsonSchema]) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
