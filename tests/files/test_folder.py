"""A folder is replaced whole: whatever fails or is killed, one edition stands or is put back."""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import Cli, clean_env
from support.tables import random_table

from casewise.errors import UsageError
from casewise.files import replace_folder
from casewise.files._atomic import recover_folder

EARLIER = {"a.txt": "earlier", "deep/b.txt": "earlier too"}
NEXT = {"a.txt": "next"}


def fill(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def held(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text("utf-8", "replace")
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.fixture
def out(tmp_path: Path) -> Path:
    place = tmp_path / "place" / "out"
    fill(place, EARLIER)
    return place


def alone(out: Path) -> bool:
    return [path.name for path in out.parent.iterdir()] == [out.name]


def fail_renames(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> None:
    """Let some of the next renames fail, counted from 1; the others are real."""
    real, count = os.rename, 0

    def rename(source: str | Path, target: str | Path) -> None:
        nonlocal count
        count += 1
        if count in numbers:
            raise OSError(errno.EBUSY, "Device or resource busy", str(source), None, str(target))
        real(source, target)

    monkeypatch.setattr(os, "rename", rename)


@pytest.mark.parametrize("stood", ["nothing", "empty", "full"])
def test_a_folder_takes_the_place_of_what_stood_there(out: Path, stood: str) -> None:
    if stood != "full":
        shutil.rmtree(out)
    if stood == "empty":
        out.mkdir()
    with replace_folder(out) as new:
        fill(new, NEXT)
        assert held(out) == (EARLIER if stood == "full" else {})
    assert held(out) == NEXT
    assert alone(out)
    mask = os.umask(0)
    os.umask(mask)
    assert out.stat().st_mode & 0o777 == 0o777 & ~mask


def test_what_can_not_be_put_back_is_kept_and_named_and_put_back_later(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_renames(patch, 2, 3)
        with pytest.raises(UsageError, match="nor put back") as caught, replace_folder(out) as new:
            fill(new, NEXT)
    (beside,) = out.parent.iterdir()
    assert str(beside / "old") in str(caught.value)
    assert held(beside / "old") == EARLIER
    recover_folder(out)
    assert held(out) == EARLIER
    assert alone(out)


KILLED = """
import os, shutil, signal, sys
from pathlib import Path

moment, out = sys.argv[1], Path(sys.argv[2])
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
    if moment == "tidying":
        next(path for path in Path(folder).rglob("*") if path.is_file()).unlink()
        die()
    rmtree(folder, **options)

os.rename, shutil.rmtree = renamed, removed
"""

WRITES = """
from casewise.files import replace_folder
with replace_folder(out) as new:
    (new / "a.txt").write_text("next")
    if moment == "writing":
        die()
"""


def killed(moment: str, out: Path, program: str = WRITES, cwd: Path | None = None) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED + program, moment, out],
        env=clean_env(),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moment", "left"),
    [
        ("writing", EARLIER),
        ("after rename 1", EARLIER),
        ("before rename 2", EARLIER),
        ("after rename 2", NEXT),
        ("tidying", NEXT),
    ],
)
def test_a_kill_at_any_step_loses_nothing(out: Path, moment: str, left: dict[str, str]) -> None:
    killed(moment, out)
    if "1" not in moment and "before" not in moment:
        assert held(out) == left
    recover_folder(out)
    assert held(out) == left
    assert alone(out)


def test_a_process_at_work_is_left_alone(out: Path) -> None:
    with replace_folder(out) as new:
        fill(new, NEXT)
        recover_folder(out)
        assert held(new) == NEXT
        with replace_folder(out) as other:
            fill(other, {"c.txt": "another"})
    assert held(out) == NEXT
    assert alone(out)


@pytest.fixture
def source(tmp_path: Path) -> pl.DataFrame:
    table = random_table(4, 1, answer="The reply.", explanation="Why.")
    table.write_parquet(tmp_path / "source.parquet")
    return table


EXPORT = ("export", "source.parquet", "--to", "hf", "--out", "place/out")


@pytest.mark.slow
def test_an_export_after_a_killed_one(
    cli_inside: Cli, tmp_path: Path, source: pl.DataFrame
) -> None:
    out = tmp_path / "place/out"
    assert cli_inside(*EXPORT).returncode == 0
    program = f"from casewise.cli import main\nsys.argv = ['casewise', *{EXPORT!r}]\nmain()"
    killed("after rename 1", out, program, tmp_path)
    assert not out.exists()
    done = cli_inside(*EXPORT)
    assert done.returncode == 0, done.stderr
    assert (out / "README.md").is_file()
    assert alone(out)
