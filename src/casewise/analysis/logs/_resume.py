"""The command that goes on with a run that was stopped."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from casewise.analysis.card._commands import run_commands
from casewise.analysis.card._record import RunRecord
from casewise.analysis.logs._provenance import run_record
from casewise.cases import address_of, is_elsewhere
from casewise.logs import SHARDS, LoggedRun

START = Path(".casewise/start.json")
"""Where in a log folder a run says by which command it was started."""

_FILES = ("cases", "prompt", "deployment", "verdict_words")
"""Arguments that may be paths, which a card cuts to their last part."""


def resume_line(arguments: Sequence[str], log_dir: Path) -> str:
    """The command line of ``casewise`` that goes on in a folder.

    Args:
        arguments: Those that the run was started with, without the program's name.
        log_dir: The folder of its logs, which may not have been named.
    """
    command = ["casewise", *without_option("--log-dir", arguments)]
    return shlex.join([*command, "--log-dir", address_of(log_dir)])


def without_option(option: str, arguments: Sequence[str]) -> list[str]:
    """Arguments without an option and its value."""
    kept = list(arguments)
    while option in kept:
        at = kept.index(option)
        del kept[at : at + 2]
    return [one for one in kept if not one.startswith(f"{option}=")]


def command_to_resume(runs: Sequence[LoggedRun]) -> str:
    """The command that goes on with some runs, of which there is one at least.

    It is the one that started them, where their folder says so; else what the logs say of it.
    """
    log_dir = _folder(runs[0])
    started = _as_started(log_dir)
    if started:
        return resume_line(started, log_dir)
    records = [_record(one) for one in runs if _folder(one) == log_dir]
    return " && ".join(resume_line(one, log_dir) for one in run_commands(records))


def _folder(run: LoggedRun) -> Path:
    """The folder that a run was given; a cluster's shards have folders of their own in it."""
    path = run.first.path
    return path.parents[2] if path.parent.parent.name == SHARDS else path.parent


def _as_started(log_dir: Path) -> list[str]:
    if is_elsewhere(log_dir):
        return []
    try:
        said = json.loads((log_dir / START).read_text("utf-8"))["command"]
        arguments = shlex.split(said)[1:]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    # Whoever runs models from Python has another command line.
    return arguments if arguments[:1] == ["run"] else []


def _record(run: LoggedRun) -> RunRecord:
    """What the log says of its run, with its files as they can be found from here."""
    record = run_record(run)
    given = run.first.log.eval.task_args
    files = {name: str(given[name]) for name in _FILES if name in record.asked}
    return replace(record, asked={**record.asked, **files})
