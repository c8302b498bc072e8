"""Help and completion of the study's commands are as those of casewise's own."""

from pathlib import Path

import pytest
from cli.test_help import complete
from conftest import Cli


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("casewise annot", ["annotate"]),
        ("casewise annotate sim", ["simulate"]),
        ("casewise annotate simulate --care", ["--careless"]),
        ("casewise annotate plan ", ["starter", "mine.jsonl"]),
    ],
)
def test_completion_offers_and_is_quick(line: str, offered: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").touch()
    found, modules = complete(line, tmp_path, CASEWISE_CACHE=str(tmp_path / "none"))
    assert found == offered
    assert not {"inspect_ai", "polars", "fastapi", "sqlalchemy"} & set(modules)


@pytest.mark.parametrize("width", [80, 50])
def test_the_group_lists_its_commands(cli: Cli, width: int) -> None:
    done = cli("annotate", "-h", env={"COLUMNS": str(width)})
    assert done.returncode == 0
    for name in ("plan", "simulate", "serve", "export", "payments"):
        assert f"│ {name} " in done.stdout


def test_a_mistyped_word_suggests_the_right_one(cli: Cli) -> None:
    done = cli("annotate", "simulat", env={"COLUMNS": "200"})
    assert done.returncode == 2
    assert "did you mean 'simulate'?" in done.stderr
