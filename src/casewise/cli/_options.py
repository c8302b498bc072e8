"""Arguments and options of commands: each in one line, alone or in a group that several share."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from casewise.choices import CARDS, MAX_SEED, OWN_RULE, LabelRule, Ties, UnreadPolicy, check_name
from casewise.cli import _complete
from casewise.cli._console import err, note_all, working
from casewise.cli._help import CASES, GRADER, TRUTH
from casewise.cli._main import (
    case_files,
    exports,
    judgement_files,
    measures,
    polars,
    protocols,
    replies,
)
from casewise.errors import UsageError
from casewise.options import ARGUMENT, PAIRS, PANELS, Option, options_of


def option(
    help: str,
    panel: str | None = None,
    metavar: str | None = None,
    complete: _complete.Completer | None = None,
    *names: str,
    **others: Any,
) -> Any:
    """An option, named after its parameter unless names are given."""
    return typer.Option(
        *names, help=help, rich_help_panel=panel, metavar=metavar, autocompletion=complete, **others
    )


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """A switch that is off unless it is given."""
    return option(help, panel, None, None, name)


def argument(
    metavar: str, help: str, complete: _complete.Completer | None = None, **others: Any
) -> Any:
    """An argument by its place."""
    return typer.Argument(metavar=metavar, help=help, autocompletion=complete, **others)


def cases_option(help: str, panel: str | None = None) -> Any:
    """An option of a set of cases."""
    return option(help, panel, "starter|casebench|FILE", _complete.cases)


def card_option(help: str, panel: str) -> Any:
    """An option of a deployment card."""
    return option(help, panel, "CARD", _complete.offer(lambda: CARDS, files=True))


def out_option(help: str, panel: str | None = None, metavar: str = "FILE") -> Any:
    """An option of the file that a command writes."""
    return option(help, panel, metavar, None, "--out", "-o")


def seed_option(help: str, panel: str | None = None) -> Any:
    """An option of a seed that every generator of random numbers takes."""
    return option(help, panel, min=0, max=MAX_SEED)


class OptionSubset:
    """Options of a class that a command takes as a mapping of those that were given.

    Args:
        kind: Class of the options.
        names: Those that it takes; all if none is named.
    """

    def __init__(self, kind: Any, *names: str) -> None:
        every = options_of(kind)
        chosen = [every[name] for name in names or every]
        self.options = sorted(chosen, key=lambda entry: PANELS.index(entry.about.panel))


OptionValues = dict[str, Any]
"""Options that were given, by name: of an axis a list of its values."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameters' groups.

    A group is a dataclass, each of whose fields is an option; the command gets the object. Or it is
    ``Annotated[OptionValues, OptionSubset(...)]``, with a ``context: typer.Context``. An option
    that is repeated is a tuple.
    """
    declared_parameters = inspect.signature(command, eval_str=True).parameters.values()
    groups = {
        parameter.name: group
        for parameter in declared_parameters
        if (group := _group_of(parameter)) is not None
    }
    fields = {name: list(_fields(group)) for name, group in groups.items()}
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=_for_typer(parameter))
        for parameter in declared_parameters
        for parameter in fields.get(parameter.name, [parameter])
    ]

    @functools.wraps(command)
    def run(**arguments: Any) -> None:
        values: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in arguments.items()
        }
        for name, group in groups.items():
            chosen = {field.name: values.pop(field.name) for field in fields[name]}
            if isinstance(group, OptionSubset):
                values[name] = _options_set(group, chosen, values["context"])
            else:
                values[name] = group(**chosen)
        command(**values)

    run.__dict__["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _group_of(parameter: inspect.Parameter) -> Any:
    kind = parameter.annotation
    if dataclasses.is_dataclass(kind):
        return kind
    return next((arg for arg in get_args(kind) if isinstance(arg, OptionSubset)), None)


def _options_set(
    group: OptionSubset, values: Mapping[str, Any], context: typer.Context
) -> OptionValues:
    """Options that the command line or the environment gives."""
    chosen = {}
    for option in group.options:
        source, value = context.get_parameter_source(option.name), values[option.name]
        if source is not None and source.name != "DEFAULT":
            chosen[option.name] = read_pairs(option.spelling, value) if option.is_mapping else value
    return chosen


def read_pairs(spelling: str, pairs: Iterable[str]) -> dict[str, Any]:
    """A mapping of ``KEY=VALUE``; a value that is JSON is read as such.

    Raises:
        UsageError: A pair without a key or an equals sign, or a key that is given twice.
    """
    mapping: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            # What stands there may be a key.
            raise UsageError(f"{spelling}: write {PAIRS}")
        if name in mapping:
            raise UsageError(f"{spelling} {name}: given twice")
        try:
            mapping[name] = json.loads(value)
        except (ValueError, RecursionError):
            mapping[name] = value
    return mapping


_MISSING = dataclasses.MISSING


def _fields(group: Any) -> Iterator[inspect.Parameter]:
    """The fields of a group as parameters."""
    if isinstance(group, OptionSubset) or options_of(group):
        options = group.options if isinstance(group, OptionSubset) else options_of(group).values()
        yield from map(_parameter, options)
        return
    # Else a lambda in an annotation would look its names up in the class.
    hints = get_type_hints(group, vars(sys.modules[group.__module__]), include_extras=True)
    for field in dataclasses.fields(group):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is _MISSING else field.default,
            annotation=hints[field.name],
        )


def _parameter(declared: Option) -> inspect.Parameter:
    """A declared option as Typer takes it: of an axis a list, a switch with one spelling."""
    about, kind, default = declared.about, declared.kind, declared.default
    if default is _MISSING:
        default = None
    names = "|".join(declared.choices)
    closed = f"<{names}>{',...' if about.commas else ''}" if names and kind is str else None
    several = "Several joined by commas." if about.commas else "Repeat for several."
    help = f"{about.help} {several}" if about.axis and kind not in (int, float) else about.help
    settings: dict[str, Any] = {"help": help, "metavar": about.metavar or closed}
    parameter: Any = typer.Argument(**settings)
    if about.panel != ARGUMENT:
        spellings = about.option.split() or ([declared.spelling] if kind is bool else [])
        offered = _complete.offer(lambda: declared.choices, commas=about.commas, files=about.file)
        is_number = kind in (int, float)
        parameter = typer.Option(
            *spellings,
            **settings,
            rich_help_panel=about.panel,
            autocompletion=getattr(_complete, about.complete, offered) if kind is str else None,
            min=about.least if is_number else None,
            max=about.most if is_number else None,
        )
    kind = str if declared.is_mapping else kind
    if about.axis:
        kind = GenericAlias(list, (kind,))
        default = None if default is None else [default]
    kind = kind | None if default is None else kind
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        declared.name, by_name, default=default, annotation=Annotated[kind, parameter]
    )


def _for_typer(parameter: inspect.Parameter) -> Any:
    """Type of an option in Typer's terms, which has lists for what is repeated."""
    if get_origin(parameter.annotation) is not Annotated:
        return parameter.annotation
    kind, about = get_args(parameter.annotation)
    if get_origin(kind) is tuple:
        kind = GenericAlias(list, get_args(kind)[:1])
    return Annotated[kind, about]


