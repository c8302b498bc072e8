"""Files that a newcomer visits from a command to its verdict: few, and all named in the docs."""

import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT, clean_env
from support.weights import weights

RUN, JUDGED, SCORE = 52, 37, 25
"""Most files whose functions the first run calls, those of them before its scores, and
``casewise score`` of a published output."""


def walk(folder: Path, *arguments: str | Path) -> list[str]:
    """The files that a command enters, in a process of its own."""
    found = folder / "walk.txt"
    script = ROOT / "tests/support/walk.py"
    done = subprocess.run(
        [sys.executable, script, found, *arguments],
        cwd=folder,
        env=clean_env(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return found.read_text("utf-8").splitlines()


def described() -> tuple[set[str], set[str]]:
    """Files on both walks as the architecture names them: of ``run``, and of ``score``."""
    text = (ROOT / "docs/internals/architecture.md").read_text("utf-8")
    section = text.partition("## The walk of")[2].partition("\nWith `--model")[0]
    before, after = section.split("The walk of `casewise score`")
    names = re.compile(r"`((?:[a-z_]+/)*[a-z0-9_]+\.py)`")
    lines = [line for line in section.splitlines() if line.startswith("- ")]
    on_run = {names.findall(line)[0] for line in lines}
    return on_run, set(names.findall(before + after))


def test_the_first_run_visits_few_files_and_the_docs_name_each(tmp_path: Path) -> None:
    # Only on a new machine does a run fetch the weights.
    weights()
    files = walk(tmp_path, "run", "--limit", "2", "--log-dir", "logs")
    assert "sheets/tables.py" in files, "the run printed no table"
    assert set(files) == described()[0]
    assert len(files) <= RUN
    assert files.index("judgements/read.py") <= JUDGED


def test_scoring_published_outputs_visits_few_files(casebench: Path, tmp_path: Path) -> None:
    files = walk(tmp_path, "score", casebench / "exp/safety_gpt-4o/output_binary.json")
    assert "sheets/tables.py" in files, "no table was printed"
    assert set(files) <= described()[1]
    assert len(files) <= SCORE
