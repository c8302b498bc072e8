"""What is wrong with a study file, in plain words."""

from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails, PydanticCustomError

from casewise.errors import InputError

_EXPECTED = {
    "string_type": "text (quote numbers, dates, yes and no)",
    "tuple_type": "a list",
    "too_short": "at least one entry",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
}
"""Plain words for pydantic's."""


def fault(
    problem: str, *loc: int | str, found: object = ..., expected: str | None = None
) -> PydanticCustomError:
    """A fault for validators to raise; ``loc`` leads from their model to where it is."""
    detail = {"problem": problem, "loc": loc, "found": found, "expected": expected}
    return PydanticCustomError("study", "{problem}", detail)


def explain(details: list[ErrorDetails], model: type[BaseModel], path: Path) -> InputError:
    """Name file, record and field of one error; a misspelt name before what is missing for it."""
    detail = next((one for one in details if one["type"] == "extra_forbidden"), details[0])
    own = detail.get("ctx", {}) if detail["type"] == "study" else {}
    loc = (*detail["loc"], *own.get("loc", ()))
    problem, found, expected = _words(detail, model)
    if own:
        problem, found, expected = own["problem"], own["found"], own["expected"]
    at = next((place for place, part in enumerate(loc) if isinstance(part, int)), None)
    record = None
    if at is not None:
        record = f"{'.'.join(map(str, loc[:at]))}, record {int(loc[at]) + 1}"
        loc = loc[at + 1 :]
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return InputError(
        problem,
        file=path,
        record=record,
        field=name.removeprefix(".") or None,
        found=found,
        expected=expected,
    )


def _words(detail: ErrorDetails, model: type[BaseModel]) -> tuple[str, object, str | None]:
    """What is wrong, what was found (``...`` where that says nothing), what was expected."""
    kind = detail["type"]
    if kind == "missing":
        return "the field is missing", ..., None
    if kind == "extra_forbidden":
        names = _fields_at(model, detail["loc"][:-1])
        return "unknown field", ..., f"one of {', '.join(names)}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    # What stands in a list or mapping is long, and may be a query.
    found = detail["input"] if not isinstance(detail["input"], dict | list) else ...
    if detail["loc"][-1:] == ("query",):
        found = ...
    return "wrong value", found, _EXPECTED.get(kind) or message


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """The names that the part of a model at a place takes."""
    for part in loc:
        if isinstance(part, str) and part in model.model_fields:
            model = _part_of(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _part_of(annotation: Any) -> type[BaseModel] | None:
    """The model in a type such as ``tuple[Question, ...]`` or ``Context | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for one in get_args(annotation) if (found := _part_of(one))), None)
