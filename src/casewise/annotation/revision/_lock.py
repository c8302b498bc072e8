"""One process at a time: a lock that the system itself lets go when its holder dies."""

import contextlib
import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR = 1 << 30
"""The byte that Windows locks: what is locked there can't be read, and the start is for people."""


class HeldError(Exception):
    """Somebody else holds the lock; its text says who, as they put it."""


class FileLock:
    """A lock on a file of its own. Left behind by a killed process, the file blocks nobody."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle: int | None = None

    def take(self, note: str) -> None:
        """Take the lock, and leave a note for who comes next.

        Raises:
            HeldError: Another process has it.
        """
        while self._handle is None:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _lock(handle)
                # Its last holder may have removed the file between our opening and locking it.
                if self._is_still_there(handle):
                    os.truncate(handle, 0)
                    os.write(handle, note.encode())
                    self._handle = handle
                    return
            except OSError:
                holder = os.pread(handle, 200, 0) if hasattr(os, "pread") else b""
                os.close(handle)
                raise HeldError(holder.decode(errors="replace")) from None
            os.close(handle)

    def release(self) -> None:
        """Give the lock back, and take its file away."""
        if self._handle is None:
            return
        # An open file can't be removed on Windows: there it stays, and blocks nobody.
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._handle)
        self._handle = None

    def _is_still_there(self, handle: int) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), self.path.stat())
        except FileNotFoundError:
            return False


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        os.lseek(handle, 0, os.SEEK_SET)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
