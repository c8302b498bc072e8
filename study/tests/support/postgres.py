"""A PostgreSQL cluster of one's own, on a free port of this computer, thrown away afterwards."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Self

import pytest

USER = "postgres"


def programs() -> Path | None:
    """The folder of the newest server that is installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    onpath = shutil.which("initdb")
    return Path(onpath).parent if onpath else None


class Postgres:
    """Skips where no server is installed. As root it runs as another user: it must."""

    def __init__(self) -> None:
        self._programs = programs() or pytest.skip(
            "PostgreSQL is not installed (Debian: apt-get install postgresql)"
        )
        self._as: list[str] = []
        self._folder = Path(tempfile.mkdtemp(prefix="casewise-pg-"))
        if os.geteuid() == 0:
            try:
                owner = pwd.getpwnam(USER)
            except KeyError:
                pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)
            self._as = ["runuser", "-u", USER, "--"]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._number = count()

    def __enter__(self) -> Self:
        self._run("initdb", "-A", "trust", "-U", USER, "--no-sync", "-E", "UTF8", "--locale=C")
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        options = f"-F -p {self._port} -h 127.0.0.1 -k {self._folder}"
        log = self._folder / "log"
        self._run("pg_ctl", "-w", "-l", str(log), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Down for as long as the block lasts."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"study_{next(self._number)}"
        where = ["-h", "127.0.0.1", "-p", str(self._port), "-U", USER]
        self._call("psql", *where, "-q", "-d", USER, "-c", f"CREATE DATABASE {name}")
        return f"postgresql://{USER}@127.0.0.1:{self._port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        self._call(program, "-D", str(self._folder / "data"), *arguments)

    def _call(self, program: str, *arguments: str) -> None:
        command = [*self._as, str(self._programs / program), *arguments]
        # Into a file: the server that pg_ctl starts would hold a pipe open.
        with (self._folder / "said").open("w+") as said:
            done = subprocess.run(command, stdout=said, stderr=said, cwd="/", check=False)
            said.seek(0)
            assert done.returncode == 0, said.read()
