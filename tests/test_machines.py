"""The code on other systems, and the page on what it reads and leaves of a machine."""

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest
from conftest import ROOT

SRC = ROOT / "src/casewise"
OTHERS = [ROOT / f"{name}/src/casewise_{name}" for name in ("hf", "study")]
FILES = {path: root for root in (SRC, *OTHERS) for path in sorted(root.rglob("*.py"))}
"""Each file, with the folder that it is named from."""
(PAGE,) = ROOT.glob("docs/**/your-machine.md")

DYNAMIC = {
    "models/open.py": {"..._BASE_URL"},
    "models/chat.py": {"..._API_KEY", "..._BASE_URL"},
    "models/keys.py": {*("..._KEY", "..._TOKEN", "..._SECRET", "..._PASSWORD", "..._CREDENTIALS")},
    "models/target_file.py": {"{env:NAME}"},
    "study/accounts.py": {"CASEWISE_STUDY_SECRET", "CASEWISE_ADMIN_TOKEN"},
    "machine.py": {"..._API_KEY", "HF_TOKEN"},
}
"""What files read of the environment whose names don't stand in the call itself."""


Trees = list[tuple[str, ast.Module]]


@pytest.fixture(scope="module")
def trees() -> Trees:
    """Every file, parsed once for the tests of this one."""
    return [
        (path.relative_to(root).as_posix(), ast.parse(path.read_text("utf-8")))
        for path, root in FILES.items()
    ]


def constants(trees: Trees) -> dict[str, str]:
    """Texts that modules give a name, by that name."""
    return {
        node.targets[0].id: node.value.value
        for _, tree in trees
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def is_environ(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return (node.value.id, node.attr) == ("os", "environ")
    return isinstance(node, ast.Name) and node.id == "environ"


def read_in(tree: ast.Module, known: dict[str, str]) -> tuple[set[str], int]:
    """Variables that a file reads by name, and how often it reads others."""
    names: set[str] = set()
    uses = sum(is_environ(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    for node in ast.walk(tree):
        given: ast.expr | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            is_read = node.func.attr in ("get", "setdefault", "getenv")
            asked = ast.unparse(node.func) if is_read else ""
            if asked in ("os.environ.get", "os.environ.setdefault", "os.getenv"):
                given = node.args[0]
                uses += asked == "os.getenv"
        elif isinstance(node, ast.Subscript) and is_environ(node.value):
            given = node.slice
        elif isinstance(node, ast.Compare) and is_environ(node.comparators[0]):
            given = node.left
        if isinstance(node, ast.keyword) and node.arg == "envvar":
            given, uses = node.value, uses + 1
        if isinstance(given, ast.Name) and given.id in known:
            names.add(known[given.id])
        elif isinstance(given, ast.Constant):
            names.add(str(given.value))
        else:
            continue
        uses -= 1
    return names, uses


def test_the_page_names_the_variables_that_are_read_and_no_others(trees: Trees) -> None:
    known = constants(trees)
    read: set[str] = set()
    for where, tree in trees:
        names, others = read_in(tree, known)
        read |= names
        if others or where in DYNAMIC:
            assert others, f"{where} reads no variable whose name is not in the call"
            assert where in DYNAMIC, f"{where}: say in DYNAMIC which variables it reads"
            read |= DYNAMIC[where]
    assert len(read) > 20
    section = PAGE.read_text("utf-8").split("## Environment variables")[1].split("### Read by")[0]
    cells = re.findall(r"^\| (.*?) \|", section, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert named == read


def test_the_page_names_every_extra_and_the_cache() -> None:
    text = PAGE.read_text("utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for extra in project["optional-dependencies"].keys() - {"dev"}:
        assert f"`{extra}`" in text
    assert "`~/.cache/casewise`" in text


OF_ONE_SYSTEM = {
    *("fcntl", "grp", "msvcrt", "pty", "pwd", "resource", "termios", "tty", "winreg", "curses"),
    *("os.chown", "os.fork", "os.geteuid", "os.getuid", "os.killpg", "os.nice", "os.wait4"),
    *("os.sched_getaffinity", "os.sched_setaffinity", "os.setsid", "os.startfile", "os.uname"),
    *("signal.SIGALRM", "signal.SIGHUP", "signal.SIGKILL", "signal.SIGPIPE", "signal.SIGUSR1"),
    *("signal.pthread_kill", "signal.setitimer", "socket.AF_UNIX", "asyncio.open_unix_connection"),
    *("loop.add_signal_handler", "loop.remove_signal_handler"),
}
"""Modules and names that are absent on Windows or macOS, by what the standard library says."""


def unguarded(tree: ast.Module) -> Iterator[str]:
    """What a file uses that not every system has, outside of a question whether this one has it."""
    guarded: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp) and re.search(
            r"hasattr|os\.name|sys\.platform", ast.unparse(node.test)
        ):
            guarded |= {id(inner) for inner in ast.walk(node)}
        if isinstance(node, ast.Try) and any(
            handler.type is not None and "ImportError" in ast.unparse(handler.type)
            for handler in node.handlers
        ):
            guarded |= {id(inner) for one in node.body for inner in ast.walk(one)}
    for node in ast.walk(tree):
        names = list[str]()
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{name.name}" for name in node.names)]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = [f"{node.value.id}.{node.attr}"]
        if id(node) not in guarded:
            yield from OF_ONE_SYSTEM.intersection(names)


def test_no_name_of_one_system_alone(trees: Trees) -> None:
    assert not [f"{where}: {name}" for where, tree in trees for name in unguarded(tree)]


def test_texts_are_utf_8_on_every_system(trees: Trees) -> None:
    for where, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                least = {"read_text": 1, "write_text": 2}.get(node.func.attr, 0)
                given = len(node.args) + any(key.arg == "encoding" for key in node.keywords)
                assert given >= least, f"{where}: {ast.unparse(node)}"
