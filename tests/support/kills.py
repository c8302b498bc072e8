"""Start ``casewise run`` again and again, and kill it: each start is a process of its own.

As a program, it imports once what a start imports, and forks every start from there, so that a
start takes no seconds, and a kill can meet any moment of it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from support.fake_openai import FakeServer

PATIENCE_S = 120


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
    with subprocess.Popen(
        [sys.executable, __file__, *map(str, arguments)],
        cwd=cwd,
        env=dict(env) | {"PYTHONPATH": os.pathsep.join([*_tests(), env.get("PYTHONPATH", "")])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdin is not None
        assert starter.stdout is not None
        ended = []
        for requests, seconds in [*moments, (None, 0.0)]:
            before = len(server.requests)
            starter.stdin.write("start\n")
            starter.stdin.flush()
            child = int(starter.stdout.readline())
            if requests is not None:
                latest = time.monotonic() + PATIENCE_S
                while len(server.requests) < before + requests and time.monotonic() < latest:
                    time.sleep(0.002)
                time.sleep(seconds)
                # It may have come to its end before.
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
            ended.append(starter.stdout.readline().strip())
    return ended


def _tests() -> list[str]:
    return [str(Path(__file__).resolve().parent.parent)]


def _main() -> None:
    # What a start imports, so that it needn't.
    import inspect_ai.model._providers.openai_compatible  # noqa: F401

    import casewise.analysis.logs
    import casewise.evaluation
    import casewise.evaluation._lean  # noqa: F401
    from casewise.cli import main

    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            sys.argv[0] = "casewise"
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
