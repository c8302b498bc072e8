"""The walls of the house: who may import whom, and what each room shows."""

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src/casewise"

ROOMS = {
    "cli": {
        "analyses",
        "cases",
        "contexts",
        "dataset",
        "models",
        "exports",
        "gate",
        "judgements",
        "logs",
        "machine",
        "measures",
        "protocols",
        "replies",
        "reporting",
        "results",
        "runs",
        "statistics",
        "transcripts",
    },
    "machine": {"models", "cases"},
    "reporting": {
        *("results", "analyses", "replies", "judgements", "measures"),
        *("dataset", "statistics", "protocols", "contexts", "cases"),
    },
    "gate": {
        *("results", "replies", "judgements", "measures", "statistics"),
        *("protocols", "cases"),
    },
    "analyses": {
        *("results", "replies", "judgements", "measures", "statistics", "protocols", "cases"),
    },
    "exports": {
        *("results", "judgements", "measures", "dataset", "logs", "statistics", "protocols"),
        *("contexts", "cases"),
    },
    "results": {
        *("replies", "judgements", "measures", "statistics", "protocols", "contexts", "cases"),
    },
    "replies": {
        *("judgements", "measures", "transcripts", "statistics", "protocols", "contexts", "cases"),
    },
    "judgements": {"logs", "protocols", "cases"},
    "measures": {"statistics", "protocols", "cases"},
    "dataset": {"statistics", "contexts", "cases"},
    "runs": {"models", "logs", "protocols", "contexts", "cases"},
    "models": {"logs", "cases"},
    "transcripts": {"logs", "protocols", "contexts", "cases"},
    "logs": {"protocols", "contexts", "cases"},
    "protocols": {"contexts", "cases"},
    "contexts": {"cases"},
    "statistics": set(),
    "cases": set(),
    "choices": set(),
    "data": set(),
    "files": set(),
    "sheets": set(),
}
"""Each room and the rooms that it may open; ``errors`` and those of ``OPEN`` are open to all."""

A_RESULT_SHOWS_ITSELF = ("results/score.py", {"casewise.reporting", "casewise.analyses"})
"""The ways up, both taken late: a result shows itself, and has its analyses."""

OPEN = {"choices", "files", "options", "sheets"}
"""Rooms that every room may open."""


def never(path: str) -> bool:
    """What people do in a browser, and PyTorch, are other distributions'."""
    return False


WALLED: dict[str, Callable[[str], bool]] = {
    "inspect_ai": lambda path: path.startswith(
        (
            *("runs/", "models/", "logs/", "transcripts/tools"),
            "exports/redaction",
        )
    ),
    "xllamacpp": lambda path: path == "models/embedded.py",
    "torch": never,
    "transformers": never,
    "casewise_hf": never,
    "ray": lambda path: path == "runs/ray.py",
    "casewise_study": never,
    "fastapi": never,
    "uvicorn": never,
    "sqlalchemy": never,
    "babel": never,
    "filelock": lambda path: path == "files/atomic.py",
    "fcntl": lambda path: path == "files/atomic.py",
    "msvcrt": lambda path: path == "files/atomic.py",
    "csv": lambda path: path.startswith("files/"),
}
"""Libraries that only some files may import."""

FILES = sorted(SRC.rglob("*.py"))


@cache
def imports(path: Path) -> frozenset[str]:
    """What a file imports; each is read once, since every wall asks for all."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    name, above = A_RESULT_SHOWS_ITSELF
    if path == SRC / name:
        found = {one for one in found if one not in above and one.rpartition(".")[0] not in above}
    return frozenset(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_one_way(path: Path) -> None:
    parts = path.relative_to(SRC).parts
    if len(parts) == 1:
        return
    room = parts[0]
    for name in imports(path):
        pieces = name.split(".")
        if pieces[0] != "casewise" or len(pieces) < 2:
            continue
        other = pieces[1]
        if other in ROOMS and other != room:
            assert other in ROOMS[room] | OPEN, f"{room} may not import {other}"
            private = [piece for piece in pieces[2:] if piece.startswith("_")]
            assert not private, f"{name}: import a room through its door"


def test_no_two_packages_import_each_other() -> None:
    modules = {path.with_suffix(""): path.parent for path in FILES}
    modules |= {path.parent: path.parent for path in FILES if path.name == "__init__.py"}
    opened: dict[Path, set[Path]] = {package: set() for package in modules.values()}
    for path in FILES:
        for name in imports(path):
            place = SRC.parent.joinpath(*name.split("."))
            other = modules.get(place, path.parent)
            # What stands above only shows what stands below.
            if other != path.parent and path.parent not in other.parents:
                opened[path.parent].add(other)
    for package, others in opened.items():
        for other in others:
            assert package not in opened[other], f"{package} and {other} import each other"


FRONT_DOOR = {
    "__init__.py": set(),
    "api.py": {"cases", "choices", "errors", "files", "options", "sheets", "LazyModule"},
    "options.py": {"choices", "errors"},
}
"""The front door for Python, and what of ours each of its files may import when it is loaded."""


def imported_at_once(tree: ast.Module) -> set[str]:
    """What a file imports as soon as it is imported itself; what is for type checkers is not."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found


