"""One row of somebody's table, through a mapping, as the fields of a case."""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casewise.cases._case import RatingRule, Ratings
from casewise.cases._grids import as_number, items, plain, printed, written
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
from casewise.cases._yaml_files import said
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
    "developer": "system",
    "tool": "tool",
}
"""Roles by the names of speakers in data sets."""

_TEXTS = ("content", "value", "text")
_SPEAKERS = ("role", "from", "speaker")
_OF_TOOLS = ("tool_calls", "tool_call_id")


@dataclass(frozen=True, slots=True)
class MappedRow:
    """A row of a table and the mapping that it is read through."""

    cells: Mapping[str, Any]
    mapping: CaseMapping
    file: Path
    record: str
    """Place of the row in its file: ``row 3``."""
    decimal: str | None = None
    """Decimal mark of numbers in text; None tells by the number."""

    @property
    def is_wanted(self) -> bool:
        """Tell whether the row passes the mapping's filter."""
        cells = ((self._cell(name), wanted) for name, wanted in self.mapping.where.items())
        return all(cell is not None and as_key(cell) in wanted for cell, wanted in cells)

    def case_fields(self) -> dict[str, Any] | None:
        """The fields of the row's case, those without a value left out; None without a query.

        Raises:
            InputError: A cell can't be what the mapping takes it for.
        """
        mapping = self.mapping
        query, history = self._query_and_history()
        if query is None:
            return None
        fields: dict[str, Any] = {"query": query, "history": history}
        for name in ("id", "query_id", "category", "language", "source", "licence"):
            value = getattr(mapping, name)
            fields[name] = self._text(value, name)
            if fields[name] is None and name in ("source", "licence"):
                column = value.name if isinstance(value, ColumnValue) else None
                raise self._wrong(name, column, None, "text: it stays on every case")
        fields["context"] = self._context()
        tags = [self._tag(tag) for tag in mapping.tags]
        if isinstance(mapping.intended, Constant):
            fields["intended"] = mapping.intended.value
        elif mapping.intended is not None:
            fields["intended"], label = self._side_and_label(mapping.intended, "intended")
            if fields["intended"] is None and label is not None:
                # A label that means neither side is kept all the same.
                tags.append(f"label:{label}")
        fields["tags"] = list(dict.fromkeys(tag for tag in tags if tag is not None))
        fields["votes"] = self._votes()
        if mapping.published_safe_rate is not None:
            fields["published_safe_rate"] = self._share(mapping.published_safe_rate)
        if mapping.ratings is not None:
            fields |= self._rated(mapping.ratings)
        return {name: value for name, value in fields.items() if value not in (None, [])}

    def why_unlabelled(self) -> str:
        """Reason why the row's case has neither votes nor another label, in words."""
        mapping, ratings = self.mapping, self.mapping.ratings
        labels = (mapping.intended, mapping.votes, mapping.vote, mapping.published_safe_rate)
        given = [value.columns for value in (*labels, mapping.votes_safe, ratings) if value]
        if not given:
            return "the mapping names none for them (intended, votes, published_safe_rate, ratings)"
        filled = [bool(self._filled(columns)) for columns in given]
        if ratings is not None and ratings.rule is None and filled == [True]:
            return "the mapping names no rule for the ratings (rule: sides or position)"
        states = ("is empty", "says neither side")
        reasons = (
            f"{', '.join(columns)} {states[is_filled]}"
            for columns, is_filled in zip(given, filled, strict=True)
        )
        return " and ".join(dict.fromkeys(reasons))

    # --- cells ------------------------------------------------------------------------------

    def _wrong(self, field: str, column: str | None, found: object, expected: str) -> InputError:
        """Error of a cell that can't be a field."""
        problem = f"wrong value in column {column!r}" if column else "wrong value"
        # A query is never shown; whatever stands in its place is.
        shown = ... if field == "query" and isinstance(found, str) else found
        return InputError(
            problem, self.file, self.record, field=field, found=shown, expected=expected
        )

    def _cell(self, column: str) -> Any:
        return plain(self.cells.get(column))

    def _filled(
        self, columns: Sequence[str], separator: str | None = None
    ) -> list[tuple[str, Any]]:
        """Filled cells of several columns, or the items of one cell, each with its column."""
        if len(columns) > 1:
            return [(name, cell) for name in columns if (cell := self._cell(name)) is not None]
        (column,) = columns
        return [(column, item) for item in items(self._cell(column), separator)]

    def _text(self, value: Value | None, field: str) -> str | None:
        if value is None or isinstance(value, Constant):
            return value.value if value else None
        if isinstance(value, ColumnTemplate):
            return self._template(value, field)
        cell = self._cell(value.name)
        if value.join is not None:
            parts = [written(item) for item in items(cell, value.separator)]
            if None not in parts:
                cell = value.join.join(filter(None, parts)) or None
        text = written(cell)
        if text is None and cell is not None:
            expected = "text"
            if isinstance(cell, list):
                expected = f"text (for a list: {{column: {value.name}, join: ', '}})"
            raise self._wrong(field, value.name, cell, expected)
        if text is None or not value.cut:
            return text
        for fixed in value.cut:
            text = text.replace(fixed, "")
        return text.strip() or None

    def _template(self, template: ColumnTemplate, field: str) -> str | None:
        """A template with the row's values in it; None where one of them is empty."""
        texts = {name: self._text(ColumnValue(name, join=", "), field) for name in template.columns}
        if None in texts.values():
            return None
        return PLACES.sub(lambda match: str(texts[match[1]]), template.text)

    def _tag(self, value: Value) -> str | None:
        text = self._text(value, "tags")
        prefix = value.prefix if isinstance(value, ColumnValue) else ""
        return text if text is None else f"{prefix}{text}"

    def _number(self, cell: object, column: str, field: str) -> float:
        try:
            return as_number(cell, self.decimal)
        except ValueError as error:
            raise self._wrong(field, column, cell, str(error)) from None

    # --- labels -----------------------------------------------------------------------------

    def _side(self, cell: object, column: str, choice: Choice, field: str) -> str | None:
        side = choice.meanings.get(as_key(cell))
        if side is None:
            known = ", ".join(map(repr, choice.meanings))
            raise self._wrong(field, column, cell, f"one of {known}")
        return None if side == "none" else side

    def _side_and_label(self, choice: Choice, field: str) -> tuple[str | None, str | None]:
        """The side that a cell means, and the cell; two times None for an empty one."""
        cell = self._cell(choice.columns[0])
        if cell is None:
            return None, None
        return self._side(cell, choice.columns[0], choice, field), str(cell).strip()

    def _votes(self) -> Any:
        mapping = self.mapping
        if mapping.vote is not None:
            side, _ = self._side_and_label(mapping.vote, "vote")
            rater = self._text(mapping.rater, "rater")
            return [{"verdict": side, "rater": rater}] if side is not None else None
        if (choice := mapping.votes) is not None:
            cells = self._filled(choice.columns, choice.separator)
            sides = ((column, self._side(cell, column, choice, "votes")) for column, cell in cells)
            return _vote_rows(sides, choice)
        counts = {side: self._count(f"votes_{side}") for side in ("safe", "unsafe")}
        if set(counts.values()) == {None}:
            return None
        for side, count in counts.items():
            if count is None:
                field = f"votes_{side}"
                column = getattr(mapping, field).name
                raise self._wrong(field, column, None, "both counts, or neither")
        return counts

    def _count(self, field: str) -> int | None:
        column: ColumnValue | None = getattr(self.mapping, field)
        cell = self._cell(column.name) if column else None
        if column is None or cell is None:
            return None
        number = self._number(cell, column.name, field)
        if not number.is_integer() or number < 0:
            raise self._wrong(field, column.name, number, "a whole number, 0 or more")
        return int(number)

    def _share(self, scaled: Scaled) -> float | None:
        (column,) = scaled.columns
        cell = self._cell(column)
        if cell is None:
            return None
        scale = scaled.scale or (0.0, 1.0)
        if isinstance(cell, str) and cell.strip().endswith("%"):
            scale = scaled.scale or (0.0, 100.0)
            cell = cell.strip().removesuffix("%")
        number = self._number(cell, column, "published_safe_rate")
        if not min(scale) <= number <= max(scale):
            expected = f"a share from {scale[0]:g} (nobody) to {scale[1]:g} (all say safe)"
            if scaled.scale is None and 1 < number <= 100:
                expected += f"; for a percentage: {{column: {column}, scale: [0, 100]}}"
            raise self._wrong("published_safe_rate", column, number, expected)
        return (number - scale[0]) / (scale[1] - scale[0])

    def _rated(self, scaled: Scaled) -> dict[str, Any]:
        """Ratings as they are, and what their rule makes of them."""
        cells = self._filled(scaled.columns, scaled.separator)
        if not cells:
            return {}
        values = [self._number(cell, column, "ratings") for column, cell in cells]
        try:
            ratings = Ratings.model_validate(
                {"values": values, "scale": scaled.scale, "rule": scaled.rule}
            )
        except ValidationError as error:
            columns = ", ".join(scaled.columns)
            raise self._wrong("ratings", columns, values, said(error.errors()[0])) from None
        fields: dict[str, Any] = {"ratings": ratings}
        if scaled.rule is RatingRule.POSITION:
            fields["published_safe_rate"] = ratings.position()
        elif scaled.rule is RatingRule.SIDES:
            raters = (column for column, _ in cells)
            fields["votes"] = _vote_rows(zip(raters, ratings.sides(), strict=True), scaled)
        return fields

    # --- contexts and conversations ---------------------------------------------------------

    def _context(self) -> Any:
        if self.mapping.context is not None:
            cell = self._structure(self.mapping.context, "context")
            if cell is not None and not isinstance(cell, dict):
                expected = "a mapping, or JSON of one"
                raise self._wrong("context", self.mapping.context.name, cell, expected)
            # Parquet gives every row all keys, with null for those that it has not.
            return _without_null(cell) or None
        context: dict[str, Any] = {}
        for path, value in self.mapping.parameters.items():
            held = self._parameter(value, f"context.{path}")
            if held in (None, [], {}):
                continue
            *groups, name = path.split(".")
            inner = context
            for group in groups:
                inner = inner.setdefault(group, {})
            inner[name] = held
        return context or None

    def _parameter(self, value: Value, field: str) -> Any:
        """A parameter: a text, or what has parts as it is (roles in a list, a profile, turns)."""
        if isinstance(value, Constant):
            return value.value
        if isinstance(value, ColumnValue) and value.join is None:
            cell = self._cell(value.name)
            if value.separator is not None:
                return _without_null(items(cell, value.separator))
            if isinstance(cell, list | dict):
                return _without_null(cell)
        return self._text(value, field)

    def _structure(self, column: ColumnValue, field: str) -> Any:
        """A cell, as a list or mapping where it holds one as JSON."""
        cell = self._cell(column.name)
        if not isinstance(cell, str) or cell.lstrip()[:1] not in ("[", "{"):
            return cell
        structure = printed(cell)
        if isinstance(structure, str):
            return parse_json(cell, self.file, f"{self.record}, field {field!r}")
        return structure

    def _query_and_history(self) -> tuple[str | None, list[dict[str, Any]]]:
        if self.mapping.turns is not None:
            return self._conversation(self.mapping.turns)
        query, history = self.mapping.query, self.mapping.history
        if isinstance(query, ColumnValue):
            cell = self._cell(query.name)
            is_joined = isinstance(cell, list) and query.join is not None
            if not (is_joined or cell is None or isinstance(cell, str)):
                expected = (
                    "text (for a list of messages: turns; of texts: {column: NAME, join: ', '})"
                )
                raise self._wrong("query", query.name, cell, expected)
        text = self._text(query, "query")
        if history is None:
            return text, []
        messages = self._messages(self._structure(history, "history"), history, "history")
        return text, self._in_order(messages, history, "history")

    def _conversation(self, column: ColumnValue) -> tuple[str | None, list[dict[str, Any]]]:
        cell = self._structure(column, "turns")
        if isinstance(cell, str):
            return cell, []
        messages = self._messages(cell, column, "turns")
        if not messages:
            return None, []
        *history, last = messages
        if last.role != "user":
            expected = "a conversation that a user ends"
            raise self._wrong("turns", column.name, last.role, expected)
        fields = self._in_order(history, column, "turns")
        return (last.content if last.content.strip() else None), fields

    def _messages(self, cell: Any, column: ColumnValue, field: str) -> Sequence[Turn]:
        """Messages of a conversation: texts of user and assistant in turn, or objects."""
        if cell is None:
            return []
        if not isinstance(cell, Sequence) or isinstance(cell, str):
            expected = "a list of texts or of {role, content}"
            raise self._wrong(field, column.name, cell, expected)
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
                expected = "texts, or {role, content} of known roles"
                raise self._wrong(field, column.name, shown, expected)
            messages.append({"role": role, "content": content, **of_tools})
        try:
            return read_turns(messages)
        except ValidationError as error:
            roles = [message["role"] for message in messages]
            raise self._wrong(field, column.name, roles, said(error.errors()[0])) from None

    def _in_order(
        self, history: Sequence[Turn], column: ColumnValue, field: str
    ) -> list[dict[str, Any]]:
        """Earlier turns as JSON values, once their order is checked."""
        if (wrong := find_turn_fault(history)) is not None:
            raise self._wrong(field, column.name, [turn.role for turn in history], wrong)
        return [turn.model_dump(mode="json") for turn in history]


def _vote_rows(
    sides: Iterable[tuple[str, str | None]], label: Choice | Scaled
) -> list[dict[str, str]]:
    """Votes; each is by its column's name where there is a column for each person."""
    several = len(label.columns) > 1
    return [
        {"verdict": side} | ({"rater": column} if several else {})
        for column, side in sides
        if side is not None
    ]


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return written(value) if isinstance(value, datetime.date | Decimal) else value
