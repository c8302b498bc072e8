"""A server of one's own, in a process of its own, as a study has it."""

import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import UsageError

_SECRET, _ADMIN = "CASEWISE_STUDY_SECRET", "CASEWISE_ADMIN_TOKEN"
_STOP_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Served:
    """Where a rehearsal's server is reached, and what its database needs."""

    url: str
    database: str
    secret: str
    admin: str
    process: int
    """Its id, for those who want to kill it."""


@contextlib.contextmanager
def served(study: Path, *, speed: float, database: str | None = None) -> Iterator[Served]:
    """Serve a study for a rehearsal, with secrets that are forgotten afterwards.

    Args:
        study: The study's file.
        speed: Time runs so many times as fast.
        database: None is an SQLite file that is deleted afterwards.

    Raises:
        UsageError: The server doesn't start; with what it said.
    """
    secret, admin = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
    keys = {_SECRET: secret, _ADMIN: admin}
    with tempfile.TemporaryDirectory(prefix="casewise-") as folder:
        address = database or f"sqlite:///{Path(folder) / 'rehearsal.db'}"
        command = [sys.executable, "-m", "casewise", "annotate", "serve", str(study)]
        command += ["--database", address, "--port", "0", "--rate", "none", "--speed", f"{speed:g}"]
        said = Path(folder) / "said"
        with said.open("wb") as errors:
            process = subprocess.Popen(
                command, env=os.environ | keys, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert process.stdout is not None
        try:
            first = process.stdout.readline().split()
            if len(first) != 2:
                process.wait(_STOP_SECONDS)
                raise UsageError(said.read_text("utf-8").strip().removeprefix("error: "))
            yield Served(first[1].rstrip("/"), address, secret, admin, process.pid)
        finally:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
