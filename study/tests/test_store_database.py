"""The database under a study: its tables, its outages, its secrets."""

import gc
import sqlite3
import stat
import threading
import time
from pathlib import Path

import pytest
from conftest import Cli
from sqlalchemy import Connection, inspect, text
from support.postgres import Postgres
from support.studies import KEYS, Clock, enter, write_study

from casewise.errors import InputError, UsageError
from casewise_study.store.database import Database, StoreUnavailableError, make_tables
from casewise_study.store.study_store import Store
from casewise_study.store.tables import metadata
from casewise_study.study.accounts import load_secrets
from casewise_study.study.study_file import load_study


def test_the_tables_are_made_once(address: str) -> None:
    database = Database(address)
    make_tables(database)
    made = database.read(lambda connection: str(inspect(connection).get_multi_columns()))
    assert all(f"'{name}'" in made for name in metadata.tables)
    make_tables(database)
    assert database.read(lambda connection: str(inspect(connection).get_multi_columns())) == made
    database.close()


def test_sqlite_is_set_up_to_lose_nothing(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'study.db'}")

    def settings(connection: Connection) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]

    assert database.read(settings) == ["wal", 2, 1, 30_000]
    database.close()


def test_two_servers_may_start_at_once(tmp_path: Path, address: str) -> None:
    study = load_study(write_study(tmp_path))
    stores, errors = list[Store](), list[Exception]()

    def start() -> None:
        try:
            stores.append(Store(study, address, KEYS))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()
    assert not errors
    assert len(stores) == 4


def test_a_locked_file_is_waited_for(tmp_path: Path) -> None:
    study = load_study(write_study(tmp_path))
    clock = Clock()
    with Store(study, f"sqlite:///{tmp_path / 'study.db'}", KEYS, clock=clock) as store:
        enter(store, "ada")
        clock.turn(seconds=3)
        other = sqlite3.connect(tmp_path / "study.db", check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        threading.Timer(0.3, other.rollback).start()
        step = store.answer("ada", 0, "safe")
        assert step is not None
        assert step.taken == "yes"
        assert time.monotonic() - began > 0.2
        time.sleep(0.05)
        other.close()


# pg8000 leaves a socket that was refused to the garbage collector, here while nobody minds.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_an_outage_is_bridged_or_told(tmp_path: Path, postgres: Postgres) -> None:
    study = load_study(write_study(tmp_path))
    clock = Clock()
    address = postgres.database()
    with (
        Store(study, address, KEYS, clock=clock) as store,
        Store(study, address, KEYS, clock=clock, patience=0.3) as hasty,
    ):
        enter(store, "ada")
        assert hasty.person("ada") == store.person("ada")
        clock.turn(seconds=3)
        # Connections that the server has dropped are made again.
        postgres.say(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()",
            address.rsplit("/", 1)[1],
        )
        step = store.answer("ada", 0, "safe")
        assert step is not None
        assert step.taken == "yes"
        with postgres.stopped(1):
            with pytest.raises(StoreUnavailableError):
                hasty.person("ada")
            clock.turn(seconds=3)
            step = store.answer("ada", 1, "safe")
            assert step is not None
            assert step.taken == "yes"
            assert hasty.person("ada") == store.person("ada")
        assert len(store.collected().votes) + len(store.collected().checks) == 2
    gc.collect()


def test_what_is_no_database_of_a_study_is_refused(tmp_path: Path) -> None:
    for address in ("nonsense", "sqlite://", "sqlite:///:memory:", "mysql://a@b/c"):
        with pytest.raises(UsageError, match="--database"):
            Database(address)
    (tmp_path / "notes.txt").write_text("no database\n" * 100, "utf-8")
    database = Database(f"sqlite:///{tmp_path / 'notes.txt'}")
    with pytest.raises(UsageError, match=r"notes\.txt: no database of a study"):
        make_tables(database)
    database.close()


@pytest.mark.parametrize(
    ("command", "change"),
    [
        ("export", "CREATE TABLE version (number TEXT)"),
        ("payments", "DROP TABLE exclusion"),
        ("reconcile", "ALTER TABLE participant DROP COLUMN confirmed"),
        ("serve", "ALTER TABLE participant ADD COLUMN age INTEGER"),
    ],
)
def test_a_database_of_another_form_is_refused(
    command: str, change: str, address: str, tmp_path: Path, cli_inside: Cli
) -> None:
    path = write_study(tmp_path)
    with Store(load_study(path), address, KEYS) as store:
        enter(store, "ada")
    database = Database(address)
    with database.engine.begin() as connection:
        connection.execute(text(change))
    database.close()
    (tmp_path / "export.csv").write_text("Participant id,Submission id,Status\n", "utf-8")
    more = {"export": ("--out", "o"), "payments": ("--out", "p"), "reconcile": ("export.csv",)}
    call = ("annotate", command, path.name, *more.get(command, ()), "--database", address)
    done = cli_inside(*call, env={"COLUMNS": "400"})
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "no database of a study as this version of casewise makes it" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "o").exists()
    assert not (tmp_path / "p").exists()


def test_secrets_are_made_once_and_for_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "study.secrets.json"
    made = load_secrets(path)
    assert load_secrets(path) == made
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    assert made.secret not in repr(made)
    assert made.platform_key("prolific", "a") != made.platform_key("none", "a")
    monkeypatch.setenv("CASEWISE_ADMIN_TOKEN", "short")
    with pytest.raises(UsageError, match="at least 16"):
        load_secrets(path)
    monkeypatch.setenv("CASEWISE_ADMIN_TOKEN", "long enough to be a token")
    assert load_secrets(path).admin == "long enough to be a token"
    assert load_secrets(path).secret == made.secret
    monkeypatch.setenv("CASEWISE_STUDY_SECRET", "also long enough for this")
    elsewhere = tmp_path / "none.json"
    assert load_secrets(elsewhere).secret == "also long enough for this"
    assert not elsewhere.exists()
    monkeypatch.delenv("CASEWISE_STUDY_SECRET")
    path.write_text("[]")
    with pytest.raises(InputError, match="not the secrets"):
        load_secrets(path)
