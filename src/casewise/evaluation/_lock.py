"""One run at a time in a folder."""

import shlex
import sys
from contextlib import AbstractContextManager
from pathlib import Path

from casewise.evaluation._secrets import redacted
from casewise.files import hold

LOCK = "lock"


def locked(folder: Path, what: Path | None = None) -> AbstractContextManager[bool]:
    """Hold a folder while a block runs, as ``hold`` does; the note says the command.

    Args:
        folder: Where the lock stands; made if it is absent.
        what: What is held, as a person knows it; None is the folder.
    """
    return hold(folder / LOCK, what=what, command=command_line())


def command_line() -> str:
    """The command that this process was started with, without keys."""
    return redacted(shlex.join(["casewise", *sys.argv[1:]]))
