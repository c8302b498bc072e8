"""Command line that goes on with a run in its folder."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

from casewise.files import address_of, is_elsewhere
from casewise.logs._read import OURS, START


def recorded_line(log_dir: Path) -> str | None:
    """The command line that goes on in a folder, as it was last started; None if unknown."""
    if is_elsewhere(log_dir):
        return None
    try:
        command = json.loads((log_dir / OURS / START).read_text("utf-8"))["command"]
        arguments = shlex.split(command)[1:]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    # Whoever runs models from Python has another command line.
    return resume_line(arguments, log_dir) if arguments[:1] == ["run"] else None


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
