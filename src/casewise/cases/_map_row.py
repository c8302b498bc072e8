"""One row of somebody's table, through a mapping, as the fields of a case."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casewise.cases._case import TURNS, Turn, takes_turns
from casewise.cases._mapping import CaseMapping, Choice, ColumnValue, Constant, Value, as_key
from casewise.errors import InputError
from casewise.files import parse_json

_ROLES = {
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "system": "system",
}
"""What data sets call those who speak."""

_TEXTS = ("content", "value", "text")
_SPEAKERS = ("role", "from", "speaker")


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row stands, for messages."""

    file: Path
    record: str

    def bad(self, field: str, column: str | None, found: object, expected: str) -> InputError:
        """The row's cell can't be the field."""
        named = f"wrong value in column {column!r}" if column else "wrong value"
        # A query is never shown; whatever stands in its place is.
        shown = ... if field == "query" and isinstance(found, str) else found
        return InputError(
            named, file=self.file, record=self.record, field=field, found=shown, expected=expected
        )


def is_wanted(row: Mapping[str, Any], mapping: CaseMapping) -> bool:
    """Whether a row passes the mapping's filter."""
    cells = ((_plain(row.get(name)), wanted) for name, wanted in mapping.where.items())
    return all(cell is not None and as_key(cell) in wanted for cell, wanted in cells)


def case_fields(
    row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace
) -> dict[str, Any] | None:
    """The fields of a row's case, those without a value left out; None for a row without a query.

    Raises:
        InputError: A cell can't be what the mapping takes it for.
    """
    query, history = _asked(row, mapping, place)
    if query is None:
        return None
    fields: dict[str, Any] = {"query": query, "history": history}
    for name in ("id", "query_id", "category", "language"):
        fields[name] = _text(row, getattr(mapping, name), name, place)
    for name in ("source", "licence"):
        value = getattr(mapping, name)
        fields[name] = _text(row, value, name, place)
        if fields[name] is None:
            raise place.bad(name, _name(value), None, "text: it stays on every case")
    fields["context"] = _context(row, mapping, place)
    tags = [_tag(row, tag, place) for tag in mapping.tags]
    if mapping.intended is not None:
        side, label = _meaning(row, mapping.intended, "intended", place)
        if side is not None and fields["context"] is not None:
            fields["intended"] = side
        elif label is not None:
            # Without a context nothing is intended; what the source says is kept all the same.
            tags.append(f"label:{side or label}")
    fields["tags"] = list(dict.fromkeys(tag for tag in tags if tag is not None))
    fields["votes"] = _votes(row, mapping, place)
    rate = mapping.published_safe_rate
    if rate is not None:
        fields["published_safe_rate"] = _number(row, rate, "published_safe_rate", place)
    return {name: value for name, value in fields.items() if value not in (None, [])}


# --- cells ----------------------------------------------------------------------------------


