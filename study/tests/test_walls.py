"""The walls of the study: what of casewise it stands on, and what only some of its rooms import."""

import ast
import importlib
from pathlib import Path

import pytest
from conftest import ROOT
from test_architecture import APPENDS, MOVES, POLARS, calls, imports

SRC = ROOT / "study/src/casewise_study"
FILES = sorted(SRC.rglob("*.py"))

WALLED = {
    "fastapi": ("app_study/",),
    "uvicorn": ("app_study/study_app.py",),
    "sqlalchemy": ("store/",),
    "babel": ("study/language.py",),
}
"""Libraries that only some files may import."""


def used() -> dict[str, set[str]]:
    """Names of casewise that the study imports, by module."""
    found: dict[str, set[str]] = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "casewise":
                names = {alias.name for alias in node.names}
                found[node.module or ""] = found.get(node.module or "", set()) | names
    return found


@pytest.mark.parametrize(("module", "names"), used().items())
def test_names_of_casewise_are_public(module: str, names: set[str]) -> None:
    assert "._" not in module
    door = importlib.import_module(module)
    # The errors are one file, of which all is public that has no underscore.
    assert names <= set(getattr(door, "__all__", vars(door)))


def test_no_two_rooms_import_each_other() -> None:
    opened: dict[Path, set[Path]] = {path.parent: set() for path in FILES}
    for path in FILES:
        for name in imports(path):
            place = SRC.parent.joinpath(*name.split("."))
            room = place if place in opened else place.parent
            # What stands above only shows what stands below.
            if room in opened and room != path.parent and path.parent not in room.parents:
                opened[path.parent].add(room)
    for room, others in opened.items():
        for other in others:
            assert room not in opened[other], f"{room} and {other} import each other"


@pytest.mark.parametrize("library", WALLED)
def test_libraries_stay_behind_their_walls(library: str) -> None:
    for path in FILES:
        where = path.relative_to(SRC).as_posix()
        if any(name.split(".")[0] == library for name in imports(path)):
            assert where.startswith(WALLED[library]), f"{where} imports {library}"


def test_files_are_written_by_casewise_files() -> None:
    for path in FILES:
        assert not calls(path) & (MOVES | APPENDS | POLARS), path
