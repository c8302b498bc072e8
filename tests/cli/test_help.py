"""Help of the whole tree of commands, mistyped words, and completion."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Cli, cli_in
from support.helps import commands, options, pages


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return cli_in(tmp_path_factory.mktemp("help"))


def test_help_of_every_command(cli: Cli) -> None:
    """It fits 80 columns, each option and command stands in it, and a command shows examples."""
    wide, shown = dict(pages(cli, 300)), dict(pages(cli, 80))
    assert len(wide) > 40
    for path, page in wide.items():
        assert max(len(line) for line in shown[path].splitlines()) <= 80
        assert "Example" in page or commands(page), path
        for name in (*commands(page), *options(page)):
            assert re.search(rf"{name}(?![\w-])", shown[path]), (path, name)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scoer", "Did you mean 'score'"),
        ("cases validat", "Did you mean 'validate'?"),
        ("run --protocl x", "Possible options: --prompt, --protocol"),
        ("score --nothing-like-it x", "casewise score --help"),
    ],
)
def test_a_mistyped_word_suggests_the_right_one(cli: Cli, line: str, said: str) -> None:
    done = cli(*line.split(), env={"COLUMNS": "200"})
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("casewise sc", ["score"]),
        ("casewise run --protocol binary,sc", ["binary,score"]),
        ("casewise run -m ", ["casewise/smollm2"]),
        ("casewise run --cases ", ["starter", "casebench", "mine.jsonl"]),
        ("casewise run --deployment the", ["therapy-support"]),
        ("casewise run --ablate recipient,sender_p", ["recipient,sender_purpose"]),
        ("casewise cases split --se", ["--seed"]),
    ],
)
def test_completion_offers(cli_inside: Cli, line: str, offered: list[str], tmp_path: Path) -> None:
    for name in ("mine.jsonl", "other.txt"):
        (tmp_path / name).touch()
    done = cli_inside(env=completing(line))
    assert (done.stdout.split(), done.stderr) == (offered, "")


def completing(line: str) -> dict[str, str]:
    """What bash sets in the environment to ask what may stand at the end of a line."""
    place = str(len(line.split(" ")) - 1)
    return {"_CASEWISE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": place}


@pytest.mark.parametrize(
    ("line", "env"),
    [("run --help", {}), ("", completing("casewise run --ablate recipient,sender_p"))],
    ids=["help", "completion"],
)
def test_nothing_heavy_is_imported(line: str, env: dict[str, str]) -> None:
    code = (
        f"import sys; sys.argv = ['casewise', *{line.split()!r}]\n"
        "from casewise.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "assert not {'inspect_ai', 'polars', 'scipy'} & set(sys.modules)"
    )
    command = [sys.executable, "-c", code]
    subprocess.run(command, capture_output=True, check=True, env=os.environ | env)
