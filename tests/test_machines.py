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
    "models/provider.py": {"..._API_KEY", "..._BASE_URL"},
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


MODULES = {
    *("fcntl", "grp", "msvcrt", "nt", "posix", "pty", "pwd", "resource", "syslog", "termios"),
    *("tty", "winreg", "winsound", "_winapi", "curses", "readline", "crypt", "spwd"),
}
"""Modules of the standard library that not every system has."""

NAMES = {
    "os": {
        *("WNOHANG", "chown", "chroot", "ctermid", "fchmod", "fchown", "fork", "forkpty"),
        *("getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp"),
        *("getpriority", "getresuid", "getuid", "killpg", "lchown", "mkfifo", "mknod", "nice"),
        *("openpty", "posix_fadvise", "posix_fallocate", "posix_spawn", "pread", "pwrite"),
        *("register_at_fork", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile"),
        *("setgid", "setpgid", "setpgrp", "setpriority", "setsid", "setuid", "startfile"),
        *("statvfs", "sync", "tcgetpgrp", "ttyname", "uname", "wait", "wait3", "wait4", "waitid"),
        *("O_BINARY", "O_CLOEXEC", "O_DIRECTORY", "O_DSYNC", "O_NOFOLLOW", "O_NONBLOCK", "O_SYNC"),
    },
    "signal": {
        *("SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP"),
        *("SIGTSTP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "CTRL_C_EVENT", "CTRL_BREAK_EVENT"),
        *("alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait"),
    },
    "socket": {"AF_UNIX", "SO_REUSEPORT", "fromfd", "sethostname", "socketpair"},
    "time": {"tzset", "pthread_getcpuclockid"},
    "errno": {"EDQUOT", "ESTALE", "EREMOTE"},
    "asyncio": {"open_unix_connection", "start_unix_server", "SelectorEventLoop"},
}
"""Names that are absent on Windows or macOS, by what the standard library's pages say."""

METHODS = {"add_signal_handler", "remove_signal_handler"}
KEYWORDS = {
    "preexec_fn",
    "start_new_session",
    "pass_fds",
    "umask",
    "process_group",
    "creationflags",
}
FOLDERS = re.compile(r"^(/dev|/proc|/sys|/tmp|/etc|/bin|/usr|/var|/home|[A-Z]:\\)(/|$)")


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
        if id(node) not in guarded:
            yield from _of_one_system(node)


def _of_one_system(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names if one.name in MODULES)
    elif isinstance(node, ast.ImportFrom):
        yield from [node.module] if node.module in MODULES else []
        bad = NAMES.get(node.module or "", set())
        yield from (f"{node.module}.{one.name}" for one in node.names if one.name in bad)
    elif isinstance(node, ast.Attribute):
        if isinstance(node.value, ast.Name) and node.attr in NAMES.get(node.value.id, ()):
            yield f"{node.value.id}.{node.attr}"
        if node.attr in METHODS:
            yield node.attr
    elif isinstance(node, ast.keyword) and node.arg in KEYWORDS:
        yield node.arg
    elif isinstance(node, ast.Constant) and FOLDERS.match(str(node.value)):
        yield str(node.value)


def test_no_name_of_one_system_alone(trees: Trees) -> None:
    assert not [f"{where}: {name}" for where, tree in trees for name in unguarded(tree)]


def in_any_encoding(tree: ast.Module) -> Iterator[str]:
    """Texts that are read or written in whatever encoding a system prefers."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = {key.arg for key in node.keywords}
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        before = {"read_text": 0, "write_text": 1}.get(called)
        if before is not None and len(node.args) <= before and "encoding" not in given:
            yield ast.unparse(node)
        is_text = given & {"text", "universal_newlines"} and "encoding" not in given
        if is_text and ast.unparse(node.func).startswith("subprocess."):
            yield ast.unparse(node)


def test_texts_are_utf_8_on_every_system(trees: Trees) -> None:
    assert not [f"{where}: {call}" for where, tree in trees for call in in_any_encoding(tree)]
    bad = "path.read_text()\npath.write_text(text)\nsubprocess.run(command, text=True)\n"
    assert len(list(in_any_encoding(ast.parse(bad)))) == 3
    good = "path.read_text('utf-8')\nsubprocess.run(command, encoding='utf-8')\n"
    assert not list(in_any_encoding(ast.parse(good)))
