"""Read the file of a sweep, and name what is wrong with it."""

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from casewise.cases import fault, read_model
from casewise.choices import MAX_SEED, Sampling, protocol_names
from casewise.errors import InputError
from casewise.evaluation.models._faults import refuse_password, refuse_secret
from casewise.evaluation.models._target import load_target
from casewise.evaluation.plan._plan import NONE
from casewise.evaluation.plan._sampling import check_settings, check_taken
from casewise.protocols import Delivery


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _none_or_text(value: Any) -> Any:
    return NONE if value is None else value


def _as_model(value: Any) -> Any:
    return {"model": value} if isinstance(value, str) else value


def _protocol(name: str) -> str:
    if name not in protocol_names():
        expected = " or ".join(map(repr, protocol_names()))
        raise fault("no such protocol", found=name, expected=expected)
    return name


Item = TypeVar("Item")
OneOrMore = Annotated[list[Item], BeforeValidator(_as_list), Field(min_length=1)]
Text = Annotated[str, Field(min_length=1)]
Texts = OneOrMore[Text]
Changes = OneOrMore[Annotated[Text, BeforeValidator(_none_or_text)]]
Count = Annotated[int, Field(strict=True, ge=1)]
Price = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Seed = Annotated[int, Field(strict=True, ge=0, le=MAX_SEED)]
Rule = dict[str, Annotated[list[Any], BeforeValidator(_as_list)]]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelEntry(_Part):
    """A model, and how it is reached."""

    model: Text | None = None
    """Name of the model in Inspect."""
    name: Text | None = None
    """Name in rules and in the matrix."""
    target: Text | None = None
    """File of a target in the model's place, relative to the sweep's, or MODULE:FUNCTION."""
    model_base_url: Text | None = None
    model_arg: dict[str, Any] = Field(default_factory=dict)
    """Further arguments of the provider's client."""
    price_in: Price | None = None
    """Dollars for a million input tokens."""
    price_out: Price | None = None
    max_connections: Count | None = None
    max_tokens: Count | None = None
    generate: dict[str, Any] = Field(default_factory=dict)
    """Settings of its generation, which override those of a line of the grid."""
    batch: Annotated[bool, Field(strict=True)] | None = None
    """True if it is asked in batches; None takes the value at the top of the file."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.model is None) == (self.target is None):
            raise fault("neither a model nor a target, or both", expected="model or target")
        if self.target is not None and (self.model_base_url is not None or self.model_arg):
            raise fault("a target's address and arguments stand in its file", expected="target")
        return self

    @property
    def label(self) -> str:
        """Its short name."""
        return self.name or self.asked

    @property
    def asked(self) -> str:
        """The model, as Inspect names it."""
        return self.model or ""


class GraderEntry(_Part):
    """A model that grades replies."""

    model: Text
    price_in: Price | None = None
    price_out: Price | None = None


class Axes(_Part):
    """Axes that are combined, each one value or a list; and options of one value."""

    cases: Texts | None = None
    protocol: OneOrMore[Annotated[str, AfterValidator(_protocol)]] | None = None
    delivery: OneOrMore[Delivery] | None = None
    ablate: Changes | None = None
    swap: Changes | None = None
    vary: Changes | None = None
    evidence: str | None = None
    deployment: Texts | None = None
    prompt: Texts | None = None
    sampling: OneOrMore[Sampling] | None = None
    seed: OneOrMore[Seed] | None = None
    epochs: Count | None = None
    samples: Count | None = None
    limit: Count | None = None
    pairs: Count | None = None
    max_tokens: Count | None = None
    generate: dict[str, Any] | None = None
    grader: Annotated[GraderEntry, BeforeValidator(_as_model)] | None = None


class GridLine(Axes):
    """One line of the grid: what it does not say is taken from the top of the file."""

    name: Text | None = None
    model: Texts | None = None
    """Names of models defined at the top; None is all."""


class SweepFile(Axes):
    """The whole file."""

    model: OneOrMore[Annotated[ModelEntry, BeforeValidator(_as_model)]]
    name: Text | None = None
    """Name of the folder of logs; the file's own name by default."""
    grid: Annotated[list[GridLine], Field(min_length=1)] | None = None
    only: list[Rule] = Field(default_factory=list)
    exclude: list[Rule] = Field(default_factory=list)
    cache: Annotated[bool, Field(strict=True)] = False
    batch: Annotated[bool, Field(strict=True)] = False

    @property
    def lines(self) -> list[GridLine]:
        """Lines of the grid, each completed from the top of the file."""
        names = [*Axes.model_fields]
        above = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return [
            line.model_copy(
                update={name: value for name, value in above.items() if getattr(line, name) is None}
            )
            for line in self.grid or [GridLine()]
        ]


