"""Folder of logs, held for one start of a run: lock, logs of killed starts, and who may go on.

One process at a time works in a folder; whoever comes second is told who was first.
"""

import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from casewise.errors import InputError, UsageError
from casewise.evaluation.models._in_process import InProcess
from casewise.evaluation.models.keys import redacted
from casewise.evaluation.models.open import server_address
from casewise.evaluation.models.patient import PatientModel
from casewise.evaluation.models.servers import plain_url
from casewise.evaluation.plan._plan import Cell
from casewise.evaluation.runs.progress import Done, read_done, title_of
from casewise.files import address_of, hold, is_elsewhere
from casewise.logs import (
    ADDRESSES,
    BROKEN,
    LOCK,
    OURS,
    RUNNING,
    TARGETS,
    LogFolder,
    LogHeader,
    end_killed,
    is_readable,
    list_logs,
    read_records,
    recorded_line,
    resume_line,
    runs_of,
    without_option,
)

MADE_WITH = "made_with"
"""Key in a log's metadata of the settings that a model's numbers depend on: see
``InProcess.made_with``."""


@contextmanager
def locked(folder: Path, what: Path | None = None) -> Iterator[None]:
    """Hold a folder while the block runs, with this command in the note.

    Args:
        folder: Folder of the lock; made if it is absent.
        what: Folder that messages name; None is that of the lock.

    Raises:
        UsageError: Another process is at work there.
        OSError: The folder can't be written.
    """
    with hold(folder / LOCK, what=what, command=command_line()):
        yield


def command_line() -> str:
    """Command that started this process, without keys."""
    return redacted(shlex.join(["casewise", *sys.argv[1:]]))


def is_command() -> bool:
    """Tell whether this process is a command of casewise's."""
    return Path(sys.argv[0]).stem in ("casewise", "__main__")


def resume_command(log_dir: Path, *, capped: bool) -> str | None:
    """Command that goes on in a folder; None where this process is not casewise's."""
    if not is_command():
        return None
    arguments = sys.argv[1:]
    if capped:
        arguments = [*without_option("--max-cost", arguments), "--max-cost", "MORE"]
    return redacted(resume_line(arguments, log_dir))


@contextmanager
def hold_folder(log_dir: Path) -> Iterator[tuple[str, ...]]:
    """Hold a log folder for a start of a run, and set in order what a killed one left.

    Yields:
        Notes on logs that can't be read.

    Raises:
        UsageError: Another process runs in the folder.
        OSError: The folder can't be written.
    """
    if is_elsewhere(log_dir):
        yield ()
        return
    with locked(log_dir / OURS, log_dir):
        yield tuple(_set_in_order(log_dir))


def _set_in_order(log_dir: Path) -> Iterator[str]:
    """Put logs of killed processes into Inspect's form, and logs that can't be read aside."""
    for path in list_logs(log_dir):
        if not is_readable(path):
            aside = path.name + BROKEN
            path.replace(path.with_name(aside))
            yield f"{path.name} can't be read; it is now {aside}, and what it held is judged again"
        elif path.suffix == RUNNING:
            end_killed(path)


def resume(
    cells: Sequence[Cell], folder: LogFolder, *, same_server: bool = False
) -> tuple[list[Cell], Done]:
    """Check that a plan may go on, or begin, in a folder.

    Args:
        cells: The plan.
        folder: The folder.
        same_server: True if a model at another address than before is the same.

    Returns:
        The cells with the addresses of their servers, and their progress.

    Raises:
        UsageError: The folder holds a run that was stopped, and nothing of the plan; or a model's
            answers from another address; or what ``read_done`` refuses.
    """
    done, headers = read_done(cells, folder), folder.headers()
    planned = {cell.identity: cell for cell in cells}
    held = [(header, header.key.identity) for header in headers]
    where = address_of(folder.path)
    if not any(key in planned for _, key in held):
        for run in runs_of(headers):
            if not run.complete and _holds_answers(run.logs):
                command = recorded_line(run.logs, folder.path) or "start it with its own options"
                raise UsageError(
                    f"{where} holds a run that was stopped ({title_of(run.first)}), and nothing of "
                    f"this one. To go on with that: {command}; for this one, give another --log-dir"
                )
    addressed, opened = list[Cell](), dict[str, str]()
    for key, cell in planned.items():
        # Another target of the name is another file, and is asked anew.
        model = None if cell.model.startswith(f"{TARGETS}/") else cell.model
        before = [
            header
            for header, other in held
            if other == key or (header.model == model and other not in planned)
        ]
        known = dict.fromkeys(chain.from_iterable(map(_addresses_of, before)))
        request = cell.request
        asked = cell.model, request.model_base_url, request.model_arg
        now = opened[str(asked)] = opened.get(str(asked)) or server_address(*asked)
        is_known = same_server or now in known or not (now and known)
        if not is_known and _holds_answers(before):
            raise UsageError(
                redacted(
                    f"{where}: {cell.model} was asked at {' and '.join(known)}, and is now at "
                    f"{now}: if it is the same, as a server that was started again, give "
                    "--same-server; else another --log-dir"
                )
            )
        addresses = dict.fromkeys((now, *known)) if now else ()
        addressed.append(replace(cell, addresses=tuple(addresses)))
    return addressed, done


def _addresses_of(header: LogHeader) -> Iterable[str]:
    given = plain_url(header.log.eval.model_base_url or "")
    return header.metadata.get(ADDRESSES) or filter(None, [given])


def _holds_answers(headers: Iterable[LogHeader]) -> bool:
    with suppress(InputError):
        return any(record.judged for header in headers for record in read_records(header))
    return False


def logs_of(cells: Sequence[Cell], folder: LogFolder) -> tuple[Path, ...]:
    """Every log of a folder that belongs to the cells, in their order."""
    places = {cell.identity: place for place, cell in enumerate(cells)}
    placed = [(places.get(header.key.identity), header.path) for header in folder.headers()]
    return tuple(path for _, path in sorted(entry for entry in placed if entry[0] is not None))


def check_same_numbers(models: Iterable[PatientModel], folder: LogFolder) -> None:
    """Refuse to complete what a model judged in floating-point numbers of another width.

    Unless a model argument sets it, the width follows the machine; a folder that is taken to
    another machine would be completed in other numbers without notice.

    Raises:
        UsageError: A log of the folder is of the same model in another width, set by no argument.
    """
    own = {
        model.title: dict(model.api.made_with)["dtype"]
        for model in models
        if isinstance(model.api, InProcess)
        and "dtype" not in model.model_args
        and model.api.made_with
    }
    for header in folder.headers() if own else ():
        made_with = header.metadata.get(MADE_WITH) or {}
        dtype, now = made_with.get("dtype"), own.get(header.model)
        if dtype and now and dtype != now and "dtype" not in header.log.eval.model_args:
            raise UsageError(
                f"{address_of(folder.path)}: {header.model} judged here in {dtype} on "
                f"{made_with.get('device')}; on this machine it would go on in {now}. Go on "
                "where it ran, or begin anew in another --log-dir"
            )
