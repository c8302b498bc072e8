"""Standard output for results, standard error for everything else."""

import os
import sys

from rich.console import Console
from rich.status import Status

PIPE_WIDTH = 10_000
"""Columns that a line may take where it does not go to a terminal: nothing is folded there."""


def out() -> Console:
    """Where results go. Piped, nothing is folded (unless COLUMNS says so), and has no colours."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH
    return Console(width=width, highlight=False, soft_wrap=False)


def err() -> Console:
    """Where notes, progress and errors go."""
    return Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty())


def working(text: str) -> Status:
    """Say what takes a while, on a terminal alone, for as long as the block lasts."""
    return err().status(text)


def note(text: str) -> None:
    """Say something beside the result."""
    err().print(text, markup=False, style="dim")


def write_out(text: str) -> None:
    """Write text as it is: results that programs read."""
    sys.stdout.write(text)
    sys.stdout.flush()
