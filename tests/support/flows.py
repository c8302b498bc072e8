"""Several commands in one process of their own: for models that take long to import."""

import json
import subprocess
import sys
from pathlib import Path

from conftest import clean_env

Flows = dict[str, "subprocess.CompletedProcess[str]"]

_SCRIPT = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from casewise.cli import main
done = {}
for name, command in json.load(sys.stdin).items():
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["casewise", *command]
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
    done[name] = (code, out.getvalue(), err.getvalue())
print(json.dumps(done))
"""


def in_one_process(commands: dict[str, list[str]], folder: Path) -> Flows:
    """Run commands one after the other; each starts as on the command line."""
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        input=json.dumps(commands),
        cwd=folder,
        env=clean_env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    return {
        name: subprocess.CompletedProcess(commands[name], *outcome)
        for name, outcome in found.items()
    }
