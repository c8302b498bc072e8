"""Arguments of commands, for those of other distributions too."""

from typing import Annotated

from casewise.cli import _complete as complete
from casewise.cli._options import argument

__all__ = ["File"]

File = Annotated[
    str, argument("FILE", "A file of cases, or starter, or casebench.", complete.cases)
]
