"""Files that people write in YAML: read, checked by a pydantic model, faults named in place."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import AfterValidator, BaseModel, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from casewise.errors import InputError, one_of
from casewise.files.text import read_text


class YamlLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML's safe loader, refusing a key that stands twice in one mapping."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """A mapping whose keys are texts, each once."""
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                fault = "stands twice" if isinstance(key, str) else "is not text: quote it"
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} {fault}", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def yaml_problem(error: yaml.YAMLError, path: Path) -> InputError:
    """Error of a file that is not YAML."""
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", "") or "unreadable"
    place = f"line {mark.line + 1}" if mark else None
    return InputError(f"not valid YAML: {problem}", path, place)


MAX_BYTES = 1_000_000
MAX_DEPTH = 20
"""Lists and mappings inside one another; a card needs six."""


def read_plain_yaml(
    path: Path, what: str, known: Sequence[str] = (), *, most_bytes: int = MAX_BYTES
) -> Any:
    """Read a YAML file that a person wrote by hand, and refuse what no person would.

    Args:
        path: The file.
        what: What it is in a message: ``card``, ``script``.
        known: Names that could have been given in place of a file.
        most_bytes: The largest file; more for what is partly written by a program.

    Raises:
        InputError: No such file; too large, too deep, no YAML; aliases or tags, which make a
            small file large or endless.
    """
    try:
        size = path.stat().st_size
    except OSError:
        names = f", or one of {', '.join(known)}" if known else ""
        expected = f"a YAML file{names}"
        raise InputError(f"no such {what}", path, expected=expected) from None
    if size > most_bytes:
        raise InputError(
            f"too large for a {what}", path, found=size, expected=f"at most {most_bytes} bytes"
        )
    text = read_text(path)
    try:
        _check_events(text, path)
        return yaml.load(text, Loader=YamlLoader)
    except yaml.YAMLError as error:
        raise yaml_problem(error, path) from None
    except ValueError as error:  # a date such as 2026-02-31, a number of thousands of digits
        raise InputError(f"not valid YAML: {error}; quote it", path) from None


def _check_events(text: str, path: Path) -> None:
    """Refuse aliases, tags and deep nesting, which make a small file large or endless."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=YamlLoader):
        place = f"line {event.start_mark.line + 1}"
        if isinstance(event, yaml.AliasEvent):
            expected = "the text itself where it is used"
            raise InputError(
                "a YAML alias", path, place, found=f"*{event.anchor}", expected=expected
            )
        if getattr(event, "tag", None):
            raise InputError("a YAML tag", path, place, found=event.tag)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InputError("nested too deeply", path, place)


M = TypeVar("M", bound=BaseModel)
Place = tuple[int | str, ...]
"""Path from a model to a part of it: names of fields and numbers of entries."""

_FAULT = "casewise"
_EXPECTED = {
    "string_type": "text (quote numbers, dates, yes and no)",
    "string_too_short": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "too_short": "at least one entry",
    "too_long": "a shorter list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "invalid-json-value": "text, a number, true, false, a list or a mapping (quote dates)",
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
) -> M:
    """Read a YAML file that a person wrote by hand, as a model.

    Args:
        path: The file.
        model: What stands in it; it should forbid other fields.
        what: What the file is in a message: ``card``, ``script``.
        known: Names that could have been given in place of a file.
        most_bytes: The largest file.
        nouns: What an entry of a list is called; else it is a record of the list's name.

    Raises:
        InputError: The file can't be used; the message names file, record and field.
    """
    data = read_plain_yaml(path, what, known, most_bytes=most_bytes)
    return check_model(data, model, path, what, nouns=nouns)


