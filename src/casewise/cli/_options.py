"""Arguments and options that several commands have, worded once; the judgements they name."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from casewise.choices import MAX_SEED, OWN_RULE, LabelRule, Ties, UnreadPolicy
from casewise.cli import _complete as complete
from casewise.cli._console import note_all, working
from casewise.cli._help import CASES, GRADER, TRUTH, UNCERTAINTY
from casewise.cli._late import case_files, scores

READ = "Log folders, .eval files, judgement tables, or CASE-Bench output files."

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help=READ)]

Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Compare also over different versions of the data.", rich_help_panel=CASES
    ),
]

LABEL_RULES = "|".join([*LabelRule, OWN_RULE])
"""Values of ``--labels``, as help shows them."""


def read_rule(text: str) -> LabelRule:
    """The label rule of an option."""
    return case_files.read_label_rule(text)


Labels = Annotated[
    LabelRule | None,
    typer.Option(
        parser=read_rule,
        metavar=LABEL_RULES,
        autocompletion=complete.one_of(lambda: LabelRule),
        help="The truth to measure against, as in casewise score.",
        rich_help_panel=TRUTH,
    ),
]

Unread = Annotated[
    UnreadPolicy,
    typer.Option(
        help="What an unread answer counts as: honest leaves it out and names the coverage; "
        "reference does as the published script.",
        rich_help_panel=TRUTH,
    ),
]

TiesOption = Annotated[
    Ties,
    typer.Option(
        help="An exact tie of votes (labels votes): half credit, or left out.",
        rich_help_panel=TRUTH,
    ),
]


GraderCheck = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Replies that people labelled (from casewise graders sample, or as casewise graders "
        "check reads them): correct the rates of replies for the grader's errors. Repeat it.",
        rich_help_panel=TRUTH,
    ),
]


GraderAddress = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Address of the grader's API.", rich_help_panel=GRADER),
]

GraderConnections = Annotated[
    int | None,
    typer.Option(min=1, help="Requests at once. Default: Inspect's.", rich_help_panel=GRADER),
]

RulesOrModel = Annotated[
    str,
    typer.Option(
        help="rules (offline), or a model as Inspect names it.",
        rich_help_panel=GRADER,
        metavar="rules|PROVIDER/NAME",
        autocompletion=complete.graders,
    ),
]


def seed_option(help: str, panel: str | None = None) -> Any:
    """An option of a seed that every generator of random numbers takes."""
    return typer.Option(min=0, max=MAX_SEED, help=help, rich_help_panel=panel)


DrawSeed = Annotated[int, seed_option("Of the draws.", UNCERTAINTY)]


def options_of(inputs: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field of a dataclass, as its ``Input`` words it.

    The command's first parameter takes those that were given, by name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        options = [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=None if field.default is dataclasses.MISSING else field.default,
                annotation=_option_type(field),
            )
            for field in dataclasses.fields(inputs)
        ]
        defaults = {one.name: one.default for one in options}

        @functools.wraps(command)
        def run(**given: Any) -> None:
            values = {name: given.pop(name) for name in defaults}
            command({name: one for name, one in values.items() if one != defaults[name]}, **given)

        signature = inspect.Signature(
            [*options, *(one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own)]
        )
        run.__dict__ |= {"__signature__": signature}
        run.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
        return run

    return decorate


def _option_type(field: dataclasses.Field[Any]) -> Any:
    kind, one = get_args(field.type)
    needed = field.default is dataclasses.MISSING
    option = typer.Option(*filter(None, [one.option]), help=one.help, rich_help_panel=one.panel)
    return Annotated[kind | None if needed else kind, option]


def read_judgements(paths: Sequence[Path], *, texts: bool = False) -> scores.Judgements:
    """Read judgements, and say what a person should know of it.

    Raises:
        InputError: A path is missing or can't be read, or nothing was recognised.
    """
    with working("reading the judgements"):
        judgements = scores.read_paths(paths, texts=texts)
    note_all(judgements.notes)
    return judgements
