"""Start ``casewise run`` again and again, and kill it: each start is a process of its own.

As a program, it imports once what a start imports, and forks every start from there, so that a
start takes no seconds, and a kill can meet any moment of it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from support.fake_openai import FakeServer

PATIENCE_S = 120


@dataclass(frozen=True, slots=True)
class Starter:
    """The process that every start is forked from."""

    process: "subprocess.Popen[str]"

    def start(self, arguments: Sequence[str | Path], cwd: Path) -> int:
        """Begin; the number of the start's process. What it says on stderr is in stderr.txt."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{json.dumps([*map(str, arguments)])} {cwd}\n")
        self.process.stdin.flush()
        return int(self._line())

    def end(self) -> str:
        """Wait for its end: ``killed``, or the exit status."""
        return self._line()

    def run(self, arguments: Sequence[str | Path], cwd: Path) -> str:
        """Begin, and wait for the end."""
        self.start(arguments, cwd)
        return self.end()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()


@contextmanager
def starting(env: Mapping[str, str]) -> Iterator[Starter]:
    """A process to start from, as long as the block lasts."""
    with subprocess.Popen(
        [sys.executable, __file__],
        env=dict(env) | {"PYTHONPATH": os.pathsep.join([*_tests(), env.get("PYTHONPATH", "")])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Starter(process)


def killed_starts(
    arguments: Sequence[str | Path],
    moments: Sequence[tuple[int, float]],
    server: FakeServer,
    cwd: Path,
    env: Mapping[str, str],
) -> list[str]:
    """Start once for each moment, kill -9 then, and start once more to the end.

    A moment is so many requests that a start sends, and so many seconds after them.

    Returns:
        What became of each start: ``killed``, or its exit status.
    """
    with starting(env) as starter:
        ended = []
        for requests, seconds in [*moments, (None, 0.0)]:
            before = len(server.requests)
            child = starter.start(arguments, cwd)
            if requests is not None:
                latest = time.monotonic() + PATIENCE_S
                while len(server.requests) < before + requests and time.monotonic() < latest:
                    time.sleep(0.002)
                time.sleep(seconds)
                # It may have come to its end before.
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            ended.append(starter.end())
    return ended


def _tests() -> list[str]:
    return [str(Path(__file__).resolve().parent.parent)]


def _main() -> None:
    # What a start imports, so that it needn't.
    import inspect_ai.model._providers.openai_compatible  # noqa: F401

    import casewise.evaluation
    import casewise.evaluation.models._lean_client
    import casewise.scores._log_rows
    import casewise.scores._logged_runs  # noqa: F401
    from casewise.cli import main

    for line in sys.stdin:
        arguments, length = json.JSONDecoder().raw_decode(line)
        child = os.fork()
        if child == 0:
            os.chdir(line[length:].strip())
            sys.argv = ["casewise", *arguments]
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            with Path("stderr.txt").open("a") as file:
                os.dup2(file.fileno(), 2)
            code = 0
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
            os._exit(code)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _main()