READ = "Log folders, .eval files, judgement tables, or CASE-Bench output files."

Paths = Annotated[tuple[Path, ...], argument("PATH...", READ)]

Force = Annotated[bool, flag("--force", "Compare also over different versions of the data.", CASES)]

LABEL_RULES = "|".join([*LabelRule, OWN_RULE])
"""Values of ``--labels``, as help shows them."""


def read_rule(text: str) -> LabelRule:
    """The label rule of an option."""
    return case_files.read_label_rule(text)


def labels_option(help: str, panel: str | None = None) -> Any:
    """An option of a label rule."""
    rules = _complete.offer(lambda: LabelRule)
    return option(help, panel, LABEL_RULES, rules, parser=read_rule)


Labels = Annotated[
    LabelRule | None, labels_option("The truth to measure against, as in casewise score.", TRUTH)
]

GraderCheck = Annotated[
    tuple[Path, ...],
    option(
        "Labelled replies (from casewise graders sample): correct the rates for the grader's "
        "errors. Repeat for several.",
        TRUTH,
        "FILE",
    ),
]


@dataclasses.dataclass(frozen=True)
class Truth:
    """Treatment of what answers and labels leave open."""

    unparsed: Annotated[
        UnreadPolicy,
        option(
            "How an answer without a verdict counts: honest leaves it out and prints the coverage; "
            "reference follows the published script.",
            TRUTH,
        ),
    ] = UnreadPolicy.HONEST
    ties: Annotated[
        Ties, option("An exact tie of votes (labels votes): half credit, or left out.", TRUTH)
    ] = Ties.HALF
    grader_check: GraderCheck = ()

    def scoring(self, labels: LabelRule | None) -> measures.Scoring:
        """Way of scoring under a label rule."""
        return measures.Scoring(labels, self.unparsed, self.ties)

    def checks(self, tables: Iterable[polars.DataFrame]) -> tuple[replies.CheckFile, ...]:
        """Labelled replies that correct the rates of tables."""
        return replies.load_checks(self.grader_check, tables) if self.grader_check else ()


RulesOrModel = Annotated[
    str,
    option(
        "rules (offline), a model as Inspect names it, or rules,PROVIDER/NAME: the model grades "
        "only what the rules doubt.",
        GRADER,
        "rules|PROVIDER/NAME",
        _complete.graders,
    ),
]


@dataclasses.dataclass(frozen=True)
class GraderServer:
    """Way to the model that grades replies."""

    model_base_url: Annotated[str | None, option("Address of the grader's API.", GRADER, "URL")] = (
        None
    )
    max_connections: Annotated[
        int | None, option("Requests at once. Default: 50.", GRADER, min=1)
    ] = None

    def load(self, grader: str) -> Callable[..., list[protocols.Graded]]:
        """``grade_replies`` of a grader, a model's name, and its requests."""
        check_name(grader)
        with err().status("loading"):
            from casewise.models import refuse_password
            from casewise.runs import grade_replies
        refuse_password("--model-base-url", self.model_base_url)
        return functools.partial(
            grade_replies, base_url=self.model_base_url, max_connections=self.max_connections
        )


def open_cases(name: str) -> case_files.CaseSet:
    """Load cases, and say what a person should know of them."""
    loaded = case_files.open_cases(name)
    note_all(loaded.notes)
    return loaded


def note_versions(*sets: case_files.CaseSet) -> None:
    """Say that the versions of files don't hold for what is written of their cases."""
    note_all(
        f"{loaded.name}: version {loaded.version} is left out of what is written"
        for loaded in sets
        if loaded.version
    )


def read_judgements(
    paths: Sequence[Path], *, texts: bool = False, apart: bool = False
) -> judgement_files.Judgements:
    """Read judgements, and say what a person should know of them.

    Raises:
        InputError: A path is missing or can't be read, or nothing was recognised.
    """
    with working("reading the judgements"):
        judgements = judgement_files.read_paths(paths, texts=texts, apart=apart)
    note_all(judgements.notes)
    return judgements


def is_same_file(path: Path, other: Path) -> bool:
    """Tell whether two paths lead to one file that exists."""
    return path.exists() and other.exists() and path.samefile(other)


def warn_of_content() -> None:
    """Print the warning before texts that are shown."""
    err().print(exports.CONTENT_WARNING, style="yellow")
