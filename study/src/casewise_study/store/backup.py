"""Backups of a study while its server runs, and studies made from them.

A copy of SQLite's file alone lacks what was answered last: that stands in the write-ahead log.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, Table, func, insert, select, text

from casewise.cases import CASEBENCH, STARTER
from casewise.errors import InputError, UsageError
from casewise.files import new_file, read_bytes
from casewise_study.store.database import Database, make_tables, read_address
from casewise_study.store.tables import metadata, study
from casewise_study.study.schema import Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.result_files import NEW_FILES, FolderKind, new_folder

_BUSY_SECONDS = 30
_ROWS = 1000
"""Rows that are copied at once."""


@dataclass(frozen=True, slots=True)
class Backup:
    """Contents of a backup."""

    file: str
    """The study file's name."""
    people: int
    """All but those whose data were purged."""
    votes: int
    left_out: tuple[str, ...] = ()
    """Files of the study that are not in the folder."""


def back_up(file: Path, address: str, out: Path, *, force: bool = False) -> Backup:
    """Copy a study as of one moment, with all that was answered before.

    The folder appears whole or not at all, for its owner alone to read. It holds the database as
    one SQLite file, the secrets, the study file, and the cases where they lie in its folder.

    Args:
        file: The study file.
        address: Of its database. SQLite is not changed.
        out: The folder.
        force: Replace an earlier backup.

    Raises:
        UsageError: Another study's database, or ``out`` is there.
        InputError: Not the database of a study, or a damaged one.
    """
    of = load_study(file)
    parts, left_out = _parts(file, of)
    own = file.with_suffix(".db").name
    names = frozenset(Path(name).parts[0] for name in (*parts, own))
    with new_folder(out, FolderKind(names, own), force=force) as new:
        counts = _copy(of, address, new / own, parts, "backed up")
    return Backup(file.name, *counts, left_out)


def restore_study(folder: Path, out: Path, address: str | None = None) -> Backup:
    """Make a study's folder, and its database, from a backup.

    Args:
        folder: The backup, which is not changed.
        out: A folder that is not there, or empty. It appears whole or not at all.
        address: Of an empty PostgreSQL; None is SQLite in the folder.

    Raises:
        UsageError: ``out`` or the database holds something.
        InputError: No backup, or a damaged one.
    """
    file = _study_file(folder)
    of = load_study(file)
    source = file.with_suffix(".db")
    parts, left_out = _parts(file, of)
    with new_folder(out, NEW_FILES) as new:
        own = new / source.name
        counts = _copy(of, f"sqlite:///{source}", own, parts, "restored")
        if address is not None:
            _load(own, address)
            own.unlink()
    return Backup(file.name, *counts, left_out)


def _copy(of: Study, address: str, own: Path, parts: dict[str, Path], done: str) -> tuple[int, int]:
    """Copy a database and the files beside it; the number of people and votes."""
    try:
        _save(address, own)
        counts = _counted(own, of.id)
    except sqlite3.DatabaseError as error:
        file = Path(read_address(address).database or "")
        raise InputError(f"can't be {done}: {error}", file=file) from None
    _copy_parts(parts, own.parent)
    return counts


def _study_file(folder: Path) -> Path:
    found = [
        path
        for path in folder.glob("*")
        if path.suffix in (".yaml", ".yml") and path.with_suffix(".db").is_file()
    ]
    if len(found) != 1:
        raise InputError(
            "not a backup of a study", file=folder, expected="a study file and its database"
        )
    return found[0]


def _parts(file: Path, of: Study) -> tuple[dict[str, Path], tuple[str, ...]]:
    """The files beside the database, by their names in the folder, and what is elsewhere."""
    parts, left_out = {file.name: file}, []
    secrets = file.resolve().with_suffix(".secrets.json")
    if secrets.exists():
        parts[secrets.name] = secrets
    else:
        left_out.append("the secrets, which are in variables of the environment")
    if of.cases not in (STARTER, CASEBENCH):
        cases = Path(of.cases)
        if cases.is_absolute() or ".." in cases.parts:
            left_out.append(f"the cases {of.cases}")
        else:
            parts[cases.as_posix()] = file.parent / cases
    return parts, tuple(left_out)


def _copy_parts(parts: dict[str, Path], new: Path) -> None:
    """Copy files for their owner alone, and wait until the disk has them."""
    new.chmod(0o700)
    for name, source in parts.items():
        with new_file(new / name, sync=True, mode=0o600) as copy:
            copy.write_bytes(read_bytes(source))


def _save(address: str, to: Path) -> None:
    """Write a database to an SQLite file, as of one moment."""
    url = read_address(address)
    with new_file(to, sync=True, mode=0o600) as new:
        if url.get_backend_name() != "sqlite":
            with _both(address, new) as (server, file):
                snapshot = server.engine.execution_options(isolation_level="REPEATABLE READ")
                _copy_rows(snapshot, file.engine)
        else:
            with _opened(Path(url.database or "")) as database, _opened(new) as copy:
                # All pages in one step: a snapshot, which neither waits for writers nor stops them.
                database.backup(copy)
        with _opened(new) as copy:
            # One file that lacks nothing; the server switches the write-ahead log on again.
            copy.execute("PRAGMA journal_mode = DELETE").close()


def _load(copy: Path, address: str) -> None:
    """Write an SQLite file's rows to an empty PostgreSQL, all or none; the file may be changed."""
    if read_address(address).get_backend_name() == "sqlite":
        raise UsageError("--database: SQLite is restored into the folder; leave it out")
    with _both(address, copy) as (server, file):
        if server.read(lambda connection: connection.execute(select(study)).first()):
            raise UsageError("--database: holds a study already; give an empty database")
        _copy_rows(file.engine, server.engine)


@contextlib.contextmanager
def _both(address: str, path: Path) -> Iterator[tuple[Database, Database]]:
    """A PostgreSQL and an SQLite file, both with the tables of a study."""
    with contextlib.ExitStack() as stack:
        databases = (Database(address), Database(f"sqlite:///{path}"))
        for database in databases:
            stack.callback(database.close)
            make_tables(database)
        yield databases


def _copy_rows(source: Engine, target: Engine) -> None:
    with source.connect() as reading, reading.begin(), target.begin() as writing:
        for table in metadata.sorted_tables:
            rows = reading.execute(select(table)).mappings()
            while some := rows.fetchmany(_ROWS):
                writing.execute(insert(table), [dict(row) for row in some])
            if writing.dialect.name == "postgresql" and "id" in table.c and table is not study:
                _continue_numbers(writing, table)


def _continue_numbers(connection: Connection, table: Table) -> None:
    """Let new rows take the numbers after those that were written."""
    number = connection.execute(select(func.max(table.c.id))).scalar_one()
    if number is not None:
        sequence = text("SELECT setval(pg_get_serial_sequence(:table, 'id'), :number)")
        connection.execute(sequence, {"table": table.name, "number": number})


def _counted(copy: Path, name: str) -> tuple[int, int]:
    """Check a copy, and count its people and votes."""
    with _opened(copy) as database:
        (said,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if said != "ok" or database.execute("PRAGMA foreign_key_check").fetchone():
            raise sqlite3.DatabaseError(f"damaged ({said})")
        (found,) = database.execute("SELECT name FROM study").fetchone() or ("",)
        if found != name:
            raise UsageError(f"the database holds the study {found!r}, not {name!r}")
        counts: tuple[int, int] = database.execute(
            "SELECT count(*), (SELECT count(*) FROM vote) FROM participant WHERE NOT purged"
        ).fetchone()
    return counts


def _opened(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None))
