"""A folder is replaced whole: whatever fails or is killed, one edition stands or is put back."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from support.simulated import World, planned, simulate
from support.studies import read_csv

EXPORT = ("annotate", "export", "study.yaml", "--votes", "given", "--out", "place/out", "--force")
FIRST, SECOND = "first", "second"


@pytest.fixture
def out(cli: Cli, tmp_path: Path) -> Path:
    """The folder of an export; the next is of a study with another title."""
    planned(tmp_path)
    simulate(tmp_path / "study.yaml", World(), seed=1).write(tmp_path / "given")
    text = (tmp_path / "study.yaml").read_text("utf-8")
    for title in (FIRST, SECOND):
        lines = (
            f"title: {title}" if part.startswith("title:") else part for part in text.split("\n")
        )
        (tmp_path / "study.yaml").write_text("\n".join(lines), "utf-8")
        if title == FIRST:
            assert cli(*EXPORT).returncode == 0
    return tmp_path / "place/out"


def edition(out: Path) -> str:
    """Title of the study whose export stands, whole."""
    assert read_csv(out / "votes.csv")
    card = (out / "data-card.md").read_text("utf-8")
    return SECOND if SECOND in card.split("\n")[0] else FIRST


def alone(out: Path) -> bool:
    return [path.name for path in out.parent.iterdir()] == [out.name]


def test_what_can_not_be_put_back_is_put_back_by_the_next(
    cli: Cli, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new edition can't be put in its place, nor the old one back; renames are real but for
    these."""
    real, count = os.rename, 0

    def rename(source: str | Path, target: str | Path) -> None:
        nonlocal count
        count += 1
        if count in (2, 3):
            raise OSError(errno.EBUSY, "Device or resource busy", str(source), None, str(target))
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        done = cli(*EXPORT)
    assert done.returncode == 2
    assert "place/out: Device or resource busy" in done.stderr
    (beside,) = out.parent.iterdir()
    assert edition(beside) == FIRST
    assert cli(*EXPORT).returncode == 0
    assert edition(out) == SECOND
    assert alone(out)


KILLED = """
import os, shutil, signal, sys
from pathlib import Path

moment = sys.argv[1]
rename, rmtree, count = os.rename, shutil.rmtree, 0

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def renamed(source, target):
    global count
    count += 1
    if moment == f"before rename {count}":
        die()
    rename(source, target)
    if moment == f"after rename {count}":
        die()

def removed(folder, **options):
    if moment == "tidying" and count == 2:
        next(path for path in Path(folder).rglob("*") if path.is_file()).unlink()
        die()
    rmtree(folder, **options)

os.rename, shutil.rmtree = renamed, removed
"""


def killed(moment: str, folder: Path) -> None:
    """Export in a process that dies at a moment."""
    command = f"sys.argv = ['casewise', *{EXPORT!r}]\n"
    program = f"import runpy\n{command}runpy.run_module('casewise', run_name='__main__')"
    done = subprocess.run(
        [sys.executable, "-c", KILLED + program, moment],
        env=clean_env(),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "left"),
    [
        ("before rename 1", FIRST),
        ("after rename 1", None),
        ("before rename 2", None),
        ("after rename 2", SECOND),
        ("tidying", SECOND),
    ],
)
def test_a_kill_at_any_step_loses_nothing(
    cli: Cli, out: Path, tmp_path: Path, moment: str, left: str | None
) -> None:
    killed(moment, tmp_path)
    assert (edition(out) if out.exists() else None) == left
    done = cli(*EXPORT)
    assert done.returncode == 0, done.stderr
    assert edition(out) == SECOND
