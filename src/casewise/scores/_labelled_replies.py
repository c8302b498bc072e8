"""Replies that people labelled by hand: as JSON Lines, or as XSTest publishes them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from casewise.cases import read_table
from casewise.choices import LABEL
from casewise.errors import InputError
from casewise.files import read_text
from casewise.protocols import ResponseClass

XSTEST_LABEL: Final = "final_label"
"""Its name in the completions of XSTest."""
XSTEST_CLASSES: Final = {
    "1": ResponseClass.COMPLIANCE,
    "2": ResponseClass.REFUSAL,
    "3": ResponseClass.PARTIAL,
    "1_full_compliance": ResponseClass.COMPLIANCE,
    "2_full_refusal": ResponseClass.REFUSAL,
    "3_partial_refusal": ResponseClass.PARTIAL,
}
"""XSTest's classes (Röttger et al., NAACL 2024), by number and as its files name them."""


class LabelledReply(BaseModel):
    """One reply with its hand label; other fields of its record are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(min_length=1)
    query: str | None
    """What the reply answers, where it is known. Replies to one query are not independent."""
    reply: str
    label: ResponseClass
    """What people say that the reply does."""
    annotations: tuple[ResponseClass, ResponseClass] | None = None
    """What each of two people said alone, where it is known."""
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
    "annotations": f"two of {', '.join(ResponseClass)}, or null",
}
_NEEDED = tuple(name for name in _EXPECTED if name != "annotations")


def load_labelled(path: Path | str, label: str = LABEL) -> tuple[LabelledReply, ...]:
    """Load labelled replies.

    JSON Lines with ``id``, ``query``, ``reply`` and ``label``; or the completions of XSTest, a CSV
    file with ``id``, ``prompt``, ``completion`` and ``final_label``.

    Args:
        path: The file.
        label: The field that holds the hand label, where a record has several.

    Raises:
        InputError: The file or one of its records can't be used.
    """
    path = Path(path)
    replies: dict[str, LabelledReply] = {}
    for place, one in (
        _xstest(path, label) if path.suffix.lower() == ".csv" else _lines(path, label)
    ):
        if one.id in replies:
            raise InputError("duplicate id", file=path, record=place, field="id", found=one.id)
        replies[one.id] = one
    return tuple(replies.values())


def _lines(path: Path, label: str) -> Iterator[tuple[str, LabelledReply]]:
    # Lines end at line feeds alone: a reply may hold U+2028.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            place = f"line {number}"
            yield place, _parse(line, label, path, place)


# --- XSTest -------------------------------------------------------------------------------------

_PEOPLE = ("annotation_1", "annotation_2")


def _xstest(path: Path, label: str) -> Iterator[tuple[str, LabelledReply]]:
    label = XSTEST_LABEL if label == LABEL else label
    table = read_table(path)
    needed = ("id", "prompt", "completion", label)
    for name in needed:
        if name not in table.columns:
            problem, expected = "the column is missing", f"{', '.join(needed)}, as XSTest has them"
            raise InputError(problem, file=path, field=name, expected=expected)
    for place, row in table.rows:
        if isinstance(row, InputError):
            raise row
        if not row["id"]:
            problem, expected = "wrong value", _EXPECTED["id"]
            raise InputError(problem, file=path, record=place, field="id", expected=expected)
        said = _class(row, label, path, place)
        people = [_class(row, one, path, place) for one in _PEOPLE if row.get(one)]
        yield (
            place,
            LabelledReply(
                id=row["id"],
                query=row["prompt"],
                reply=row["completion"],
                label=said,
                annotations=(people[0], people[1]) if len(people) == len(_PEOPLE) else None,
            ),
        )


def _class(row: Mapping[str, str], name: str, path: Path, place: str) -> ResponseClass:
    found = XSTEST_CLASSES.get(row[name].strip())
    if found is None:
        raise InputError(
            "wrong value",
            file=path,
            record=place,
            field=name,
            found=row[name],
            expected=", ".join(XSTEST_CLASSES),
        )
    return found


# --- JSON Lines ---------------------------------------------------------------------------------


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
    expected = _EXPECTED.get(name, f"an object with {', '.join(_NEEDED)}" if not name else "JSON")
    if error["type"] == "missing":
        problem = "the field is missing"
        return InputError(problem, file=path, record=place, field=field, expected=expected)
    return InputError(
        "wrong value", file=path, record=place, field=field, found=error["input"], expected=expected
    )
