"""Start-up of commands beside ``import inspect_ai``, in turns within one run.

    python benchmarks/startup.py             # five turns; bounds are judged by the best of each
    python benchmarks/startup.py --turns 2

Other work on the machine can only slow a start down, so each is as good as its best turn.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASEWISE = [sys.executable, "-c", "from casewise.cli import main; main()"]
BESIDE = "import inspect_ai"
BOUNDS = {"--version": 0.3, "--help": 0.3, "run --help": 0.3, "score LOGS": 0.3}
"""Seconds that a command may take beyond the import of Inspect."""


def seconds(command: list[str], folder: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        judge = [*CASEWISE, "run", "--limit", "8", "--log-dir", "LOGS"]
        subprocess.run(judge, cwd=folder, capture_output=True, check=True)
        commands = {BESIDE: [sys.executable, "-c", BESIDE]}
        commands |= {line: [*CASEWISE, *line.split()] for line in BOUNDS}
        taken: dict[str, list[float]] = {line: [] for line in commands}
        for _ in range(turns):
            for line, command in commands.items():
                taken[line].append(seconds(command, folder))
    beside = min(taken[BESIDE])
    print(f"{'':22}{'best':>8}{'beyond':>9}  bound ({turns} turns)")
    print(f"{BESIDE:22}{beside:6.2f} s")
    for line, bound in BOUNDS.items():
        beyond = min(taken[line]) - beside
        verdict = "holds" if beyond <= bound else "MISSED"
        name = f"casewise {line}"
        print(f"{name:22}{min(taken[line]):6.2f} s{beyond:+7.2f} s  <= {bound:.1f} s, {verdict}")


if __name__ == "__main__":
    main()
