"""The suite itself: what it speaks to, the key that it finds, and what commands leave behind."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT, Cli

SEAM = {"casewise", "casewise.errors"}
"""What tests may import of ours: what users do. All else they reach by commands, files and HTTP."""

UNITS = {
    "tests/analyses": {"casewise.analyses"},
    "tests/statistics": {"casewise.statistics", "casewise.measures"},
    "tests/protocols": {"casewise.protocols"},
    "tests/cases": {"casewise.cases"},
    "study/tests": {"casewise.statistics", "casewise_study", "casewise_study.statistics"},
}
"""Folders whose arithmetic would be lost at the seam: statistics, readers of answers, votes and
labels; and analyses, which anybody adds to. They import a room's public names."""

WITHIN = ROOT / "tests/data/within.txt"
"""Files that still reach within: none may join them, and each that needs no more leaves."""


def imported(path: Path) -> Iterator[str]:
    """Modules of ours that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            names = []
        yield from (name for name in names if name.split(".")[0].startswith("casewise"))


def test_tests_speak_to_casewise_as_users_do() -> None:
    files = [
        path
        for folder in ("tests", "hf/tests", "study/tests")
        for path in ROOT.glob(f"{folder}/**/*.py")
    ]
    within = set()
    for path in files:
        where = path.relative_to(ROOT).as_posix()
        allowed = SEAM | UNITS.get("/".join(where.split("/")[:2]), set())
        if not allowed.issuperset(imported(path)):
            within.add(where)
    assert within == set(WITHIN.read_text("utf-8").split())


def pytest_in(folder: Path, *arguments: str | Path) -> str:
    """What pytest prints over other tests under this project's settings."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-c", ROOT / "pyproject.toml", "--rootdir", folder, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_command_leaves_no_module_of_its_folder(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "left_behind.py").write_text("def answer(messages):\n    return 'No.'\n", "utf-8")
    path = list(sys.path)
    assert cli("target", "check", "left_behind:answer").returncode == 0
    assert "left_behind" not in sys.modules
    assert sys.path == path


def test_a_test_that_prints_a_key_fails(tmp_path: Path) -> None:
    path = tmp_path / "test_prints.py"
    path.write_text(
        "from support.secret import KEY\n\n\ndef test_prints():\n    print(KEY)\n", "utf-8"
    )
    assert "the planted key was printed or logged" in pytest_in(tmp_path, "-p", "conftest", path)
