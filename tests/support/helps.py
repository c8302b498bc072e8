"""Help of the whole tree of commands, as a person reads it."""

import re
from collections.abc import Iterator

from conftest import Cli

Path = tuple[str, ...]
"""The words that call a command."""


def pages(cli: Cli, width: int, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The help of each command and group, so many columns wide."""
    done = cli(*path, "-h", env={"COLUMNS": str(width)})
    assert (done.returncode, done.stderr) == (0, "")
    yield path, done.stdout
    for name in commands(done.stdout):
        yield from pages(cli, width, (*path, name))


def commands(page: str) -> list[str]:
    """Names of the commands in a group; none of a command."""
    panel = page.partition("─ Commands ─")[2].partition("\n╰")[0]
    return re.findall(r"^│ ([a-z][\w-]*)", panel, re.M)


def options(page: str) -> list[str]:
    """Names of the options, the short ones left out."""
    return re.findall(r"^│ [* ]*(--[a-z][\w-]*)", page, re.M)
