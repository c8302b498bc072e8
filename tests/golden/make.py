"""Make the golden set: what casewise makes of the answers of ``support.golden``.

    python tests/golden/make.py PYTHON [NAME...]

PYTHON is the interpreter of an environment with the version whose results are kept; NAMEs are
runs, or all.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from support.fake_openai import Answer, FakeServer  # noqa: E402
from support.golden import ENVIRONMENT, FOLDER, INPUTS, RUNS, STOPPED, answers  # noqa: E402

TABLE = """import sys
from support.golden import *
keep_table(table_of(Path(sys.argv[1])), Path(sys.argv[2]))"""
SHARDS = ("--engine", "ray")
ENOUGH = 22
"""Requests after which a run is killed: of 48."""


def main(python: str, names: Sequence[str]) -> None:
    """Make the tables and logs."""
    for name, options in RUNS.items():
        if not names or name in names:
            with tempfile.TemporaryDirectory() as folder:
                logs = _run(python, Path(folder), options)
                _write_table(python, logs, FOLDER / f"{name}.jsonl.gz")
    wanted = [one for one in ("whole", "shards", "killed") if not names or one in names]
    for name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            options = (*STOPPED, *SHARDS) if name == "shards" else STOPPED
            logs = _run(python, Path(folder), options, is_killed=name == "killed")
            if name == "whole":
                _write_table(python, logs, FOLDER / "whole.jsonl.gz")
            # It names a machine.
            (logs / ".casewise" / "lock.holder").unlink(missing_ok=True)
            kept = FOLDER / "logs" / name
            kept.with_suffix(".zip").unlink(missing_ok=True)
            shutil.make_archive(str(kept), "zip", logs)


def _run(python: str, folder: Path, options: Sequence[str], *, is_killed: bool = False) -> Path:
    """Run, up to the end or until it is killed; the folder of logs."""
    for name in INPUTS:
        shutil.copy(FOLDER / name, folder)
    answer = answers()

    def slowly(request: dict[str, Any]) -> Answer:
        time.sleep(0.1 * is_killed)
        return answer(request)

    logs = folder / "logs"
    with FakeServer(slowly) as server, (folder / "out.txt").open("w") as out:
        process = subprocess.Popen(
            [python, "-m", "casewise", "run", *options, "--log-dir", str(logs)],
            cwd=folder,
            env=dict(os.environ) | ENVIRONMENT | {"FAKE_BASE_URL": server.url},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
        while process.poll() is None and not (is_killed and len(server.requests) >= ENOUGH):
            time.sleep(0.02)
        if is_killed:
            process.kill()
        code = process.wait()
        print(" ".join(options), f"-> {code} after {len(server.requests)} requests", flush=True)
    print((folder / "out.txt").read_text()[-1500:])
    return logs


def _write_table(python: str, logs: Path, path: Path) -> None:
    subprocess.run(
        [python, "-c", TABLE, str(logs), str(path)],
        env=dict(os.environ) | {"PYTHONPATH": str(TESTS)},
        check=True,
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
