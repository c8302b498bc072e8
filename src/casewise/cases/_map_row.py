"""Fields of a case from one row of a table, by a mapping."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casewise.cases._case import RatingRule, Ratings, Turn, find_turn_fault, read_turns
from casewise.cases._grids import as_number, as_text, items, plain, printed
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
from casewise.cases._yaml_files import expectation
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
_TOOL_KEYS = ("tool_calls", "tool_call_id")


@dataclass(slots=True)
class _Cell:
    """A row's value in a column, as it is read for a field of a case."""

    row: "MappedRow"
    column: str
    field: str
    value: Any
    """None where the cell is empty."""

    def wrong(self, expected: str, found: object = ...) -> InputError:
        """Error of a cell that can't be the field; ``found`` defaults to its value."""
        found = self.value if found is ... else found
        return self.row.wrong(self.field, expected, found, self.column)

    def text(self, value: ColumnValue) -> str | None:
        """Text of the cell, cut and joined as the mapping says; None where it is empty."""
        cell = self.value
        if value.join is not None:
            parts = [as_text(item) for item in items(cell, value.separator)]
            if None not in parts:
                cell = value.join.join(filter(None, parts)) or None
        text = as_text(cell)
        if text is None and cell is not None:
            hint = f" (for a list: {{column: {self.column}, join: ', '}})"
            raise self.wrong("text" + (hint if isinstance(cell, list) else ""), cell)
        if text is None or not value.cut:
            return text
        for fixed in value.cut:
            text = text.replace(fixed, "")
        return text.strip() or None

    def number(self) -> float:
        """Number in the cell."""
        try:
            return as_number(self.value, self.row.decimal)
        except ValueError as error:
            raise self.wrong(str(error)) from None

    def count(self) -> int | None:
        """Whole number in the cell; None where it is empty."""
        if self.value is None:
            return None
        number = self.number()
        if not number.is_integer() or number < 0:
            raise self.wrong("a whole number, 0 or more", number)
        return int(number)

    def side(self, choice: Choice) -> str | None:
        """Side that the cell means; None where it means neither."""
        side = choice.meanings.get(as_key(self.value))
        if side is None:
            raise self.wrong(f"one of {', '.join(map(repr, choice.meanings))}")
        return None if side == "none" else side

    def structure(self) -> Any:
        """The cell, as a list or mapping where it holds one as JSON."""
        text = self.value
        if not isinstance(text, str) or text.lstrip()[:1] not in ("[", "{"):
            return text
        structure = printed(text)
        if isinstance(structure, str):
            row = self.row
            return parse_json(text, row.file, f"{row.record}, field {self.field!r}")
        return structure

    def turns(self) -> Sequence[Turn]:
        """Messages of a conversation: texts of user and assistant in turn, or objects."""
        cell = self.structure()
        if cell is None:
            return ()
        if not isinstance(cell, Sequence) or isinstance(cell, str):
            raise self.wrong("a list of texts or of {role, content}", cell)
        messages = []
        for number, message in enumerate(cell):
            role: object = ("user", "assistant")[number % 2]
            content: object = message
            of_tools: dict[str, Any] = {}
            if isinstance(message, Mapping):
                spoken = next((message[name] for name in _SPEAKERS if name in message), None)
                role = _ROLES.get(str(spoken).lower())
                content = next((message[name] for name in _TEXTS if name in message), None)
                names = (*_TOOL_KEYS, "name") if role == "tool" else _TOOL_KEYS
                of_tools = {name: message[name] for name in names if message.get(name)}
            if not isinstance(role, str) or not (isinstance(content, str | list) or of_tools):
                shown = list(message) if isinstance(message, Mapping) else type(message).__name__
                raise self.wrong("texts, or {role, content} of known roles", shown)
            messages.append({"role": role, "content": content, **of_tools})
        try:
            return read_turns(messages)
        except ValidationError as error:
            roles = [message["role"] for message in messages]
            raise self.wrong(expectation(error.errors()[0]), roles) from None

    def in_order(self, turns: Sequence[Turn]) -> list[dict[str, Any]]:
        """Earlier turns as JSON values, once their order is checked."""
        if (fault := find_turn_fault(turns)) is not None:
            raise self.wrong(fault, [turn.role for turn in turns])
        return [turn.model_dump(mode="json") for turn in turns]


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

    def _cell(self, column: str, field: str) -> _Cell:
        return _Cell(self, column, field, plain(self.cells.get(column)))

    def _filled(
        self, columns: Sequence[str], field: str, separator: str | None = None
    ) -> list[_Cell]:
        """Filled cells of several columns, or one for each item in the cell of a single one."""
        cells = [self._cell(column, field) for column in columns]
        if len(cells) == 1:
            values = items(cells[0].value, separator)
            return [replace(cells[0], value=value) for value in values]
        return [cell for cell in cells if cell.value is not None]

    def wrong(
        self, field: str, expected: str, found: object, column: str | None = None
    ) -> InputError:
        """Error of a row that doesn't give a field."""
        problem = f"wrong value in column {column!r}" if column else "wrong value"
        # A query is never shown; whatever stands in its place is.
        shown = ... if field == "query" and isinstance(found, str) else found
        return InputError(
            problem, self.file, self.record, field=field, found=shown, expected=expected
        )

    @property
    def is_wanted(self) -> bool:
        """Tell whether the row passes the mapping's filter."""
        cells = ((plain(self.cells.get(name)), keys) for name, keys in self.mapping.where.items())
        return all(value is not None and as_key(value) in keys for value, keys in cells)

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
                raise self.wrong(name, "text: it stays on every case", None, column)
        fields["context"] = self._context()
        tags = [self._tag(tag) for tag in mapping.tags]
        if isinstance(mapping.intended, Constant):
            fields["intended"] = mapping.intended.value
        elif mapping.intended is not None:
            label = self._cell(mapping.intended.columns[0], "intended")
            if label.value is not None:
                fields["intended"] = label.side(mapping.intended)
                if fields["intended"] is None:
                    # A label that means neither side is kept all the same.
                    tags.append(f"label:{str(label.value).strip()}")
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
        columns = [label.columns for label in (*labels, mapping.votes_safe, ratings) if label]
        if not columns:
            return "the mapping names none for them (intended, votes, published_safe_rate, ratings)"
        reasons: dict[str, None] = {}
        for names in columns:
            filled = self._filled(names, "label")
            if filled and len(columns) == 1 and ratings is not None and ratings.rule is None:
                return "the mapping names no rule for the ratings (rule: sides or position)"
            reasons[f"{', '.join(names)} {'says neither side' if filled else 'is empty'}"] = None
        return " and ".join(reasons)

    def _text(self, value: Value | None, field: str) -> str | None:
        """Text of a value of the mapping; None where it, or a part of a template, is empty."""
        if isinstance(value, ColumnValue):
            return self._cell(value.name, field).text(value)
        if not isinstance(value, ColumnTemplate):
            return value.value if value else None
        texts = {name: self._text(ColumnValue(name, join=", "), field) for name in value.columns}
        if None in texts.values():
            return None
        return PLACES.sub(lambda match: str(texts[match[1]]), value.text)

    def _tag(self, value: Value) -> str | None:
        text = self._text(value, "tags")
        prefix = value.prefix if isinstance(value, ColumnValue) else ""
        return text if text is None else f"{prefix}{text}"

    # --- labels -----------------------------------------------------------------------------

    def _votes(self) -> Any:
        mapping = self.mapping
        if mapping.vote is not None:
            cell = self._cell(mapping.vote.columns[0], "vote")
            side = None if cell.value is None else cell.side(mapping.vote)
            rater = self._text(mapping.rater, "rater")
            return None if side is None else [{"verdict": side, "rater": rater}]
        if mapping.votes is not None:
            votes = mapping.votes
            cells = self._filled(votes.columns, "votes", votes.separator)
            return _vote_rows(cells, [cell.side(votes) for cell in cells], votes)
        if mapping.votes_safe is None or mapping.votes_unsafe is None:
            return None
        cells = [
            self._cell(mapping.votes_safe.name, "votes_safe"),
            self._cell(mapping.votes_unsafe.name, "votes_unsafe"),
        ]
        counts = [cell.count() for cell in cells]
        if counts == [None, None]:
            return None
        for cell in cells:
            if cell.value is None:
                raise cell.wrong("both counts, or neither")
        return dict(zip(("safe", "unsafe"), counts, strict=True))

    def _share(self, scaled: Scaled) -> float | None:
        cell = self._cell(scaled.columns[0], "published_safe_rate")
        if cell.value is None:
            return None
        unsafe, safe = scaled.scale or (0.0, 1.0)
        if isinstance(cell.value, str) and cell.value.strip().endswith("%"):
            unsafe, safe = scaled.scale or (0.0, 100.0)
            cell = replace(cell, value=cell.value.strip().removesuffix("%"))
        number = cell.number()
        if not min(unsafe, safe) <= number <= max(unsafe, safe):
            expected = f"a share from {unsafe:g} (nobody) to {safe:g} (all say safe)"
            if scaled.scale is None and 1 < number <= 100:
                expected += f"; for a percentage: {{column: {cell.column}, scale: [0, 100]}}"
            raise cell.wrong(expected, number)
        return (number - unsafe) / (safe - unsafe)

    def _rated(self, scaled: Scaled) -> dict[str, Any]:
        """Fields that ratings give: themselves, and the votes or the rate that their rule makes."""
        cells = self._filled(scaled.columns, "ratings", scaled.separator)
        if not cells:
            return {}
        values = [cell.number() for cell in cells]
        rated = {"values": values, "scale": scaled.scale, "rule": scaled.rule}
        try:
            ratings = Ratings.model_validate(rated)
        except ValidationError as error:
            expected, columns = expectation(error.errors()[0]), ", ".join(scaled.columns)
            raise self.wrong("ratings", expected, values, columns) from None
        fields: dict[str, Any] = {"ratings": ratings}
        if scaled.rule is RatingRule.POSITION:
            fields["published_safe_rate"] = ratings.position()
        elif scaled.rule is RatingRule.SIDES:
            fields["votes"] = _vote_rows(cells, ratings.sides(), scaled)
        return fields

    # --- contexts and conversations ---------------------------------------------------------

    def _context(self) -> Any:
        if self.mapping.context is not None:
            cell = self._cell(self.mapping.context.name, "context")
            whole = cell.structure()
            if not isinstance(whole, dict | None):
                raise cell.wrong("a mapping, or JSON of one", whole)
            # Parquet gives every row all keys, with null for those that it has not.
            return _without_null(whole) or None
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
        if isinstance(value, ColumnValue) and value.join is None:
            cell = plain(self.cells.get(value.name))
            if value.separator is not None:
                return _without_null(items(cell, value.separator))
            if isinstance(cell, list | dict):
                return _without_null(cell)
        return self._text(value, field)

    def _query_and_history(self) -> tuple[str | None, list[dict[str, Any]]]:
        if self.mapping.turns is not None:
            return _conversation(self._cell(self.mapping.turns.name, "turns"))
        query, history = self.mapping.query, self.mapping.history
        if isinstance(query, ColumnValue):
            cell = self._cell(query.name, "query")
            is_joined = isinstance(cell.value, list) and query.join is not None
            if not is_joined and not isinstance(cell.value, str | None):
                raise cell.wrong(
                    "text (for a list of messages: turns; of texts: {column: NAME, join: ', '})"
                )
        text = self._text(query, "query")
        if history is None:
            return text, []
        cell = self._cell(history.name, "history")
        return text, cell.in_order(cell.turns())


def _conversation(cell: _Cell) -> tuple[str | None, list[dict[str, Any]]]:
    """Query and history in a cell that holds a query, or a conversation that ends in it."""
    query = cell.structure()
    if isinstance(query, str):
        return query, []
    turns = cell.turns()
    if not turns:
        return None, []
    *history, last = turns
    if last.role != "user":
        raise cell.wrong("a conversation that a user ends", last.role)
    return (last.content if last.content.strip() else None), cell.in_order(history)


def _vote_rows(
    cells: Sequence[_Cell], sides: Sequence[str | None], label: Choice | Scaled
) -> list[dict[str, str]]:
    """Votes; each is by its column's name where there is a column for each person."""
    several = len(label.columns) > 1
    return [
        {"verdict": side} | ({"rater": cell.column} if several else {})
        for cell, side in zip(cells, sides, strict=True)
        if side is not None
    ]


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_null(inner) for inner in value]
    return as_text(value) if isinstance(value, datetime.date | Decimal) else value
