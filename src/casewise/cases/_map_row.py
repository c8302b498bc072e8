"""One row of somebody's table, through a mapping, as the fields of a case."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from casewise.cases._case import RatingRule, Ratings
from casewise.cases._grids import RowPlace, as_number, filled_cells, items, plain, printed, written
from casewise.cases._mapping import CaseMapping
from casewise.cases._mapping_values import (
    PLACES,
    Choice,
    ColumnTemplate,
    ColumnValue,
    Constant,
    Scaled,
    Value,
    as_key,
)
from casewise.cases._turn import Turn, find_turn_fault, read_turns
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
    "developer": "system",
    "tool": "tool",
}
"""Names of speakers in data sets."""

_TEXTS = ("content", "value", "text")
_SPEAKERS = ("role", "from", "speaker")
_OF_TOOLS = ("tool_calls", "tool_call_id")


def is_wanted(row: Mapping[str, Any], mapping: CaseMapping) -> bool:
    """Tell whether a row passes the mapping's filter."""
    cells = ((plain(row.get(name)), wanted) for name, wanted in mapping.where.items())
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
    if isinstance(mapping.intended, Constant):
        fields["intended"] = mapping.intended.value
    elif mapping.intended is not None:
        fields["intended"], label = _meaning(row, mapping.intended, "intended", place)
        if fields["intended"] is None and label is not None:
            # A label that means neither side is kept all the same.
            tags.append(f"label:{label}")
    fields["tags"] = list(dict.fromkeys(tag for tag in tags if tag is not None))
    fields["votes"] = _votes(row, mapping, place)
    if mapping.published_safe_rate is not None:
        fields["published_safe_rate"] = _share(row, mapping.published_safe_rate, place)
    if mapping.ratings is not None:
        fields |= _rated(row, mapping.ratings, place)
    return {name: value for name, value in fields.items() if value not in (None, [])}


def why_unlabelled(row: Mapping[str, Any], mapping: CaseMapping) -> str:
    """Why the case of a row has neither votes nor another label, in words."""
    labels = (mapping.intended, mapping.votes, mapping.vote, mapping.published_safe_rate)
    given = [value.columns for value in labels if isinstance(value, Choice | Scaled)]
    if mapping.votes_safe is not None:
        given.append((mapping.votes_safe.name,))
    if mapping.ratings is not None:
        given.append(mapping.ratings.columns)
        if len(given) == 1 and mapping.ratings.rule is None and filled_cells(row, given[0], None):
            return "the mapping names no rule for the ratings (rule: sides or position)"
    if not given:
        return "the mapping names none for them (intended, votes, published_safe_rate, ratings)"
    said = ("is empty", "says neither side")
    reasons = [
        f"{', '.join(columns)} {said[bool(filled_cells(row, columns, None))]}" for columns in given
    ]
    return " and ".join(dict.fromkeys(reasons))


# --- cells ----------------------------------------------------------------------------------


def _name(value: Value | None) -> str | None:
    return value.name if isinstance(value, ColumnValue) else None


def _text(row: Mapping[str, Any], value: Value | None, field: str, place: RowPlace) -> str | None:
    if value is None or isinstance(value, Constant):
        return value.value if value else None
    if isinstance(value, ColumnTemplate):
        return _filled(row, value, field, place)
    cell = plain(row.get(value.name))
    if value.join is not None:
        parts = [written(item) for item in items(cell, value.separator)]
        if None not in parts:
            cell = value.join.join(filter(None, parts)) or None
    text = written(cell)
    if text is None and cell is not None:
        expected = "text"
        if isinstance(cell, list):
            expected = f"text (for a list: {{column: {value.name}, join: ', '}})"
        raise place.bad(field, value.name, cell, expected)
    return _cut(text, value)


def _cut(text: str | None, value: ColumnValue) -> str | None:
    if text is None or not value.cut:
        return text
    for fixed in value.cut:
        text = text.replace(fixed, "")
    return text.strip() or None


def _filled(
    row: Mapping[str, Any], template: ColumnTemplate, field: str, place: RowPlace
) -> str | None:
    """A template with the values of a row; None where one of them is empty."""
    texts = {
        name: _text(row, ColumnValue(name, join=", "), field, place) for name in template.columns
    }
    if None in texts.values():
        return None
    return PLACES.sub(lambda match: str(texts[match[1]]), template.text)


