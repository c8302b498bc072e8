"""A context as a tree for the page's editor; types and order are kept.

A browser's own JSON knows one kind of number and puts keys that look like numbers first, so values
travel as texts with their kinds.
"""

import json
from collections.abc import Iterable
from enum import StrEnum
from typing import Self

from pydantic import BaseModel, ConfigDict, JsonValue, model_validator

from casewise.annotation.revision.journal import UnfitError
from casewise.cases import Context
from casewise.contexts import parameter_title


class ValueKind(StrEnum):
    """What a value is."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    LIST = "list"
    GROUP = "group"


class Node(BaseModel):
    """A parameter, a group of them, or an item of a list."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: ValueKind
    name: str = ""
    """The parameter's own; an item of a list has none."""
    title: str = ""
    """The name as people read it. Ignored on the way back."""
    text: str = ""
    """The value of a text, a number (as JSON writes it) or a boolean (``true``, ``false``)."""
    children: tuple["Node", ...] = ()

    @model_validator(mode="after")
    def _leaf_or_branch(self) -> Self:
        if self.children and self.kind not in (ValueKind.LIST, ValueKind.GROUP):
            raise ValueError("only lists and groups hold other values")
        return self


def to_tree(context: Context | None) -> tuple[Node, ...] | None:
    """The groups and parameters of a context; None where there is no context."""
    return None if context is None else _children(context.root.items())


def from_tree(nodes: Iterable[Node]) -> dict[str, JsonValue]:
    """The context that a tree stands for.

    Raises:
        UnfitError: A name is blank or stands twice, or a number is none.
    """
    made: dict[str, JsonValue] = {}
    for node in nodes:
        if not node.name.strip():
            raise UnfitError("a parameter needs a name")
        if node.name in made:
            raise UnfitError(f"the name {node.name[:60]!r} stands twice in one group")
        made[node.name] = _value(node)
    return made


def _children(items: Iterable[tuple[str, JsonValue]]) -> tuple[Node, ...]:
    return tuple(_node(value, name) for name, value in items)


def _node(value: JsonValue, name: str = "") -> Node:
    title = parameter_title(name)
    if isinstance(value, dict):
        children = _children(value.items())
        return Node(kind=ValueKind.GROUP, name=name, title=title, children=children)
    if isinstance(value, list):
        items = tuple(_node(item) for item in value)
        return Node(kind=ValueKind.LIST, name=name, title=title, children=items)
    if value is None:
        return Node(kind=ValueKind.NULL, name=name, title=title)
    if isinstance(value, str):
        return Node(kind=ValueKind.TEXT, name=name, title=title, text=value)
    kind = ValueKind.BOOLEAN if isinstance(value, bool) else ValueKind.NUMBER
    return Node(kind=kind, name=name, title=title, text=json.dumps(value))


def _value(node: Node) -> JsonValue:
    if node.kind is ValueKind.GROUP:
        return from_tree(node.children)
    if node.kind is ValueKind.LIST:
        return [_value(item) for item in node.children]
    if node.kind is ValueKind.TEXT:
        return node.text
    if node.kind is ValueKind.NULL:
        return None
    return _scalar(node)


def _scalar(node: Node) -> JsonValue:
    try:
        value: JsonValue = json.loads(node.text.strip())
    except (ValueError, RecursionError):
        value = None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if node.kind is ValueKind.NUMBER and is_number:
        return value
    if node.kind is ValueKind.BOOLEAN and isinstance(value, bool):
        return value
    where = f"{node.name[:60]}: " if node.name else ""
    expected = "a number, such as 3 or 0.5" if node.kind is ValueKind.NUMBER else "yes or no"
    raise UnfitError(f"{where}not {expected}")
