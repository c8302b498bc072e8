"""One process at a time in a folder; whoever comes second is told who was first."""

import errno
import json
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from casewise.cases import write_atomically
from casewise.errors import UsageError
from casewise.evaluation._secrets import redacted

LOCK = "lock"
HOLDER = "holder.json"


@contextmanager
def locked(folder: Path, what: Path | None = None) -> Iterator[bool]:
    """Hold a folder while the block runs.

    The lock is the operating system's: it goes with the process, however that ends.

    Args:
        folder: Where the lock stands; made if it is absent.
        what: What is held, as a person knows it; None is the folder.

    Yields:
        Whether the folder could be locked: some network file systems have no locks.

    Raises:
        UsageError: Another process holds it; the message says which.
        OSError: The folder can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, fallback_to_soft=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise UsageError(f"{what or folder}: {_taken(folder)}; wait for it, or stop it") from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        yield False
        return
    try:
        write_atomically(folder / HOLDER, json.dumps(_ourselves()).encode())
        yield True
    finally:
        (folder / HOLDER).unlink(missing_ok=True)
        lock.release()


_WITHOUT_LOCKS = tuple(
    number
    for name in ("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "ENOLCK")
    if (number := getattr(errno, name, None)) is not None
)


def _ourselves() -> dict[str, str | int]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": command_line(),
    }


def command_line() -> str:
    """The command that this process was started with, without keys."""
    return redacted(shlex.join(["casewise", *sys.argv[1:]]))


def _taken(folder: Path) -> str:
    try:
        found = json.loads((folder / HOLDER).read_text("utf-8"))
        return (
            f"another casewise is at work there since {found['since']} "
            f"(process {found['pid']} on {found['host']}: {found['command']})"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "another casewise is at work there"
