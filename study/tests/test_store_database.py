"""The database under a study: its tables, its outages, its secrets."""

import stat
import threading
from pathlib import Path

import pytest
from conftest import Cli
from sqlalchemy import Connection, text
from support.studies import KEYS, enter, write_study

from casewise.errors import InputError, UsageError
from casewise_study.store.database import Database, make_tables
from casewise_study.store.study_store import Store
from casewise_study.study.accounts import load_secrets
from casewise_study.study.study_file import load_study


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
        ("export", "DROP TABLE exclusion"),
        ("reconcile", "ALTER TABLE participant DROP COLUMN confirmed"),
        ("serve", "ALTER TABLE participant ADD COLUMN age INTEGER"),
    ],
)
def test_a_database_of_another_form_is_refused(
    command: str, change: str, tmp_path: Path, cli_inside: Cli
) -> None:
    path = write_study(tmp_path)
    address = f"sqlite:///{tmp_path / 'study.db'}"
    with Store(load_study(path), address, KEYS) as store:
        enter(store, "ada")
    database = Database(address)
    with database.engine.begin() as connection:
        connection.execute(text(change))
    database.close()
    (tmp_path / "export.csv").write_text("Participant id,Submission id,Status\n", "utf-8")
    more = {"export": ("--out", "o"), "reconcile": ("export.csv",)}
    call = ("annotate", command, path.name, *more.get(command, ()))
    done = cli_inside(*call, env={"COLUMNS": "400"})
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1
    assert "no database of a study as this version of casewise makes it" in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "o").exists()


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