def check_model(
    data: Any,
    model: type[M],
    path: Path,
    what: str,
    *,
    record: str | None = None,
    nouns: Mapping[str, str] | None = None,
) -> M:
    """Check what a file holds, or would hold, as ``read_model`` does.

    Args:
        data: What stands in the file, or in one record of it.
        model: What it should be.
        path: The file.
        what: What it is in a message.
        record: Place of the record; None takes ``data`` for the whole file.
        nouns: As in ``read_model``.

    Raises:
        InputError: It doesn't fit the model.
    """
    if not isinstance(data, dict):
        fields = f"a mapping of {', '.join(model.model_fields)}"
        raise InputError(f"not a {what}", path, record, found=data, expected=fields)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        details = error.errors(include_url=False)
    # An unknown field goes before a missing one.
    detail = next((entry for entry in details if entry["type"] == "extra_forbidden"), details[0])
    place, part = _place_of(detail, model, data)
    if detail["type"] == _FAULT:
        own = detail["ctx"]
        place = (*place, *own["place"])
        problem, value, wanted = own["problem"], own["found"], own["expected"]
    else:
        problem, value, wanted = problem_of(detail, part.model_fields, _EXPECTED)
        unknown = detail["type"] == "extra_forbidden" and detail["input"] is None
        if unknown and not str(place[-1]).isidentifier():
            # YAML's {what: Fines, and how to pay.} has two fields.
            problem += "; a text with a comma needs quotes"
    if record is None:
        record, place = _record(place, nouns or {}, is_entry=detail["type"] != _FAULT)
    field = field_path(place) or None
    raise InputError(problem, path, record, field=field, found=value, expected=wanted)


def _place_of(
    detail: ErrorDetails, model: type[BaseModel], data: Any
) -> tuple[Place, type[BaseModel]]:
    """Path of a fault in the file, and its innermost model.

    Where a field takes one of several types, pydantic's path also names the type that it tried.
    """
    steps: list[int | str] = []
    part, value = model, data
    for number, step in enumerate(detail["loc"], start=1):
        try:
            value = value[step]
        except (TypeError, LookupError):
            if detail["type"] != "missing" or number < len(detail["loc"]):
                continue
        steps.append(step)
        if step in part.model_fields:
            part = _model_in(part.model_fields[str(step)].annotation) or part
    return tuple(steps), part


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Model within a type such as ``tuple[Question, ...]`` or ``Context | None``; else None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)


def _record(place: Place, nouns: Mapping[str, str], *, is_entry: bool) -> tuple[str | None, Place]:
    """Record on the path, in words, and the rest of the path; the last entry may be no record."""
    at = next((n for n, step in enumerate(place) if isinstance(step, int)), None)
    if at is None:
        return None, place
    name, number = ".".join(map(str, place[:at])), int(place[at]) + 1
    noun = nouns.get(name)
    if noun is None and is_entry and at + 1 == len(place):
        return None, place
    return f"{noun} {number}" if noun else f"{name}, record {number}", place[at + 1 :]


def fault(
    problem: str, *place: int | str, found: object = ..., expected: str | None = None
) -> PydanticCustomError:
    """Error for a model's own validators; ``place`` is the path from the validator's value."""
    detail = {"problem": problem, "place": place, "found": found, "expected": expected}
    return PydanticCustomError(_FAULT, "{problem}", detail)


def _checked_name(value: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*", value):
        raise fault("wrong value", found=value, expected="letters, digits, '.', '_' and '-' only")
    return value


Name = Annotated[str, AfterValidator(_checked_name)]
"""A name that may stand in a file's name."""


def field_path(place: Iterable[int | str]) -> str:
    """Path of a field in words: ``votes[0].verdict``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")


def problem_of(
    detail: ErrorDetails, known: Iterable[str], words: Mapping[str, str]
) -> tuple[str, object, str | None]:
    """Problem, value that was found (``...`` where that says nothing), what was expected.

    Args:
        detail: One of pydantic's errors.
        known: Names of the fields that there are.
        words: Plain words for pydantic's, by the type of error.
    """
    kind = detail["type"]
    if kind == "missing":
        return "the field is missing", ..., None
    if kind == "extra_forbidden":
        return "unknown field", ..., one_of(str(detail["loc"][-1]), known)
    # A query is never shown; whatever stands in its place is.
    hidden = detail["loc"][-1:] == ("query",) and isinstance(detail["input"], str)
    return "wrong value", ... if hidden else detail["input"], words.get(kind) or expectation(detail)


def expectation(detail: ErrorDetails) -> str:
    """Expected value in the words of one of pydantic's errors."""
    return detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
