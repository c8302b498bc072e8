"""Replies that people labelled by hand, as a file holds them."""

import json
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from casewise.cases import read_text
from casewise.errors import InputError
from casewise.protocols import ResponseClass

LABEL: Final = "label"
"""The usual name of the field that holds the hand label."""


class LabelledReply(BaseModel):
    """One reply with its hand label; other fields of its record are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(min_length=1)
    query: str | None
    """What the reply answers, where it is known. Replies to one query are not independent."""
    reply: str
    label: ResponseClass
    """What people say that the reply does."""
    context: JsonValue = None
    """What is known of the situation: a model that grades sees it."""

    @property
    def situation(self) -> str | None:
        """The context as text."""
        if self.context is None or isinstance(self.context, str):
            return self.context
        return json.dumps(self.context, ensure_ascii=False)


_EXPECTED = {
    "id": "text that is not empty",
    "query": "text, or null",
    "reply": "text",
    LABEL: ", ".join(ResponseClass),
}


def load_labelled(path: Path | str, label: str = LABEL) -> tuple[LabelledReply, ...]:
    """Load labelled replies: JSON Lines with ``id``, ``query``, ``reply`` and ``label``.

    Args:
        path: The file.
        label: The field that holds the hand label, where a record has several.

    Raises:
        InputError: The file or one of its records can't be used.
    """
    path = Path(path)
    replies: dict[str, LabelledReply] = {}
    # Lines end at line feeds alone: a reply may hold U+2028.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            one = _parse(line, label, path, f"line {number}")
            if one.id in replies:
                raise InputError(
                    "duplicate id", file=path, record=f"line {number}", field="id", found=one.id
                )
            replies[one.id] = one
    return tuple(replies.values())


def _parse(line: str, label: str, path: Path, place: str) -> LabelledReply:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        for key in keys:
            if keys.count(key) > 1:
                raise InputError("the key stands twice", file=path, record=place, field=key)
        return dict(pairs)

    try:
        record = json.loads(line, object_pairs_hook=unique)
    except RecursionError:
        raise InputError("nested too deeply", file=path, record=place) from None
    except ValueError as error:
        raise InputError(f"not valid JSON: {error}", file=path, record=place) from None
    if isinstance(record, dict) and label != LABEL:
        record.pop(LABEL, None)
        if label in record:
            record[LABEL] = record[label]
    try:
        return LabelledReply.model_validate(record)
    except ValidationError as error:
        raise _explain(error.errors()[0], label, path, place) from None


def _explain(error: ErrorDetails, label: str, path: Path, place: str) -> InputError:
    name = str(error["loc"][0]) if error["loc"] else ""
    field = label if name == LABEL else name or None
    expected = _EXPECTED.get(name, f"an object with {', '.join(_EXPECTED)}" if not name else "JSON")
    if error["type"] == "missing":
        problem = "the field is missing"
        return InputError(problem, file=path, record=place, field=field, expected=expected)
    return InputError(
        "wrong value", file=path, record=place, field=field, found=error["input"], expected=expected
    )
