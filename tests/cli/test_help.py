"""What commands say of themselves, at two widths, and what shells offer: the whole tree."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli, cli_in
from typer.main import get_command

from casewise.cli import app

PANELS = {
    *("Model", "Cases", "Protocol", "Conversations", "Sampling", "Cost", "Where it runs"),
}
MANY = 10
"""Options from which on a command groups them in panels."""


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every group and command below one, each with the words that call it."""
    yield path, command.load() if hasattr(command, "load") else command
    for name, one in getattr(command, "commands", {}).items():
        yield from walk(one, (*path, name))


TREE = dict(walk(get_command(app)))


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return cli_in(tmp_path_factory.mktemp("help"))


@pytest.mark.parametrize("path", TREE, ids=" ".join)
@pytest.mark.parametrize("width", [80, 50])
def test_help_fits_and_cuts_nothing(cli: Cli, path: tuple[str, ...], width: int) -> None:
    done = cli(*path, "-h", env={"COLUMNS": str(width)})
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in done.stdout
    assert "Traceback" not in done.stderr
    names = [
        name
        for param in TREE[path].params
        if not param.hidden
        for name in (*param.opts, *param.secondary_opts)
    ]
    for name in (name for name in names if name.startswith("-")):
        assert re.search(rf"{name}(?![\w-])", done.stdout), name
    for param in TREE[path].params:
        kind = getattr(param.type_descriptor, "choices", None) or ()
        for choice in kind:
            # A name may be folded where it has a hyphen or stand in a list; it is never cut.
            assert re.search(rf"(?<![\w-]){choice}(?![\w-])", done.stdout), choice
    assert "<str>" not in done.stdout
    assert "list[" not in done.stdout
    body = done.stdout.split("\n", 1)[1]
    if hasattr(TREE[path], "commands"):
        assert all(re.search(rf"^│ {name}\b", body, re.M) for name in TREE[path].commands)
    else:
        assert body.index("Examples") < body.index("╭─"), "examples come first"


@pytest.mark.parametrize("path", TREE, ids=" ".join)
def test_many_options_stand_in_panels(path: tuple[str, ...]) -> None:
    shown = [one for one in TREE[path].params if one.param_type_name == "option" and not one.hidden]
    panels = [one.rich_help_panel for one in shown]
    if len(shown) > MANY:
        assert None not in panels, [one.name for one in shown if one.rich_help_panel is None]


def test_the_panels_of_run(cli: Cli) -> None:
    done = cli("run", "--help", env={"COLUMNS": "80"})
    found = re.findall(r"╭─ ([\w ]+?) ─", done.stdout)
    assert set(found) >= PANELS
    assert len(done.stdout.splitlines()) < 195


def test_examples_can_be_copied(cli: Cli) -> None:
    """A folded example is one command to a shell."""
    text = cli("run", "-h", env={"COLUMNS": "50"}).stdout
    text = text.split("Examples\n")[1].split("\n\n")[0]
    script = 'casewise() { printf "%s " casewise "$@"; echo; }\n' + text
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert "casewise run --model openai/gpt-4o --cases casebench --protocol binary --dry-run" in [
        line.strip() for line in done.stdout.splitlines()
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scoer", "did you mean 'score'?"),
        ("annotate simulat", "did you mean 'simulate'?"),
        ("run --protocl x", "did you mean --protocol?"),
        ("run --protocol binery", "did you mean 'binary'?"),
        ("run --delivery sistem", "did you mean 'system'?"),
        ("score --unparsed honst x", "did you mean 'honest'?"),
        ("compare a b --metric acuracy", "did you mean 'accuracy'?"),
        ("score --nothing-like-it x", "casewise score --help"),
    ],
)
def test_a_mistyped_word_suggests_the_right_one(cli: Cli, line: str, said: str) -> None:
    done = cli(*line.split(), env={"COLUMNS": "200"})
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def complete(line: str, folder: Path, **env: str) -> tuple[list[str], list[str]]:
    """What bash is offered at the end of a line, and what was imported for it."""
    code = (
        "import sys, json, atexit\n"
        "atexit.register(lambda: print(json.dumps(sorted(sys.modules)), file=sys.stderr))\n"
        "sys.argv = ['casewise']\n"
        "from casewise.cli import main\n"
        "main()"
    )
    words = line.split(" ")
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env = (
        kept
        | env
        | {
            "_CASEWISE_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
    )
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, capture_output=True, text=True, cwd=folder, env=env, check=True)
    *printed, modules = done.stderr.splitlines()
    assert not printed
    return done.stdout.split(), json.loads(modules)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("casewise sc", ["score"]),
        ("casewise run --protocol binary,sc", ["binary,score"]),
        ("casewise run -m ", ["casewise/smollm2", "casewise-hf/", "openai/", "openai-api/my-lab/"]),
        ("casewise run -m casewise-hf/m", ["casewise-hf/mine.gguf"]),
        ("casewise run --cases ", ["starter", "mine.jsonl"]),
        ("casewise run --deployment the", ["therapy-support"]),
        ("casewise run --ablate recipient,sender_p", ["recipient,sender_purpose"]),
        ("casewise score --by ", ["category", "intended"]),
        ("casewise score --labels con", ["consensus"]),
        ("casewise compare --metric acc", ["accuracy"]),
        ("casewise annotate sim", ["simulate"]),
        ("casewise annotate simulate --care", ["--careless"]),
    ],
)
def test_completion_offers_and_is_quick(line: str, offered: list[str], tmp_path: Path) -> None:
    for name in ("mine.jsonl", "mine.gguf", "other.txt"):
        (tmp_path / name).touch()
    env = {"OPENAI_API_KEY": "x", "MY_LAB_BASE_URL": "y", "CASEWISE_CACHE": str(tmp_path / "none")}
    found, modules = complete(line, tmp_path, **env)
    assert found == offered
    assert not {"inspect_ai", "polars", "scipy"} & set(modules)


def test_the_shell_can_be_told(cli: Cli) -> None:
    done = cli("--help", env={"COLUMNS": "80"})
    assert "--install-completion" in done.stdout
    assert "--show-completion" in done.stdout


@pytest.mark.parametrize("line", ["--version", "--help", "run --help", "score --help"])
def test_help_imports_nothing_heavy(line: str) -> None:
    code = (
        f"import sys; sys.argv = ['casewise', *{line.split()!r}]\n"
        "from casewise.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'inspect_ai', 'polars', 'scipy', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
