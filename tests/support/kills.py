"""Start ``casewise run`` again and again, and kill it: each start is a process of its own.

As a program: ``python kills.py MOMENT... -- ARGUMENTS``. The modules are imported once, and every
start is forked from there, so that a start takes no seconds and a kill can meet any moment of it.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path


def killed_starts(
    arguments: Sequence[str | Path], moments: Sequence[float], cwd: Path, env: Mapping[str, str]
) -> list[str]:
    """Start once for each moment (seconds), kill -9 then, and start once more to the end.

    Returns:
        What became of each start: ``killed``, or its exit status.
    """
    done = subprocess.run(
        [sys.executable, __file__, *map(str, moments), "--", *map(str, arguments)],
        cwd=cwd,
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    return done.stdout.split()


def _main() -> None:
    at = sys.argv.index("--")
    moments, arguments = list(map(float, sys.argv[1:at])), sys.argv[at + 1 :]
    # What a start imports, so that it needn't.
    import inspect_ai
    import inspect_ai.model._providers.openai_compatible

    import casewise.analysis.logs
    import casewise.evaluation._lean
    from casewise.cli import main

    del inspect_ai, casewise
    for moment in [*moments, None]:
        child = os.fork()
        if child == 0:
            sys.argv = ["casewise", *arguments]
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            with Path("stderr.txt").open("a") as file:
                os.dup2(file.fileno(), 2)
            code = 0
            try:
                main()
            except SystemExit as end:
                code = int(end.code or 0)
            os._exit(code)
        if moment is not None:
            time.sleep(moment)
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        print("killed" if os.WIFSIGNALED(status) else os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _main()
