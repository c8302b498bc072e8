"""Files that people write in YAML, checked by a pydantic model: what is wrong, in plain words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from casewise.cases._plain_yaml import MAX_BYTES, read_plain_yaml
from casewise.errors import InputError

M = TypeVar("M", bound=BaseModel)
Place = tuple[int | str, ...]
"""Leads from a model to a part of it: names of fields and numbers of entries."""

_FAULT = "casewise"
_EXPECTED = {
    "string_type": "text (quote numbers, dates, yes and no)",
    "string_too_short": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_short": "at least one entry",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number, such as 0.05",
    "finite_number": "a finite number",
}
"""Plain words for pydantic's."""


def read_model(
    path: Path,
    model: type[M],
    what: str,
    known: Sequence[str] = (),
    *,
    most_bytes: int = MAX_BYTES,
    nouns: Mapping[str, str] | None = None,
    expected: Mapping[str, str] | None = None,
) -> M:
    """Read a YAML file that a person wrote by hand, as a model.

    Args:
        path: The file.
        model: What stands in it; it should forbid other fields.
        what: What the file is in a message: ``card``, ``script``.
        known: Names that could have been given in place of a file.
        most_bytes: The largest file.
        nouns: What an entry of a list is called; else it is a record of the list's name.
        expected: What is expected of single fields, where pydantic's words say too little.

    Raises:
        InputError: The file can't be used; the message names file, record and field.
    """
    data = read_plain_yaml(path, what, known, most_bytes=most_bytes)
    if not isinstance(data, dict):
        fields = f"a mapping of {', '.join(model.model_fields)}"
        raise InputError(f"not a {what}", file=path, found=data, expected=fields)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    raise _explain(details, model, path, nouns or {}, expected or {})


def fault(
    problem: str, *place: int | str, found: object = ..., expected: str | None = None
) -> PydanticCustomError:
    """A fault for a model's own validators to raise; ``place`` leads from there to where it is."""
    detail = {"problem": problem, "place": place, "found": found, "expected": expected}
    return PydanticCustomError(_FAULT, "{problem}", detail)


def _explain(
    details: list[ErrorDetails],
    model: type[BaseModel],
    path: Path,
    nouns: Mapping[str, str],
    expectations: Mapping[str, str],
) -> InputError:
    """Name file, record and field of one error; a misspelt name before what is missing for it."""
    detail = next((one for one in details if one["type"] == "extra_forbidden"), details[0])
    place, part, at = _follow(model, detail["loc"], unknown=detail["type"] == "extra_forbidden")
    if detail["type"] == _FAULT:
        own = detail["ctx"]
        place = (*place, *own["place"])
        at = next((index for index, one in enumerate(place) if isinstance(one, int)), None)
        problem, found, expected = own["problem"], own["found"], own["expected"]
    else:
        problem, found, expected = _words(detail, place, part, expectations)
    record, place = _record(place, at, nouns)
    name = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in place)
    return InputError(
        problem,
        file=path,
        record=record,
        field=name.removeprefix(".") or None,
        found=found,
        expected=expected,
    )


def _words(
    detail: ErrorDetails, place: Place, part: type[BaseModel], expectations: Mapping[str, str]
) -> tuple[str, object, str | None]:
    """What is wrong, what was found (``...`` where that says nothing), what was expected."""
    kind = detail["type"]
    if kind == "missing":
        return "the field is missing", ..., None
    if kind == "extra_forbidden":
        return "unknown field", ..., f"one of {', '.join(part.model_fields)}"
    names = [one for one in place if isinstance(one, str)]
    said = next((expectations[name] for name in names if name in expectations), None)
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    # A query is never shown; whatever stands in its place is.
    hidden = names[-1:] == ["query"] and isinstance(detail["input"], str)
    return "wrong value", ... if hidden else detail["input"], said or _EXPECTED.get(kind) or message


def _record(place: Place, at: int | None, nouns: Mapping[str, str]) -> tuple[str | None, Place]:
    """An entry of a list on the way, in words, and the way on from there."""
    if at is None:
        return None, place
    name, number = ".".join(map(str, place[:at])), int(place[at]) + 1
    noun = nouns.get(name)
    return f"{noun} {number}" if noun else f"{name}, record {number}", place[at + 1 :]


def _follow(
    model: type[BaseModel], loc: Place, *, unknown: bool
) -> tuple[Place, type[BaseModel], int | None]:
    """What of pydantic's path stands in the file, the innermost model, and where a record begins.

    Where a field takes one of several types, pydantic's path also names the type that it tried.
    """
    kept: list[int | str] = []
    part, holds, at = model, cast("Any", Any), None
    for one in loc:
        fields = part.model_fields
        if isinstance(one, int):
            if at is None and (_model_in(holds) is not None or _values_in(holds) is not None):
                at = len(kept)
        elif _values_in(holds) is not None:
            holds = _values_in(holds)
        elif one in fields and (holds is Any or _model_in(holds) is part):
            holds = fields[one].annotation
        elif not unknown:
            continue
        kept.append(one)
        part = _model_in(holds) or part
    return tuple(kept), part, at


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in a type such as ``tuple[Question, ...]`` or ``Context | None``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is dict:
        return None
    return next((found for one in get_args(annotation) if (found := _model_in(one))), None)


def _values_in(annotation: Any) -> Any:
    """What a mapping in a type such as ``list[dict[str, int]]`` holds; None: it holds none."""
    if get_origin(annotation) is dict:
        return get_args(annotation)[1]
    return next((found for one in get_args(annotation) if (found := _values_in(one))), None)
