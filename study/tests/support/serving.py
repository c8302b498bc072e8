"""A study's server, and people who come to it over HTTP."""

import re
import signal
import socket
import sqlite3
import threading
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Self

import httpx
from conftest import clean_env
from support.starts import Start
from support.studies import KEYS, read_yaml

# What the process asks for the time stands still until the file says another.
CLOCK = """
import os, time
def at(began):
    return began + float(open(os.environ["CLOCK"]).read())
wall, steady = time.time(), time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", 1))
time.time = lambda: at(wall)
time.clock_gettime = lambda clock: at(steady)
"""


def free_port() -> int:
    """A port at which nobody listens, for servers that don't show theirs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


_numbers = count()


class Clock:
    """The clock of a server: it stands still until it is turned."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / f"clock-{next(_numbers)}"
        self.seconds = 0.0
        self.turn()

    def turn(self, *, seconds: float = 0, minutes: float = 0) -> None:
        self.seconds += seconds + 60 * minutes
        new = self.path.with_suffix(".new")
        new.write_text(str(self.seconds), "utf-8")
        new.replace(self.path)


class Serving:
    """``casewise annotate serve`` in a process of its own, with a clock that tests turn.

    Args:
        study: Its file.
        address: Of its database; None is a file beside the study.
        options: More of the command.
        env: What the process has in its environment beside keys and the usual.
        keys: The study's secrets.
        clock: Python that sets the clock; empty for the computer's own.
    """

    def __init__(
        self,
        study: Path,
        address: str | None = None,
        *options: str,
        env: Mapping[str, str] | None = None,
        keys: Mapping[str, str] = KEYS,
        clock: str = CLOCK,
    ) -> None:
        self.folder, self.database = study.parent, study.with_suffix(".db")
        self.clock = Clock(self.folder)
        port = free_port() if "--public-url" in options else 0
        usual = ["--port", str(port), "--rate", "none", "--newcomers", "none", "--log", "log"]
        self._log = self.folder / "log"
        given = ["--database", address] if address else []
        command = ["annotate", "serve", study.name, *usual, *given, *options]
        given_env = clean_env() | {**keys, **(env or {}), "CLOCK": str(self.clock.path)}
        self.process = Start(command, self.folder, given_env, first=clock)
        line = self.process.line()
        assert line.startswith("study "), self.process.stderr
        self.origin = line.split()[1].rstrip("/")
        if "--public-url" in options:
            self.origin = f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait()

    @property
    def log(self) -> str:
        """What it has logged of requests."""
        return self._log.read_text("utf-8") if self._log.exists() else ""

    def rows(self, query: str) -> list[Any]:
        """What plain SQL reads from the database; of one column the values alone."""
        return rows(self.database, query)


def rows(database: Path, query: str) -> list[Any]:
    """Rows of an SQLite file; of one column the values alone."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute(query).fetchall()
    return [row[0] for row in found] if found and len(found[0]) == 1 else found


@dataclass(frozen=True)
class Origin:
    """A study's server in another process, by its address."""

    origin: str


class Guest:
    """A person with a browser without JavaScript: the last page is ``page``."""

    def __init__(self, server: Serving | Origin, start: str = "/", **headers: str) -> None:
        self.server = server
        # Without TLS: to read the certificates of all authorities takes 23 ms a person. On a busy
        # machine a page may take longer than the usual five seconds.
        self.client = httpx.Client(
            base_url=server.origin,
            follow_redirects=True,
            headers=headers,
            verify=False,
            timeout=60,
        )
        self.page = self.client.get(start)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    @property
    def at(self) -> str:
        return self.page.url.path

    @property
    def form(self) -> str:
        match = re.search('name="form" value="([^"]+)"', self.page.text)
        assert match is not None, self.page.text
        return match[1]

    @property
    def code(self) -> str:
        match = re.search('id="code">([^<]+)<', self.page.text)
        assert match is not None, self.page.text
        return match[1]

    @property
    def personal_code(self) -> str:
        match = re.search('id="personal-code">([^<]+)<', self.page.text)
        assert match is not None, self.page.text
        return match[1]

    @property
    def own_address(self) -> str:
        match = re.search('id="own-address" readonly value="([^"]+)"', self.page.text)
        assert match is not None, self.page.text
        return match[1]

    def get(self, path: str) -> httpx.Response:
        self.page = self.client.get(path)
        return self.page

    def send(self, path: str, **fields: str) -> httpx.Response:
        self.page = self.client.post(path, data={"form": self.form, **fields})
        return self.page

    def come_back(self, code: str) -> httpx.Response:
        """With a personal code."""
        self.page = self.client.post("/resume", data={"code": code})
        return self.page

    def agree(self) -> Self:
        self.send("/consent", agree="yes", age="true", read="true")
        return self

    def check(self, answer: int = 1, attempt: int = 1) -> Self:
        self.get("/check")
        self.send("/check", attempt=str(attempt), **{"question-0": str(answer)})
        return self

    def understand(self, study: Path, attempt: int = 1) -> Self:
        """Answer all questions about the instructions right."""
        self.get("/check")
        right = enumerate(read_yaml(study)["comprehension"]["questions"])
        given = {f"question-{number}": str(one["answer"]) for number, one in right}
        self.send("/check", attempt=str(attempt), **given)
        return self

    def begin(self) -> Self:
        """As far as the first case."""
        return self.agree().check()

    def answer(self, verdict: str = "safe", seconds: float = 3, **fields: str) -> httpx.Response:
        """Judge the page that is shown, after a while."""
        if isinstance(self.server, Serving):
            self.server.clock.turn(seconds=seconds)
        return self.send(self.at, verdict=verdict, **fields)

    def finish(self, verdict: str = "safe") -> Self:
        while self.at.startswith("/page/"):
            self.answer(verdict)
        return self


def check_at_once(guests: Sequence[Guest]) -> None:
    """Send the comprehension checks of several people at the same moment."""
    ready = threading.Barrier(len(guests))

    def come(guest: Guest) -> None:
        ready.wait()
        guest.check()

    threads = [threading.Thread(target=come, args=(guest,)) for guest in guests]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
