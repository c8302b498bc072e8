"""Arguments of commands, for those of other distributions too."""

from typing import Annotated

import typer

from casewise.cli import _complete as complete

__all__ = ["File"]

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A file of cases, or starter, or casebench.",
        autocompletion=complete.cases,
    ),
]
