"""Backups of a study that runs: whole, for their owner alone, and good to go on from."""

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.postgres import Postgres
from support.serving import Guest, Serving, rows
from support.studies import KEYS, write_study


def kept(path: Path) -> list[Any]:
    """All that is known of people and their answers."""
    people = "SELECT rater, status, outcome, block, position, shown, counts FROM participant"
    return [rows(path, people), rows(path, "SELECT * FROM answer")]


def test_serving_and_exporting_from_a_backup_give_the_same_votes(
    tmp_path: Path, cli_inside: Cli
) -> None:
    study = write_study(tmp_path)
    with Serving(study) as server, Guest(server) as ada, Guest(server) as bob:
        ada.begin().finish()
        bob.begin().answer()
        own = bob.own_address.removeprefix(server.origin)
        code = ada.personal_code
        done = cli_inside("annotate", "backup", study.name, "--out", "backup")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "backup\n"
        collected = kept(server.database)
        for folder, file in (("live", study.name), ("restored", f"backup/{study.name}")):
            done = cli_inside("annotate", "export", file, "--out", folder)
            assert done.returncode == 0, done.stderr
    for path in (tmp_path / "live").rglob("*"):
        if path.is_file() and path.suffix in (".csv", ".jsonl"):
            other = tmp_path / "restored" / path.relative_to(tmp_path / "live")
            assert other.read_bytes() == path.read_bytes(), path
    backup = tmp_path / "backup"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o700
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in backup.iterdir()}
    assert files == dict.fromkeys(("study.yaml", "study.db", "cases.jsonl"), 0o600)
    # Everything is lost but the backup.
    for path in (study, *tmp_path.glob("study.db*"), tmp_path / "cases.jsonl"):
        path.unlink()
    done = cli_inside("annotate", "restore", "backup", "--out", "again")
    assert (done.returncode, done.stdout) == (0, "again/study.yaml\n"), done.stderr
    with Serving(tmp_path / "again/study.yaml") as server:
        assert kept(server.database) == collected
        with Guest(server, own) as bob, Guest(server, "/resume") as ada:
            assert bob.at == "/page/2"
            assert bob.finish().code == "COMPLETED"
            assert ada.come_back(code).url.path == "/done"
        assert server.rows("SELECT status FROM participant") == ["completed"] * 2


def test_what_can_not_be_backed_up_or_restored_is_told_and_leaves_nothing(
    tmp_path: Path, cli_inside: Cli
) -> None:
    study = write_study(tmp_path)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)

    def there() -> dict[Path, int]:
        # The server may still write what it logs.
        paths = (path for path in tmp_path.iterdir() if path.name != "log")
        return {path: path.stat().st_mtime_ns for path in paths}

    def refused(*options: str) -> str:
        before = there()
        done = cli_inside("annotate", "backup", study.name, *options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert there() == before, options
        return " ".join(done.stderr.split())

    assert "study.db is not there" in refused("--out", "b")
    with Serving(study) as server, Guest(server) as ada:
        ada.begin().answer()
        for force in ((), ("--force",)):
            assert "mine: give another place" in refused("--out", "taken", *force)
            assert "file is no folder" in refused("--out", "file", *force)
        gone = ("--out", "b", "--database", "gone.db")
        assert "gone.db is not there" in refused(*gone)
        assert "damaged" in refused("--out", "b", "--database", "torn.db")
        call = ("annotate", "backup", study.name, "--out", "backup")
        assert cli_inside(*call).returncode == 0
        assert "--force to replace it" in refused("--out", "backup")
        ada.answer()
        ada.answer()
        done = cli_inside(*call, "--force")
        assert done.returncode == 0, done.stderr
        # One of the three pages is an attention check.
        assert "1 person and 2 votes" in done.stderr
    shutil.copytree(tmp_path / "backup", tmp_path / "cut")
    with (tmp_path / "cut/study.db").open("r+b") as file:
        file.truncate(5000)
    for folder, options, words in (
        ("absent", ("--out", "new"), "not a backup of a study"),
        ("cut", ("--out", "new"), "damaged, or no database"),
        ("backup", ("--out", "."), "name a new or an empty folder"),
        ("backup", ("--out", "new", "--database", "sqlite:///x.db"), "leave it out"),
    ):
        done = cli_inside("annotate", "restore", folder, *options)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert words in " ".join(done.stderr.split())
        assert not (tmp_path / "new").exists()
    write_study(tmp_path, id="other")
    assert "holds the study 'small', not 'other'" in refused("--out", "b")


@pytest.mark.slow
def test_postgresql_is_backed_up_to_a_file_and_restored_to_another(
    tmp_path: Path, postgres: Postgres, cli_inside: Cli
) -> None:
    study = write_study(tmp_path)
    address = postgres.database()
    with Serving(study, address) as server, Guest(server) as ada:
        ada.begin().answer()
        own = ada.own_address.removeprefix(server.origin)
        call = ("annotate", "backup", study.name, "--out", "backup", "--database")
        done = cli_inside(*call, address)
        assert done.returncode == 0, done.stderr
        assert "1 person and" in done.stderr
    call = ("annotate", "restore", "backup", "--out", "again", "--database")
    done = cli_inside(*call, address)
    assert done.returncode == 2
    assert "holds a study already" in done.stderr
    assert not (tmp_path / "again").exists()
    restored = postgres.database()
    done = cli_inside(*call, restored)
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "again").glob("*.db*"))
    with (
        Serving(tmp_path / "again/study.yaml", restored) as server,
        Guest(server, own) as ada,
        Guest(server) as bob,
    ):
        # A new person gets a number of their own.
        assert ada.finish().code == bob.begin().finish().code == "COMPLETED"


def test_the_secrets_come_along(
    tmp_path: Path, cli_inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path)
    for name in KEYS:
        monkeypatch.delenv(name)
    with Serving(study, keys={}) as server, Guest(server, "/?participant=ada") as ada:
        ada.agree()
    keys = (tmp_path / "study.secrets.json").read_bytes()
    for command in (("backup", study.name), ("restore", "kept")):
        to = "kept" if command[0] == "backup" else "again"
        done = cli_inside("annotate", *command, "--out", to)
        assert done.returncode == 0, done.stderr
        assert "note: not in the backup" not in done.stderr
        file = tmp_path / to / "study.secrets.json"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert file.read_bytes() == keys
    found = cli_inside("annotate", "purge", "again/study.yaml", "ada")
    assert found.returncode == 0, found.stderr