def _distinguishing(entry: ModelEntry) -> tuple[object, ...]:
    """Fields by which results of two entries of one model differ."""
    return entry.model_arg, entry.max_tokens, check_settings("", entry.generate)


def load_sweep(path: Path) -> SweepFile:
    """Read a sweep's file.

    Raises:
        InputError: The file can't be used; the message names the entry and the field.
    """
    sweep = _with_targets(read_model(path, SweepFile, "sweep"), path.parent)
    _check_models(sweep, path)
    if sweep.name is not None and not re.fullmatch(r"[\w.-]+", sweep.name):
        expected = "letters, digits, '.', '_' and '-' only: it names a folder"
        raise InputError(
            "wrong value", file=path, field="name", found=sweep.name, expected=expected
        )
    return sweep


def _with_targets(sweep: SweepFile, folder: Path) -> SweepFile:
    """Replace each target of a sweep by its model and the arguments that lead there."""
    models = []
    for entry in sweep.model:
        if entry.target is not None:
            is_file = (folder / entry.target).exists() or ":" not in entry.target
            target = load_target(str(folder / entry.target) if is_file else entry.target)
            found = {"model": target.model, "name": entry.name or target.name}
            entry = entry.model_copy(update={**found, "model_arg": target.arguments})
        models.append(entry)
    return sweep.model_copy(update={"model": models})


def _check_models(sweep: SweepFile, path: Path) -> None:
    seen: dict[str, int] = {}
    clients: dict[str, tuple[int, ModelEntry]] = {}
    for number, entry in enumerate(sweep.model, start=1):
        record = f"model, record {number}"
        wrong = partial(InputError, file=path, record=record)
        refuse_password(f"{path}, {record}, field 'model_base_url'", entry.model_base_url)
        for name in entry.model_arg:
            refuse_secret(f"{path}, {record}, field 'model_arg'", name)
        where = f"{path}, {record}, field 'generate':"
        check_taken(where, entry.asked, check_settings(where, entry.generate), entry.model_arg)
        if entry.label in seen:
            expected = f"another name than that of record {seen[entry.label]} (field 'name')"
            raise wrong("two models of one name", found=entry.label, expected=expected)
        seen[entry.label] = number
        other = clients.setdefault(entry.asked, (number, entry))
        if other[1] is entry:
            continue
        first, same = other
        if _distinguishing(same) == _distinguishing(entry):
            problem = f"the same model as record {first}: an address tells no results apart"
            expected = "other model_arg, max_tokens or generate"
            raise wrong(problem, found=entry.asked, expected=expected)
        if (same.price_in, same.price_out) != (entry.price_in, entry.price_out):
            problem = f"another price than in record {first}, of the same model"
            raise wrong(problem, found=entry.asked, expected="one price a model")
    check_settings(f"{path}, field 'generate':", sweep.generate or {})
    for number, line in enumerate(sweep.grid or [], start=1):
        check_settings(f"{path}, grid, record {number}, field 'generate':", line.generate or {})
        for name in line.model or []:
            if name not in seen:
                raise InputError(
                    "no such model",
                    file=path,
                    record=f"grid, record {number}",
                    field="model",
                    found=name,
                    expected=f"one of {', '.join(seen)}",
                )