def _tag(row: Mapping[str, Any], value: Value, place: RowPlace) -> str | None:
    text = _text(row, value, "tags", place)
    prefix = value.prefix if isinstance(value, ColumnValue) else ""
    return text if text is None else f"{prefix}{text}"


def _meaning(
    row: Mapping[str, Any], choice: Choice, field: str, place: RowPlace
) -> tuple[str | None, str | None]:
    """The side that a cell means, and the cell; two times None for an empty one."""
    cell = plain(row.get(choice.columns[0]))
    if cell is None:
        return None, None
    return _side(cell, choice.columns[0], choice, field, place), str(cell).strip()


def _side(cell: object, column: str, choice: Choice, field: str, place: RowPlace) -> str | None:
    side = choice.meanings.get(as_key(cell))
    if side is None:
        raise place.bad(field, column, cell, f"one of {choice.known}")
    return None if side == "none" else side


def _number(
    row: Mapping[str, Any], column: ColumnValue, field: str, place: RowPlace
) -> float | None:
    cell = plain(row.get(column.name))
    return None if cell is None else as_number(cell, column.name, field, place)


def _votes(row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace) -> Any:
    if mapping.vote is not None:
        side, _ = _meaning(row, mapping.vote, "vote", place)
        rater = _text(row, mapping.rater, "rater", place)
        return [{"verdict": side, "rater": rater}] if side is not None else None
    if mapping.votes is not None:
        return list(_single_votes(row, mapping.votes, place)) or None
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


def _single_votes(
    row: Mapping[str, Any], choice: Choice, place: RowPlace
) -> Iterator[dict[str, str]]:
    """Votes of a column for each person, with its name; of a list, votes of nobody known."""
    for column, cell in filled_cells(row, choice.columns, choice.separator):
        side = _side(cell, column, choice, "votes", place)
        if side is not None:
            yield {"verdict": side} | ({"rater": column} if len(choice.columns) > 1 else {})


def _share(row: Mapping[str, Any], scaled: Scaled, place: RowPlace) -> float | None:
    (column,) = scaled.columns
    cell = plain(row.get(column))
    if cell is None:
        return None
    percent = isinstance(cell, str) and cell.strip().endswith("%")
    if isinstance(cell, str) and percent:
        cell = cell.strip().removesuffix("%")
    number = as_number(cell, column, "published_safe_rate", place)
    unsafe, safe = scaled.scale or ((0.0, 100.0) if percent else (0.0, 1.0))
    if not min(unsafe, safe) <= number <= max(unsafe, safe):
        expected = f"a share from {unsafe:g} (nobody) to {safe:g} (all say safe)"
        if scaled.scale is None and 1 < number <= 100:
            expected += f"; for a percentage: {{column: {column}, scale: [0, 100]}}"
        raise place.bad("published_safe_rate", column, number, expected)
    return (number - unsafe) / (safe - unsafe)


def _rated(row: Mapping[str, Any], scaled: Scaled, place: RowPlace) -> dict[str, Any]:
    """Ratings as they are, and what their rule makes of them."""
    assert scaled.scale is not None
    cells = filled_cells(row, scaled.columns, scaled.separator)
    if not cells:
        return {}
    values = tuple(as_number(cell, column, "ratings", place) for column, cell in cells)
    try:
        ratings = Ratings(values=values, scale=scaled.scale, rule=scaled.rule)
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise place.bad("ratings", ", ".join(scaled.columns), list(values), problem) from None
    fields: dict[str, Any] = {"ratings": ratings}
    if scaled.rule is RatingRule.POSITION:
        fields["published_safe_rate"] = ratings.position()
    elif scaled.rule is RatingRule.SIDES:
        alone = len(scaled.columns) == 1
        fields["votes"] = [
            {"verdict": side} | ({} if alone else {"rater": column})
            for (column, _), side in zip(cells, ratings.sides(), strict=True)
            if side is not None
        ]
    return fields


# --- contexts and conversations -------------------------------------------------------------


def _context(row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace) -> Any:
    if mapping.context is not None:
        cell = _structure(plain(row.get(mapping.context.name)), "context", place)
        if cell is not None and not isinstance(cell, dict):
            raise place.bad("context", mapping.context.name, cell, "a mapping, or JSON of one")
        # Parquet gives every row all keys, with null for those that it has not.
        return _without_null(cell) or None
    context: dict[str, Any] = {}
    for path, value in mapping.parameters.items():
        held = _parameter(row, value, f"context.{path}", place)
        if held is None or held in ([], {}):
            continue
        *groups, name = path.split(".")
        inner = context
        for group in groups:
            inner = inner.setdefault(group, {})
        inner[name] = held
    return context or None


