"""Backups of a study that runs: whole, for their owner alone, and good to go on from."""

import re
import shlex
import shutil
import sqlite3
import stat
import subprocess
import threading
from pathlib import Path

import httpx
import pytest
from conftest import Cli
from support.postgres import Postgres, programs
from support.serving import Guest, Serving
from support.storms import KEYS as STORM_KEYS
from support.storms import StudyServer, running
from support.studies import KEYS, write_study

from casewise.annotation.store.study_secrets import ADMIN_VARIABLE, SECRET_VARIABLE, Secrets

PEOPLE = 4
QUERIES = tuple(f"query number {number}" for number in range(30))


def give(monkeypatch: pytest.MonkeyPatch, keys: Secrets) -> None:
    monkeypatch.setenv(SECRET_VARIABLE, keys.secret)
    monkeypatch.setenv(ADMIN_VARIABLE, keys.admin)


@pytest.fixture
def keys_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands have the keys of the tests."""
    give(monkeypatch, KEYS)


class Voters:
    """People who answer as fast as the server lets them; each reason is one of a kind."""

    def __init__(self, origin: str) -> None:
        self.taken: list[str] = []
        """Reasons of answers that the server has acknowledged, in that order."""
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._judge, args=(origin, number)) for number in range(PEOPLE)
        ]

    def __enter__(self) -> "Voters":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, answers: int) -> None:
        while len(self.taken) < answers:
            assert any(thread.is_alive() for thread in self._threads)
            self._stop.wait(0.02)

    def _judge(self, origin: str, number: int) -> None:
        with httpx.Client(base_url=origin, follow_redirects=True, timeout=60) as client:
            page = client.get("/")

            def send(where: str, **fields: str) -> httpx.Response:
                found = re.search('name="form" value="([^"]+)"', page.text)
                assert found is not None, page.text
                return client.post(where, data={"form": found[1], **fields})

            page = send("/consent", agree="yes", age="true", read="true")
            page = client.get("/check")
            page = send("/check", attempt="1", **{"question-0": "1"})
            while page.url.path.startswith("/page/") and not self._stop.is_set():
                reason = f"reason {number} {page.url.path}"
                after = send(page.url.path, verdict="safe", reason=reason)
                assert after.url.path != page.url.path
                self.taken.append(reason)
                page = after


def reasons(path: Path) -> set[str]:
    with sqlite3.connect(path) as database:
        found = {row[0] for row in database.execute("SELECT reason FROM vote")}
    database.close()
    return found


def test_while_people_vote_nothing_that_was_taken_before_is_missing(
    tmp_path: Path, cli_inside: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = write_study(tmp_path, QUERIES, blocks=PEOPLE, timing={"least_seconds": 0})
    give(monkeypatch, STORM_KEYS)
    server = StudyServer(study, f"sqlite:///{tmp_path / 'study.db'}", 1)
    backups = [tmp_path / f"backup-{number}.db" for number in range(3)]
    before = []
    with running(server), Voters(server.url) as voters:
        for number, to in enumerate(backups):
            voters.wait_for(15 * (number + 1))
            before.append(set(voters.taken))
            done = cli_inside("annotate", "backup", study.name, "--out", to.name)
            assert done.returncode == 0, done.stderr
            assert done.stdout == f"{to.name}\n"
            assert f"{PEOPLE} people and {len(reasons(to))} votes" in done.stderr
        after = set(voters.taken)
    for to, taken in zip(backups, before, strict=True):
        # Answers to attention checks are no votes: one page of each person's.
        checks = taken - reasons(to)
        assert len(checks) <= PEOPLE
        assert checks <= after - reasons(tmp_path / "study.db")
        assert stat.S_IMODE(to.stat().st_mode) == 0o600
        assert not list(tmp_path.glob(f"*{to.name}-*"))
    assert not [one for one in tmp_path.iterdir() if one.name.startswith(".")]


def test_a_copy_of_the_file_alone_lacks_votes_and_the_backup_does_not(
    tmp_path: Path, cli_inside: Cli, keys_given: None
) -> None:
    study = write_study(tmp_path)
    with Serving(study) as server, Guest(server) as ada:
        ada.begin().answer(reason="kept")
        ada.answer(reason="kept as well")
        shutil.copy(tmp_path / "study.db", tmp_path / "copied.db")
        done = cli_inside("annotate", "backup", study.name, "--out", "backup.db")
        assert done.returncode == 0, done.stderr
        taken = {vote.reason for vote in server.store.collected().votes}
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        reasons(tmp_path / "copied.db")
    assert reasons(tmp_path / "backup.db") == taken


def test_serving_and_exporting_from_a_backup_give_the_same_votes(
    tmp_path: Path, cli_inside: Cli, keys_given: None
) -> None:
    study = write_study(tmp_path)
    with Serving(study) as server, Guest(server) as ada, Guest(server) as bob:
        ada.begin().finish()
        bob.begin().answer()
        own = bob.own_address.removeprefix(server.origin)
        code = ada.personal_code
        done = cli_inside("annotate", "backup", study.name, "--out", "backup.db")
        assert done.returncode == 0, done.stderr
        collected = server.store.collected()
        for folder, options in (("live", ()), ("restored", ("--database", "backup.db"))):
            done = cli_inside("annotate", "export", study.name, "--out", folder, *options)
            assert done.returncode == 0, done.stderr
    for one in (tmp_path / "live").rglob("*"):
        if one.is_file() and one.suffix in (".csv", ".jsonl"):
            other = tmp_path / "restored" / one.relative_to(tmp_path / "live")
            assert other.read_bytes() == one.read_bytes(), one
    # The database is lost; its place is taken by the backup, as the documentation says.
    for one in tmp_path.glob("study.db*"):
        one.unlink()
    shutil.copy(tmp_path / "backup.db", tmp_path / "study.db")
    with Serving(study) as server:
        assert server.store.collected() == collected
        with Guest(server, own) as bob, Guest(server, "/resume") as ada:
            assert bob.at == "/page/2"
            assert bob.finish().code == "COMPLETED"
            assert ada.come_back(code).url.path == "/done"
        assert server.store.progress().completed == 2


def test_what_can_not_be_backed_up_is_told_and_leaves_nothing(
    tmp_path: Path, cli_inside: Cli, keys_given: None
) -> None:
    study = write_study(tmp_path)
    (tmp_path / "taken.db").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "torn.db").write_bytes(b"SQLite format 3\0" + b"x" * 5000)
    (tmp_path / "empty.db").touch()
    (tmp_path / "held.db-wal").write_text("of a server")

    def refused(*options: str) -> str:
        before = {one: one.stat().st_mtime_ns for one in tmp_path.iterdir()}
        done = cli_inside("annotate", "backup", study.name, *options)
        assert (done.returncode, done.stdout) == (2, ""), options
        assert {one: one.stat().st_mtime_ns for one in tmp_path.iterdir()} == before, options
        return " ".join(done.stderr.split())

    assert "study.db is not there" in refused("--out", "b.db")
    with Serving(study) as server, Guest(server) as ada:
        ada.begin().answer()
        assert "taken.db exists: --force overwrites it" in refused("--out", "taken.db")
        assert "is a folder" in refused("--out", "folder", "--force")
        assert "is the database itself" in refused("--out", "study.db", "--force")
        assert "a server uses it" in refused("--out", "held.db", "--force")
        gone = ("--out", "b.db", "--database", "gone.db")
        assert "gone.db: no such file" in refused(*gone)
        for name in ("torn.db", "empty.db"):
            said = refused("--out", "b.db", "--database", name)
            assert "can't be backed up" in said
            assert name in said
        assert (tmp_path / "taken.db").read_text() == "mine"
        done = cli_inside("annotate", "backup", study.name, "--out", "taken.db", "--force")
        assert done.returncode == 0, done.stderr
        assert "1 person and" in done.stderr
        assert stat.S_IMODE((tmp_path / "taken.db").stat().st_mode) == 0o600
    other = write_study(tmp_path, id="other")
    assert "holds the study 'small', not 'other'" in refused("--out", "b.db")
    assert other == study


def test_postgresql_is_told_its_own_command_which_does_it(
    tmp_path: Path, postgres: Postgres, cli_inside: Cli, keys_given: None
) -> None:
    folder = programs()
    assert folder is not None
    study = write_study(tmp_path)
    address = postgres.database()
    with Serving(study, address) as server, Guest(server) as ada:
        ada.begin().finish()
        secret = address.replace("postgres@", "postgres:a-password@")
        call = ("annotate", "backup", study.name, "--out", "a backup.dump", "--database")
        done = cli_inside(*call, secret)
        assert (done.returncode, done.stdout) == (2, "")
        assert "a-password" not in done.stderr
        assert address in done.stderr
        said = " ".join(done.stderr.split())
        command = shlex.split(said[said.index("pg_dump") :])
        subprocess.run([folder / command[0], *command[1:]], cwd=tmp_path, check=True)
        restored = postgres.database()
        dump = tmp_path / "a backup.dump"
        load: list[Path | str] = [folder / "pg_restore", f"--dbname={restored}", dump]
        subprocess.run(load, check=True)
        for folder_name, database in (("live", address), ("restored", restored)):
            done = cli_inside(
                *("annotate", "export", study.name, "--database", database, "--out", folder_name)
            )
            assert done.returncode == 0, done.stderr
    votes = [(tmp_path / name / "votes.csv").read_bytes() for name in ("live", "restored")]
    assert votes[0] == votes[1]
