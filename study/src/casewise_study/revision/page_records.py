"""Pair as the page shows it, and a context as a tree for its editor.

In the tree types and order are kept: a browser's own JSON knows one kind of number and puts keys
that look like numbers first, so values travel as texts with their kinds.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Self

from pydantic import JsonValue, model_validator

from casewise.cases import Case, Context, digest, is_voted
from casewise.contexts import differing_parameters, parameter_title
from casewise_study.revision.desk import Desk, progress
from casewise_study.revision.journal import SNAPSHOTS, Action, Entry, StrictModel, UnfitError
from casewise_study.revision.revised_cases import Pair, PairStatus, changes_between

SHORT_QUERY = 240
"""Characters of a query in the list of pairs."""


class ValueKind(StrEnum):
    """Kind of a value."""

    TEXT = "text"
    NUMBER = "number"
    BOOLEAN = "boolean"
    NULL = "null"
    LIST = "list"
    GROUP = "group"


class Node(StrictModel):
    """A parameter, a group of them, or an item of a list."""

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
    text, children = "", tuple[Node, ...]()
    match value:
        case dict():
            kind, children = ValueKind.GROUP, _children(value.items())
        case list():
            kind, children = ValueKind.LIST, tuple(map(_node, value))
        case None:
            kind = ValueKind.NULL
        case str():
            kind, text = ValueKind.TEXT, value
        case _:
            kind = ValueKind.BOOLEAN if isinstance(value, bool) else ValueKind.NUMBER
            text = json.dumps(value)
    return Node(kind=kind, name=name, title=parameter_title(name), text=text, children=children)


def _value(node: Node) -> JsonValue:
    match node.kind:
        case ValueKind.GROUP:
            return from_tree(node.children)
        case ValueKind.LIST:
            return list(map(_value, node.children))
        case ValueKind.TEXT:
            return node.text
        case ValueKind.NULL:
            return None
    try:
        value: JsonValue = json.loads(node.text.strip())
    except (ValueError, RecursionError):
        value = None
    is_boolean = node.kind is ValueKind.BOOLEAN
    if isinstance(value, int | float) and isinstance(value, bool) == is_boolean:
        return value
    where = f"{node.name[:60]}: " if node.name else ""
    raise UnfitError(f"{where}not {'yes or no' if is_boolean else 'a number, such as 3 or 0.5'}")


def key_of(query_id: str) -> str:
    """Hash a query id for addresses, since a given id may reveal the query."""
    return digest(query_id)


def list_record(desk: Desk) -> dict[str, Any]:
    """Every pair in short."""
    pairs = desk.pairs()
    decided, total = progress(pairs)
    return {"decided": decided, "total": total, "pairs": list(map(_row, pairs))}


def _row(pair: Pair) -> dict[str, Any]:
    first = pair.cases[0]
    return {
        "key": key_of(pair.query_id),
        "number": pair.number,
        "query": first.query[:SHORT_QUERY],
        "category": first.category,
        "status": pair.status,
        "cases": len(pair.cases),
        "voted": any(map(is_voted, pair.cases)),
        "version": max(case.version for case in pair.cases),
        "revisions": len(pair.entries),
        "differing": len(differing_parameters(pair.cases)),
    }


def pair_record(desk: Desk, pair: Pair) -> dict[str, Any]:
    """Everything that the page shows of a pair."""
    pairs = desk.pairs()
    decided, total = progress(pairs)
    place = pair.number - 1
    behind = [*pairs[place + 1 :], *pairs[:place]]
    undecided = next((other for other in behind if other.status is PairStatus.UNDECIDED), None)
    return {
        "key": key_of(pair.query_id),
        "version": pair.version,
        "number": pair.number,
        "total": total,
        "decided": decided,
        "status": pair.status,
        "previous": key_of(pairs[place - 1].query_id) if place else None,
        "next": key_of(pairs[place + 1].query_id) if pair.number < total else None,
        "undecided": key_of(undecided.query_id) if undecided else None,
        "cases": [_case(case) for case in pair.cases],
        "revisions": [_revision(desk.entries[number - 1]) for number in reversed(pair.entries)],
    }


def _case(case: Case) -> dict[str, Any]:
    tree = to_tree(case.context)
    told = {"id", "query", "history", "category", "intended", "tags", "replaces"}
    return {
        **case.model_dump(mode="json", include=told),
        "context": None if tree is None else [node.model_dump(mode="json") for node in tree],
        "voted": is_voted(case),
        "votes": _votes(case),
        "edition": case.version,
    }


def _votes(case: Case) -> str:
    parts = []
    if (case.votes_safe or 0) + (case.votes_unsafe or 0):
        parts.append(f"{case.votes_safe} safe, {case.votes_unsafe} unsafe")
    if case.published_safe_rate is not None:
        parts.append(f"published share of safe votes {case.published_safe_rate:.2f}")
    if case.author_vote is not None:
        parts.append(f"the author's own vote: {case.author_vote}")
    return "; ".join(parts)


def _revision(entry: Entry) -> dict[str, Any]:
    pair = () if entry.action in SNAPSHOTS else (entry.before, entry.after)
    return {
        **entry.model_dump(include={"number", "time", "author", "action", "reason"}),
        "cases": [
            {
                "intended": new.intended,
                "changes": [
                    asdict(change)
                    for change in changes_between(old, new)
                    # An id that follows the text tells nothing that the text does not.
                    if entry.action is Action.NEW_VERSION or change.name not in ("id", "query_id")
                ],
            }
            for old, new in zip(*pair, strict=True)
        ],
    }