def _parameter(row: Mapping[str, Any], value: Value, field: str, place: RowPlace) -> Any:
    """A parameter: a text, or what has parts as it is (roles in a list, a profile, turns)."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, ColumnValue) and value.join is None:
        cell = plain(row.get(value.name))
        if value.separator is not None:
            return _without_null(items(cell, value.separator))
        if isinstance(cell, list | dict):
            return _without_null(cell)
    return _text(row, value, field, place)


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return written(value) if isinstance(value, datetime.date | Decimal) else value


def _structure(cell: object, field: str, place: RowPlace) -> Any:
    """A list or mapping, also where a cell holds it as JSON."""
    if isinstance(cell, str) and cell.lstrip()[:1] in ("[", "{"):
        structure = printed(cell)
        if isinstance(structure, str):
            return parse_json(cell, file=place.file, record=f"{place.record}, field {field!r}")
        return structure
    return cell


def _asked(
    row: Mapping[str, Any], mapping: CaseMapping, place: RowPlace
) -> tuple[str | None, list[dict[str, Any]]]:
    """The query and the turns before it."""
    if mapping.turns is not None:
        return _conversation(row, mapping.turns, place)
    column = mapping.query
    assert column is not None
    cell = plain(row.get(column.name)) if isinstance(column, ColumnValue) else None
    if cell is not None and not isinstance(cell, str) and not _joins(column, cell):
        expected = "text (for a list of messages: turns; of texts: {column: NAME, join: ', '})"
        raise place.bad("query", _name(column), cell, expected)
    query = _text(row, column, "query", place)
    history: list[dict[str, Any]] = []
    if mapping.history is not None:
        spoken = _structure(plain(row.get(mapping.history.name)), "history", place)
        name = mapping.history.name
        history = _in_order(_messages(spoken, "history", name, place), "history", name, place)
    return query, history


def _joins(value: Value, cell: object) -> bool:
    return isinstance(cell, list) and isinstance(value, ColumnValue) and value.join is not None


def _conversation(
    row: Mapping[str, Any], column: ColumnValue, place: RowPlace
) -> tuple[str | None, list[dict[str, Any]]]:
    cell = _structure(plain(row.get(column.name)), "turns", place)
    if isinstance(cell, str):
        return cell, []
    messages = _messages(cell, "turns", column.name, place)
    if not messages:
        return None, []
    *history, last = messages
    if last.role != "user":
        raise place.bad("turns", column.name, last.role, "a conversation that a user ends")
    fields = _in_order(history, "turns", column.name, place)
    return (last.content if last.content.strip() else None), fields


def _messages(cell: Any, field: str, column: str, place: RowPlace) -> list[Turn]:
    """Messages of a conversation: texts of user and assistant in turn, or objects."""
    if cell is None or cell == []:
        return []
    if not isinstance(cell, Sequence) or isinstance(cell, str):
        raise place.bad(field, column, cell, "a list of texts or of {role, content}")
    messages = []
    for number, message in enumerate(cell):
        role: object = ("user", "assistant")[number % 2]
        content: object = message
        of_tools: dict[str, Any] = {}
        if isinstance(message, Mapping):
            spoken = next((message[name] for name in _SPEAKERS if name in message), None)
            role = _ROLES.get(str(spoken).lower())
            content = next((message[name] for name in _TEXTS if name in message), None)
            names = (*_OF_TOOLS, "name") if role == "tool" else _OF_TOOLS
            of_tools = {name: message[name] for name in names if message.get(name)}
        if not isinstance(role, str) or not (isinstance(content, str | list) or of_tools):
            shown = list(message) if isinstance(message, Mapping) else type(message).__name__
            raise place.bad(field, column, shown, "texts, or {role, content} of known roles")
        messages.append({"role": role, "content": content, **of_tools})
    try:
        return list(read_turns(messages))
    except ValidationError as error:
        said = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise place.bad(field, column, [message["role"] for message in messages], said) from None


def _in_order(
    history: Sequence[Turn], field: str, column: str, place: RowPlace
) -> list[dict[str, Any]]:
    if (wrong := find_turn_fault(history)) is not None:
        raise place.bad(field, column, [turn.role for turn in history], wrong)
    return [turn.model_dump(mode="json") for turn in history]
