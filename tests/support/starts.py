"""Start ``casewise`` in processes of their own: for tests that kill, stop or question them.

One process imports once what a start imports, and every start is forked from there: a start takes
no seconds, and a kill can meet any moment of it.
"""

import atexit
import multiprocessing
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from itertools import count
from pathlib import Path
from zipfile import ZipFile

from support.fake_openai import FakeServer, HeldServer

PATIENCE_S = 120


def command() -> Callable[[], None]:
    """What the shell's ``casewise`` calls."""
    (script,) = entry_points(group="console_scripts", name="casewise")
    called: Callable[[], None] = script.load()
    return called


_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    [
        "casewise.cli",
        "casewise.runs",
        "casewise.models.chat",
        "casewise.judgements.logs",
        "casewise_study.app_study.study_app",
    ]
)


class Start:
    """A command in a process of its own, used much as a ``subprocess.Popen`` is.

    Args:
        arguments: What follows ``casewise``.
        cwd: The folder to run in.
        env: The whole environment.
        err: A file, pipe or terminal that takes stderr. None: it is kept for ``communicate``.
        first: Python that the process runs before the command.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        cwd: Path,
        env: Mapping[str, str],
        *,
        err: str | None = None,
        first: str = "",
    ) -> None:
        number = next(_numbers)
        self._out, self._err = (Path(_streams(), f"{number}.{name}") for name in ("out", "err"))
        self._out.touch()
        self._err.touch()
        self._read = 0
        self._process = _CONTEXT.Process(
            target=_casewise,
            args=(
                [*map(str, arguments)],
                *(cwd, dict(env), _cores(), self._out, err or self._err, first),
            ),
            # What a failed test leaves running ends with the tests.
            daemon=True,
        )
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit status, or minus the signal's number; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """As ``returncode``."""
        return self._process.exitcode

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Wait for the end.

        Raises:
            TimeoutError: It still runs.
        """
        self._process.join(timeout)
        if self.returncode is None:
            raise TimeoutError(f"process {self.pid} still runs after {timeout} s")
        return self.returncode

    def communicate(self, timeout: float = PATIENCE_S) -> tuple[str, str]:
        """Wait for the end; all of stdout and of stderr."""
        self.wait(timeout)
        return self._out.read_text("utf-8"), self.stderr

    @property
    def stderr(self) -> str:
        """What it has said so far."""
        return self._err.read_text("utf-8")

    def line(self) -> str:
        """Wait for the next line of stdout; empty once it has ended."""
        while True:
            ended = self.returncode is not None
            lines = self._out.read_text("utf-8").splitlines(keepends=True)
            if len(lines) > self._read and lines[self._read].endswith("\n"):
                self._read += 1
                return lines[self._read - 1]
            if ended:
                return ""
            time.sleep(0.01)

    def send_signal(self, way: int) -> None:
        """Send a signal, unless it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, way)

    def kill(self) -> None:
        """Kill -9."""
        self.send_signal(signal.SIGKILL)


def inspect_eval(arguments: Sequence[str | Path], cwd: Path, env: Mapping[str, str]) -> str:
    """Run ``inspect eval`` to its end, in a process of its own that need not import Inspect.

    Returns:
        What it printed.
    """
    given = ["inspect", "eval", *map(str, arguments)]
    code = f"import sys; from inspect_ai._cli.main import main; sys.argv = {given}; main()"
    start = Start([], cwd, env, first=code)
    out, err = start.communicate()
    assert start.returncode == 0, out + err
    return out


def until(is_so: Callable[[], bool], process: Start) -> None:
    """Wait for something while a process runs."""
    latest = time.monotonic() + PATIENCE_S
    while not is_so():
        assert process.poll() is None, process.stderr
        assert time.monotonic() < latest, process.stderr
        time.sleep(0.01)


def until_held(process: Start, server: HeldServer, logs: Path, at_once: int) -> None:
    """Wait until a run keeps every answer that it got, and each of its connections waits."""
    until(lambda: logged_samples(logs) == server.answers, process)
    until(lambda: len(server.requests) == server.answers + at_once, process)


def logged_samples(logs: Path) -> int:
    """How many samples the logs of a folder hold, those that grow among them."""
    kept = sum(path.read_bytes().count(b"\n") - 1 for path in logs.glob("*.running"))
    for path in logs.glob("*.eval"):
        with ZipFile(path) as file:
            kept += sum(name.startswith("samples/") for name in file.namelist())
    return kept


def killed_starts(
    arguments: Sequence[str | Path],
    moments: Sequence[tuple[int, float]],
    server: FakeServer,
    cwd: Path,
    env: Mapping[str, str],
) -> list[int]:
    """Start once for each moment, kill -9 then, and start once more to the end.

    A moment is so many requests that a start sends, and so many seconds after them.

    Returns:
        The exit status of each start: -9 where it was killed.
    """
    ended = []
    for requests, seconds in [*moments, (None, 0.0)]:
        before = len(server.requests)
        process = Start(arguments, cwd, env)
        if requests is not None:
            latest = time.monotonic() + PATIENCE_S
            while len(server.requests) < before + requests and time.monotonic() < latest:
                time.sleep(0.002)
            time.sleep(seconds)
            process.kill()
        ended.append(process.wait(PATIENCE_S))
    return ended


_numbers = count()


@cache
def _streams() -> str:
    """The folder of what starts have said."""
    folder = tempfile.mkdtemp(prefix="casewise-starts-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _cores() -> set[int]:
    """Those that a start may use: as many as this process now, not as when the first start was."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _casewise(
    arguments: list[str],
    cwd: Path,
    env: dict[str, str],
    cores: set[int],
    out: Path,
    err: Path | str,
    first: str,
) -> None:
    if cores:
        os.sched_setaffinity(0, cores)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    # What started the tests may have told its children to ignore Ctrl-C, or, as nohup does, the end
    # of a terminal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # New streams as well: the old ones know what they were opened for.
    for number, path in ((1, out), (2, err)):
        opened = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    run = command()
    exec(first, {})
    sys.argv = ["casewise", *arguments]
    run()
