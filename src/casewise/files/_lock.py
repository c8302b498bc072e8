"""One process at a time: whoever comes second is told who was first."""

import contextlib
import errno
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from casewise.errors import UsageError
from casewise.files._atomic import write_atomically


class HeldError(UsageError):
    """Another process holds the lock."""

    def __init__(self, what: Path, holder: str) -> None:
        self.holder = holder
        """Process, host, time and command; or that they are not known."""
        super().__init__(
            f"{what}: another casewise is at work there ({holder}); wait for it, or stop it"
        )


@contextmanager
def hold(lock: Path, *, what: Path | None = None, command: str = "casewise") -> Iterator[bool]:
    """Hold a lock while the block runs, and leave a note beside it that says who does.

    The lock is the operating system's: it goes with the process, however that ends. What a killed
    process leaves of both files holds up nobody.

    Args:
        lock: A file for the lock alone. It and the note are made here, and deleted in the end.
        what: What is held, as a person knows it; None is the lock's folder.
        command: What the note says that this process does. Give no keys.

    Yields:
        Whether it could be locked: some network file systems have no locks.

    Raises:
        HeldError: Another process, or another block of this one, holds it.
        OSError: The folder can't be written.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    note = lock.with_name(f"{lock.name}.holder")
    with contextlib.ExitStack() as stack:
        try:
            is_locked = stack.enter_context(locked(lock))
        except BlockingIOError:
            raise HeldError(lock.parent if what is None else what, _holder(note)) from None
        if is_locked:
            stack.callback(note.unlink, missing_ok=True)
            write_atomically(note, json.dumps(_ourselves(command)).encode())
        yield is_locked


@contextmanager
def locked(lock: Path) -> Iterator[bool]:
    """Hold a lock while the block runs; yields and raises as ``hold`` does, but for the note.

    Raises:
        BlockingIOError: Another process, or another block of this one, holds it.
    """
    # Not bound to a thread: a server may end in another one than it began in.
    held = FileLock(lock, thread_local=False, fallback_to_soft=False)
    try:
        held.acquire(blocking=False)
    except Timeout:
        raise BlockingIOError(errno.EWOULDBLOCK, "held by another process", str(lock)) from None
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        yield False
        return
    try:
        yield True
    finally:
        # Before it is let go, so that it is nobody else's. Windows deletes no open file.
        with contextlib.suppress(OSError):
            lock.unlink()
        held.release()


_WITHOUT_LOCKS = tuple(
    number
    for name in ("ENOSYS", "ENOTSUP", "EOPNOTSUPP", "ENOLCK")
    if (number := getattr(errno, name, None)) is not None
)


def _ourselves(command: str) -> dict[str, str | int]:
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": command,
    }


def _holder(note: Path) -> str:
    try:
        found = json.loads(note.read_text("utf-8"))
        return (
            f"process {found['pid']} on {found['host']} since {found['since']}: {found['command']}"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "it left no note of itself"
