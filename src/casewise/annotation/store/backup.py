"""A copy of a study's database while the server runs.

A copy of the file alone lacks what was answered last: that stands in SQLite's write-ahead log.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from casewise.annotation.store.database import read_address
from casewise.errors import InputError, UsageError
from casewise.files import new_file

_BUSY_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup holds."""

    study: str
    """The study's id."""
    people: int
    """All but those whose data were purged."""
    votes: int


def back_up(address: str, to: Path, *, study: str, force: bool = False) -> Backup:
    """Copy a study's SQLite database as of one moment, with all that was answered before.

    The copy is one file, whole or not there, that its owner alone can read. The database is not
    changed, nor brought to the tables of this version.

    Args:
        address: Of the database.
        to: The copy.
        study: The id of the study that the database must hold.
        force: Overwrite a copy that is there.

    Raises:
        UsageError: A PostgreSQL, with the command that backs it up; another study's database; or
            ``to`` is there, or is the database.
        InputError: Not the database of a study, or a damaged one.
    """
    url = read_address(address)
    if url.get_backend_name() != "sqlite":
        plain = url.set(drivername="postgresql")._replace(password=None)
        raise UsageError(
            "a PostgreSQL database is backed up by its own program, while the server runs: "
            f"pg_dump --format=custom --file={quote(str(to))} {quote(plain.render_as_string())}"
        )
    source = Path(url.database or "")
    _check_free(source, to, force=force)
    with new_file(to, sync=True, mode=0o600) as new:
        try:
            _copy(source, new)
            return _checked(new, study)
        except sqlite3.DatabaseError as error:
            raise InputError(f"can't be backed up: {error}", file=source) from None


def _check_free(source: Path, to: Path, *, force: bool) -> None:
    if to.is_dir():
        raise UsageError(f"{to}: is a folder; give the name of a file")
    if to.exists() and to.samefile(source):
        raise UsageError(f"{to}: is the database itself; give another name")
    if to.exists() and not force:
        raise UsageError(f"{to} exists: --force overwrites it, or choose another name")
    # SQLite would take the log for the new file's, and mix the two.
    if (log := to.with_name(f"{to.name}-wal")).exists():
        raise UsageError(f"{to}: a server uses it, or was killed ({log.name}); give another name")


def _copy(source: Path, to: Path) -> None:
    with _opened(source) as database, _opened(to) as copy:
        # All pages in one step: a snapshot, which neither waits for writers nor holds them up.
        database.backup(copy)
        # One file that lacks nothing; the server switches the write-ahead log on again.
        copy.execute("PRAGMA journal_mode = DELETE").close()


def _checked(copy: Path, study: str) -> Backup:
    with _opened(copy) as database:
        (said,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if said != "ok" or database.execute("PRAGMA foreign_key_check").fetchone():
            raise sqlite3.DatabaseError(f"damaged ({said})")
        (name,) = database.execute("SELECT name FROM study").fetchone() or ("",)
        if name != study:
            raise UsageError(f"the database holds the study {name!r}, not {study!r}")
        people = database.execute("SELECT count(*) FROM participant WHERE NOT purged").fetchone()
        votes = database.execute("SELECT count(*) FROM vote").fetchone()
    return Backup(study, people[0], votes[0])


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()