def _plain(value: object) -> object:
    """A cell without what other formats write for nothing."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return None if isinstance(value, str) and not value.strip() else value


def _name(value: Value | None) -> str | None:
    return value.name if isinstance(value, ColumnValue) else None


def _text(row: Mapping[str, Any], value: Value | None, field: str, place: RowPlace) -> str | None:
    if value is None or isinstance(value, Constant):
        return value.value if value else None
    cell = _plain(row.get(value.name))
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool | int):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else str(cell)
    raise place.bad(field, value.name, cell, "text")


def _tag(row: Mapping[str, Any], value: Value, place: RowPlace) -> str | None:
    text = _text(row, value, "tags", place)
    return text if text is None or isinstance(value, Constant) else f"{value.prefix}{text}"


def _meaning(
    row: Mapping[str, Any], choice: Choice, field: str, place: RowPlace
) -> tuple[str | None, str | None]:
    """The side that a cell means, and the cell; two times None for an empty one."""
    cell = _plain(row.get(choice.column))
    if cell is None:
        return None, None
    side = choice.meanings.get(as_key(cell))
    if side is None:
        raise place.bad(field, choice.column, cell, f"one of {choice.known}")
    return (None if side == "none" else side), str(cell).strip()


def _number(
    row: Mapping[str, Any], column: ColumnValue, field: str, place: RowPlace
) -> float | None:
    cell = _plain(row.get(column.name))
    if cell is None:
        return None
    try:
        if isinstance(cell, bool):
            raise ValueError
        number = float(cell)  # type: ignore[arg-type]
        if not math.isfinite(number):
            raise ValueError
    except (TypeError, ValueError):
        raise place.bad(field, column.name, cell, "a number") from None
    return number


def _votes(row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace) -> Any:
    if mapping.vote is not None:
        side, _ = _meaning(row, mapping.vote, "vote", place)
        rater = _text(row, mapping.rater, "rater", place)
        return [{"verdict": side, "rater": rater}] if side is not None else None
    counts = {}
    for side in ("safe", "unsafe"):
        column = getattr(mapping, f"votes_{side}")
        number = _number(row, column, f"votes_{side}", place) if column else None
        if number is not None and not (number.is_integer() and number >= 0):
            raise place.bad(f"votes_{side}", _name(column), number, "a whole number, 0 or more")
        counts[side] = None if number is None else int(number)
    if counts["safe"] is None and counts["unsafe"] is None:
        return None
    for side, count in counts.items():
        if count is None:
            column = getattr(mapping, f"votes_{side}")
            raise place.bad(f"votes_{side}", _name(column), None, "both counts, or neither")
    return counts


# --- contexts and conversations -------------------------------------------------------------


def _context(row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace) -> Any:
    if mapping.context is not None:
        cell = _structure(_plain(row.get(mapping.context.name)), "context", place)
        if cell is not None and not isinstance(cell, dict):
            raise place.bad("context", mapping.context.name, cell, "a mapping, or JSON of one")
        # Parquet gives every row all keys, with null for those that it has not.
        return _without_null(cell) or None
    context: dict[str, Any] = {}
    for path, value in mapping.parameters.items():
        text = _text(row, value, f"context.{path}", place)
        if text is None:
            continue
        *groups, name = path.split(".")
        inner = context
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[name] = text
    return context or None


def _without_null(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_null(inner) for key, inner in value.items() if inner is not None}


def _structure(cell: object, field: str, place: RowPlace) -> Any:
    """A list or mapping, also where a cell holds it as JSON."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        return parse_json(cell, file=place.file, record=f"{place.record}, field {field!r}")
    return cell


def _asked(
    row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace
) -> tuple[str | None, list[dict[str, str]]]:
    """The query and the turns before it."""
    if mapping.turns is not None:
        return _conversation(row, mapping.turns, place)
    column = mapping.query
    assert column is not None
    cell = _plain(row.get(column.name))
    if cell is not None and not isinstance(cell, str):
        raise place.bad("query", column.name, cell, "text (for a list of messages: turns)")
    history: list[dict[str, str]] = []
    if mapping.history is not None:
        spoken = _structure(_plain(row.get(mapping.history.name)), "history", place)
        name = mapping.history.name
        history = _in_order(_messages(spoken, "history", name, place), "history", name, place)
    return cell, history


def _conversation(
    row: Mapping[str, Any], column: ColumnValue, place: RowPlace
) -> tuple[str | None, list[dict[str, str]]]:
    cell = _structure(_plain(row.get(column.name)), "turns", place)
    if isinstance(cell, str):
        return cell, []
    messages = _messages(cell, "turns", column.name, place)
    if not messages:
        return None, []
    *history, last = messages
    if last["role"] != "user":
        raise place.bad("turns", column.name, last["role"], "a conversation that a user ends")
    _in_order(history, "turns", column.name, place)
    return (last["content"] if last["content"].strip() else None), history


def _messages(cell: Any, field: str, column: str, place: RowPlace) -> list[dict[str, str]]:
    """Messages of a conversation: texts of user and assistant in turn, or objects."""
    if cell is None or cell == []:
        return []
    if not isinstance(cell, Sequence) or isinstance(cell, str):
        raise place.bad(field, column, cell, "a list of texts or of {role, content}")
    messages = []
    for number, message in enumerate(cell):
        role: object = ("user", "assistant")[number % 2]
        content: object = message
        if isinstance(message, Mapping):
            spoken = next((message[name] for name in _SPEAKERS if name in message), None)
            role = _ROLES.get(str(spoken).lower())
            content = next((message[name] for name in _TEXTS if name in message), None)
        if not isinstance(role, str) or not isinstance(content, str):
            shown = list(message) if isinstance(message, Mapping) else type(message).__name__
            raise place.bad(field, column, shown, "texts, or {role, content} of known roles")
        messages.append({"role": role, "content": content})
    return messages


def _in_order(
    history: list[dict[str, str]], field: str, column: str, place: RowPlace
) -> list[dict[str, str]]:
    if not takes_turns([Turn.model_validate(turn) for turn in history]):
        raise place.bad(field, column, [turn["role"] for turn in history], TURNS)
    return history
