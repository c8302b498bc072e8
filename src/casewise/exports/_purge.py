"""Removing the texts from logs that are kept: the figures stay where they are."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

from casewise.errors import InputError, UsageError
from casewise.exports._shown_texts import known_parameters
from casewise.files import address_of, hold, is_elsewhere, new_file


@dataclass(frozen=True, slots=True)
class PurgePlan:
    """What would be purged: nothing is changed before ``purge``."""

    logs: tuple[Path, ...]
    """Logs that hold texts."""
    purged: tuple[Path, ...]
    """Logs whose texts were removed before."""
    journals: tuple[Path, ...]
    """What a run keeps beside its logs: answers that no log holds yet, logs that broke off."""
    others: tuple[str, ...]
    """Logs that are left as they are, each with the reason."""
    folders: tuple[Path, ...]
    """Of the logs: no run may be at work in them."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What was removed."""

    logs: int
    samples: int
    journals: int


def plan_purge(paths: Sequence[Path]) -> PurgePlan:
    """Find the logs of casewise, and what runs keep beside them.

    Args:
        paths: Log folders and ``.eval`` files.

    Raises:
        InputError: A path is missing, or there is no log of casewise.
        UsageError: A path is elsewhere (``s3://...``): files there are not replaced at once.
    """
    # Inspect takes seconds to import; of the exports only logs need it.
    from casewise.logs import BROKEN, LOCK, OURS, REDACTED, SHARDS, START, read_header

    logs, purged, others = list[Path](), list[Path](), list[str]()
    folders: dict[Path, None] = {}
    for path in _log_files(paths):
        try:
            header = read_header(path)
        except InputError as error:
            if path in paths:
                raise
            others.append(f"left as it is: {error}")
            continue
        (purged if header.metadata.get(REDACTED) else logs).append(path)
        inside = path.parent.parent.name == SHARDS
        folders[path.parent.parent.parent if inside else path.parent] = None
    for path in paths:
        folders |= dict.fromkeys([path] if path.is_dir() else [])
    journals = [
        file
        for folder in folders
        for file in (*(folder / OURS).rglob("*"), *folder.rglob(f"*{BROKEN}"))
        if file.is_file() and file.name not in (LOCK, f"{LOCK}.holder", START)
    ]
    if not logs and not purged and not journals:
        where = ", ".join(map(str, paths))
        raise InputError("no log of casewise here", file=where, expected="a log folder")
    return PurgePlan(
        tuple(logs), tuple(purged), tuple(dict.fromkeys(journals)), tuple(others), tuple(folders)
    )


def _log_files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if is_elsewhere(path):
            raise UsageError(f"{address_of(path)}: only logs on this machine are purged")
        if not path.exists():
            raise InputError("no such file or folder", file=path)
        yield from sorted(path.rglob("*.eval")) if path.is_dir() else [path]


def purge(plan: PurgePlan, command: str) -> Purged:
    """Remove queries, contexts, replies, explanations and tool calls from logs.

    Each log is replaced at once by one without texts, as ``export --to redacted-logs`` writes it;
    a purge that is stopped leaves whole logs, and goes on when it is begun again.

    Args:
        plan: What.
        command: What is said of this process to a run that comes meanwhile.

    Raises:
        InputError: A log can't be read whole; those before it are purged.
        HeldError: A run is at work in one of the folders.
    """
    from casewise.exports._log_redaction import redact_log, write_log
    from casewise.logs import LOCK, OURS, read_header

    samples = 0
    with ExitStack() as held:
        for folder in plan.folders:
            held.enter_context(hold(folder / OURS / LOCK, what=folder, command=command))
        for path in plan.logs:
            header = read_header(path)
            said = header.metadata
            known = known_parameters([said.get("ablation")], [said.get("variant")])
            try:
                log = redact_log(header, known)
            except (ValueError, KeyError, OSError, BadZipFile) as error:
                problem = f"can't be read whole, so that its texts stay: {type(error).__name__}"
                raise InputError(problem, file=path) from None
            with new_file(path, sync=True) as new:
                write_log(log, new)
            samples += len(log.samples or ())
        for journal in plan.journals:
            journal.unlink(missing_ok=True)
    for folder in plan.folders:
        # Where no run kept anything, the lock's folder was made for the lock alone.
        with suppress(OSError):
            (folder / OURS).rmdir()
    return Purged(len(plan.logs), samples, len(plan.journals))
