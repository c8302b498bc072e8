"""Command line that goes on with a run in its folder."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from casewise.files import address_of


def resume_line(arguments: Sequence[str], log_dir: Path | None) -> str:
    """The command line of ``casewise`` that goes on in a folder.

    Args:
        arguments: Those that the run was started with, without the program's name.
        log_dir: The folder of its logs, which may not have been named; None where it has none.
    """
    command = ["casewise", *without_option("--log-dir", arguments)]
    return shlex.join([*command, *([] if log_dir is None else ["--log-dir", address_of(log_dir)])])


def without_option(option: str, arguments: Sequence[str]) -> list[str]:
    """Arguments without an option and its value."""
    kept = list(arguments)
    while option in kept:
        at = kept.index(option)
        del kept[at : at + 2]
    return [one for one in kept if not one.startswith(f"{option}=")]