def test_the_front_door_imports_late_and_through_doors() -> None:
    """Importing casewise must cost nothing, and loading cases neither models nor statistics."""
    others = {"__main__.py", "errors.py", "machine.py"}
    assert {path.name for path in SRC.glob("*.py")} == {*FRONT_DOOR, *others}
    for name, allowed in FRONT_DOOR.items():
        path = SRC / name
        for one in imported_at_once(ast.parse(path.read_text("utf-8"))):
            pieces = one.split(".")
            if pieces[0] == "casewise":
                assert pieces[1] in allowed, f"{name} imports {one} at once"
        for one in imports(path):
            private = [piece for piece in one.split(".")[2:] if piece.startswith("_")]
            assert not one.startswith("casewise.") or not private, f"{name} imports {one}"
    init = imported_at_once(ast.parse((SRC / "__init__.py").read_text("utf-8")))
    assert {one.split(".")[0] for one in init} == {"importlib", "sys", "types", "typing"}


@pytest.mark.parametrize("library", WALLED)
def test_libraries_stay_behind_their_walls(library: str) -> None:
    for path in FILES:
        where = path.relative_to(SRC).as_posix()
        if any(name.split(".")[0] == library for name in imports(path)):
            assert WALLED[library](where), f"{where} imports {library}"


MOVES = {"os.replace", "os.rename", "os.link", "shutil.move", ".replace", ".rename", ".hardlink_to"}
APPENDS = {"os.write", "os.ftruncate"}
POLARS = {".write_csv", "pl.read_csv"}
WAYS = {way.rpartition(".")[2] for way in MOVES | APPENDS | POLARS}
ALLOWED = {
    "files/atomic.py": MOVES | APPENDS,
    # Another name for a log that can't be read: nothing is written.
    "runs/folder.py": {".replace"},
    # Judgements are a data frame; its texts are guarded by files.guard_cell.
    "judgements/table.py": POLARS | {".replace"},
}
"""What moves and appends files and writes CSV, and who else may, and why."""


def calls(path: Path) -> set[str]:
    """Of ``WAYS``, what a file calls: ``os.write``, and ``.name`` where there is one argument."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in WAYS:
                continue
            found.add(ast.unparse(node.func))
            # Of a text, replace takes two arguments; of a data frame, rename takes a mapping.
            if len(node.args) == 1 and not node.keywords and not isinstance(node.args[0], ast.Dict):
                found.add(f".{node.func.attr}")
    return found


def test_there_is_one_way_to_write_a_file() -> None:
    for path in FILES:
        where = path.relative_to(SRC).as_posix()
        own = calls(path) & (MOVES | APPENDS | POLARS)
        assert own <= ALLOWED.get(where, set()), f"{where}: use what casewise.files has"


def test_what_inspect_keeps_to_itself_is_not_imported() -> None:
    for path in FILES:
        where = path.relative_to(SRC).as_posix()
        private = [
            name
            for name in imports(path)
            if name.startswith("inspect_ai.")
            and any(part.startswith("_") for part in name.split("."))
        ]
        assert not private, f"{where} imports {private}"


def test_the_walk_through_the_house_names_files_that_exist() -> None:
    text = (SRC.parents[1] / "docs/internals/architecture.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text)) - {
        "tests/test_architecture.py",
        "tests/test_walk.py",
        "study/tests/test_walls.py",
    }
    assert len(named) >= 20
    absent = [name for name in sorted(named) if not (SRC / name).is_file()]
    assert not absent
