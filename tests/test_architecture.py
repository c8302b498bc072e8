"""The walls of the house: who may import whom, and what each room shows."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src/casewise"

ROOMS = (
    *("cli", "machine", "reporting", "gate", "analyses", "exports", "results", "replies"),
    *("judgements", "measures", "dataset", "runs", "models", "transcripts", "logs", "protocols"),
    *("contexts", "statistics", "cases", "data"),
)
"""Each room may open those that stand after it."""

OPEN = {"choices", "files", "sheets"}
"""What every room may open; it opens only its like."""


WALLED: dict[str, tuple[str, ...]] = {
    "inspect_ai": ("runs/", "models/", "logs/", "transcripts/tools", "exports/redaction"),
    "xllamacpp": ("models/embedded.py",),
    "ray": ("runs/ray.py",),
    **dict.fromkeys(("filelock", "fcntl", "msvcrt"), ("files/atomic.py",)),
    "csv": ("files/",),
    # What people do in a browser, and PyTorch, are other distributions'.
    **dict.fromkeys(("torch", "transformers", "casewise_hf", "casewise_study", "fastapi"), ()),
    **dict.fromkeys(("uvicorn", "sqlalchemy", "babel"), ()),
}
"""Libraries that only some files may import, and how these files' names begin."""

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
    return frozenset(found)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SRC)))
def test_imports_point_one_way(path: Path) -> None:
    room, *inside = path.relative_to(SRC).parts
    if not inside:
        return
    below = ROOMS[ROOMS.index(room) + 1 :] if room in ROOMS else ()
    for name in imports(path):
        top, other, *rest = [*name.split("."), "", ""]
        if top == "casewise" and other not in ("", room) and (SRC / other).is_dir():
            assert other in OPEN or other in below, f"{room} may not import {other}"
            private = [piece for piece in rest if piece.startswith("_")]
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
            found |= {f"{node.module}.{name.name}" for name in node.names}
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
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
            assert where.startswith(WALLED[library]), f"{where} imports {library}"


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
        "tests/golden/make.py",
        "tests/test_architecture.py",
        "tests/test_walk.py",
        "study/tests/test_walls.py",
    }
    assert len(named) >= 20
    absent = [name for name in sorted(named) if not (SRC / name).is_file()]
    assert not absent
