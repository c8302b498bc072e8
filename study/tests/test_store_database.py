"""The database under a study: its tables and its secrets."""

import json
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from conftest import Cli
from support.serving import Guest, Serving
from support.studies import KEYS, write_study

SERVE = ("annotate", "serve", "study.yaml", "--host", "203.0.113.1")
"""At none of this computer's addresses: the server ends once it has opened the database."""


def test_servers_may_start_at_once(tmp_path: Path, address: str) -> None:
    path = write_study(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        for server in pool.map(lambda _: Serving(path, address), range(4)):
            with server, Guest(server) as one:
                assert one.at == "/consent"


def test_what_is_no_database_of_a_study_is_refused(tmp_path: Path, cli: Cli) -> None:
    write_study(tmp_path)
    for address in ("sqlite://", "sqlite:///:memory:", "mysql://a@b/c"):
        done = cli(*SERVE, "--database", address)
        assert (done.returncode, "--database" in done.stderr) == (2, True), address
    (tmp_path / "notes.txt").write_text("no database\n" * 100, "utf-8")
    done = cli(*SERVE, "--database", "notes.txt")
    assert "notes.txt: damaged, or no database of a study" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("export", "DROP TABLE second_account"),
        ("reconcile", "ALTER TABLE participant DROP COLUMN confirmed"),
        ("serve", "ALTER TABLE participant ADD COLUMN age INTEGER"),
    ],
)
def test_a_database_of_another_form_is_refused(
    command: str, change: str, tmp_path: Path, cli: Cli
) -> None:
    path = write_study(tmp_path)
    assert cli(*SERVE).returncode == 2
    with closing(sqlite3.connect(path.with_suffix(".db"))) as connection:
        connection.execute(change)
        connection.execute("PRAGMA journal_mode = DELETE")
    before = path.with_suffix(".db").read_bytes()
    (tmp_path / "export.csv").write_text("Participant id,Submission id,Status\n", "utf-8")
    more = {"export": ("--out", "o"), "reconcile": ("export.csv",)}
    call = ("annotate", command, path.name, *more.get(command, ()))
    done = cli(*call, env={"COLUMNS": "400"})
    assert (done.returncode, done.stdout, done.stderr.count("error: ")) == (2, "", 1)
    assert "no database of a study as this version of casewise makes it" in done.stderr
    assert not (tmp_path / "o").exists()
    assert path.with_suffix(".db").read_bytes() == before


def test_secrets_are_made_once_and_for_their_owner(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.delenv(name)
    write_study(tmp_path)
    path = tmp_path / "study.secrets.json"
    said = cli(*SERVE).stderr
    made = path.read_text("utf-8")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not [load for load in json.loads(made).values() if load in said]
    assert cli(*SERVE).stderr == said
    assert path.read_text("utf-8") == made
    monkeypatch.setenv("CASEWISE_ADMIN_TOKEN", "short")
    assert "at least 16" in cli(*SERVE).stderr
    monkeypatch.setenv("CASEWISE_ADMIN_TOKEN", "long enough to be a token")
    assert "203.0.113.1" in cli(*SERVE).stderr
    monkeypatch.delenv("CASEWISE_ADMIN_TOKEN")
    path.write_text("[]")
    assert "not the secrets" in cli(*SERVE).stderr
