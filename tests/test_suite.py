"""The suite itself: what it speaks to, the key that it finds, and what commands leave behind."""

import ast
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

SEAM = {"casewise", "casewise.errors"}
"""What tests may import of ours: what users do. All else they reach by commands, files and HTTP."""

UNITS = {
    "tests/analyses": {"casewise.results"},
    "tests/statistics": {"casewise.statistics", "casewise.measures"},
    "tests/protocols": {
        "casewise.protocols",
        *(f"casewise.protocols.{name}" for name in ("binary", "guard", "probability", "score")),
    },
    "tests/cases": {"casewise.cases"},
    "study/tests": {"casewise.statistics", "casewise_study", "casewise_study.statistics"},
}
"""Folders whose arithmetic would be lost at the seam: statistics, readers of answers, votes and
labels; and analyses, which anybody adds to. They import a room's public names, and readers from the
file of their protocol."""

WITHIN = ROOT / "tests/data/within.txt"
"""Files that still reach within: none may join them, and each that needs no more leaves."""


def imported(path: Path) -> Iterator[str]:
    """Modules of ours that a file imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
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
