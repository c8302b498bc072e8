"""Panels of options that several commands share, and the class of all commands."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand

from casewise.errors import UsageError

MODEL = "Model"
CASES = "Cases"
PROTOCOL = "Protocol"
CONVERSATIONS = "Conversations"
SAMPLING = "Sampling"
COST = "Cost"
PLACE = "Where it runs"
GRADER = "Grader of replies"
TRUTH = "Truth and unread answers"
UNCERTAINTY = "Uncertainty"
OUTPUT = "Output"


def one_of(names: Iterable[str]) -> str:
    """Names that an option takes, as help shows them."""
    return f"<{'|'.join(names)}>"


def several_of(names: Iterable[str]) -> str:
    """Names that an option takes joined by commas, as help shows them."""
    return f"{one_of(names)},..."


class HelpCommand(TyperCommand):
    """Command that refuses an empty path."""

    def get_help_option_names(self, ctx: Any) -> list[str]:
        """Both names, whoever asks first: the option is made once."""
        return ["-h", "--help"]

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Read the arguments."""
        given = list(args)
        ctx = super().make_context(info_name, args, parent, **extra)
        if "." not in given and any(_EMPTY.fullmatch(one) for one in given):
            _refuse_empty_paths(ctx)
        return ctx


_EMPTY = re.compile("|--[^=]+=")


def _refuse_empty_paths(ctx: Any) -> None:
    """Refuse an empty path: Python's current folder, but probably a variable that is not set."""
    for param in ctx.command.params:
        value = ctx.params.get(param.name)
        values = value if isinstance(value, list | tuple) else [value]
        is_option = param.param_type_name == "option"
        if Path() in values or (
            "" in values and (not is_option or "FILE" in (param.metavar or ""))
        ):
            raise UsageError(
                f"{param.opts[0] if is_option else param.display_name_raw} is empty: expected a "
                "file or a folder (. is the current one). Is a variable of the shell not set?"
            )
