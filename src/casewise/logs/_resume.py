"""Command line that goes on with a run in its folder."""

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from casewise.files import address_of
from casewise.logs._read import COMMAND, LogHeader


def recorded_line(headers: Iterable[LogHeader], log_dir: Path) -> str | None:
    """Command line that goes on in a folder, as its latest log has it; None if unknown."""
    for header in sorted(headers, key=lambda one: one.age, reverse=True):
        with suppress(ValueError):
            arguments = shlex.split(str(header.metadata.get(COMMAND, "")))[1:]
            # Whoever runs models from Python has another command line.
            if arguments[:1] == ["run"]:
                return resume_line(arguments, log_dir)
    return None


def resume_line(arguments: Sequence[str], log_dir: Path | None) -> str:
    """Command line of ``casewise`` that goes on in a folder.

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
