"""Backups of a study while its server runs, and studies made from them.

A copy of SQLite's file alone lacks what was answered last: that stands in the write-ahead log.
"""

from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, text
from sqlalchemy.exc import DatabaseError

from casewise.cases import CASEBENCH, STARTER
from casewise.errors import InputError, UsageError
from casewise.files import new_file, read_bytes
from casewise_study.store.database import Database, open_read_only, read_address
from casewise_study.store.tables import Answer, Base, Person, Served, SharedBrowser
from casewise_study.study.schema import Study
from casewise_study.study.study_file import load_study
from casewise_study.votes.result_files import new_folder

_ROWS = 1000
"""Rows that are copied at once."""


class Backup(NamedTuple):
    """Contents of a backup."""

    file: str
    """The study file's name."""
    people: int
    """All but those whose data were purged."""
    votes: int
    left_out: list[str]
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
    names = (own, *(Path(name).parts[0] for name in parts))
    with new_folder(out, names, force=force) as new:
        counts = _copy(of, address, f"sqlite:///{new / own}", "backed up")
        _copy_parts(parts, new)
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
    if address is not None and read_address(address).get_backend_name() == "sqlite":
        raise UsageError("--database: SQLite is restored into the folder; leave it out")
    files = [path for path in folder.glob("*.y*ml") if path.with_suffix(".db").is_file()]
    if len(files) != 1:
        raise InputError(
            "not a backup of a study", file=folder, expected="a study file and its database"
        )
    (file,) = files
    of = load_study(file)
    source = file.with_suffix(".db")
    parts, left_out = _parts(file, of)
    with new_folder(out) as new:
        own = f"sqlite:///{new / source.name}"
        counts = _copy(of, f"sqlite:///{source}", address or own, "restored")
        _copy_parts(parts, new)
    return Backup(file.name, *counts, left_out)


def _copy(of: Study, source: str, target: str, done: str) -> tuple[int, int]:
    """Write all rows, as of one moment, to an empty database; the numbers of people and votes."""
    reading_from, copy = open_read_only(source), Database(target)
    try:
        with reading_from.connect() as reading, reading.begin(), copy.engine.begin() as writing:
            name = reading.execute(select(Served.name)).scalar()
            if name != of.id:
                raise UsageError(f"the database holds the study {name!r}, not {of.id!r}")
            if writing.execute(select(Served.id)).first():
                raise UsageError("--database: holds a study already; give an empty database")
            for table in Base.metadata.sorted_tables:
                rows = reading.execute(select(table)).mappings()
                while some := rows.fetchmany(_ROWS):
                    writing.execute(insert(table), [dict(row) for row in some])
            if writing.dialect.name == "postgresql":
                for row in (Person, SharedBrowser):
                    _continue_numbers(writing, row.__tablename__)
            people = select(func.count()).select_from(Person).where(~Person.purged)
            votes = select(func.count()).select_from(Answer).where(Answer.place.is_not(None))
            counts = (writing.execute(people).scalar_one(), writing.execute(votes).scalar_one())
        # One file that lacks nothing; the server switches the write-ahead log on again.
        copy.set_pragma("journal_mode = DELETE")
    except DatabaseError as error:
        file = Path(read_address(source).database or "")
        raise InputError(f"can't be {done}: {error.orig}", file=file) from None
    finally:
        reading_from.dispose()
        copy.engine.dispose()
    return counts


def _continue_numbers(connection: Connection, table: str) -> None:
    """Let new rows take the numbers after those that were written."""
    sequence = f"pg_get_serial_sequence('{table}', 'id')"
    last = f"SELECT setval({sequence}, max(id)) FROM {table} HAVING max(id) IS NOT NULL"
    connection.execute(text(last))


def _parts(file: Path, of: Study) -> tuple[dict[str, Path], list[str]]:
    """The files beside the database, by their names in the folder, and what is elsewhere."""
    secrets = file.resolve().with_suffix(".secrets.json")
    parts, left_out = {file.name: file, secrets.name: secrets}, []
    if of.cases not in (STARTER, CASEBENCH):
        cases = Path(of.cases)
        if cases.is_absolute() or ".." in cases.parts:
            left_out.append(f"the cases {of.cases}")
        else:
            parts[cases.as_posix()] = file.parent / cases
    if not secrets.exists():
        del parts[secrets.name]
        left_out.append("the secrets, which are in variables of the environment")
    return parts, left_out


def _copy_parts(parts: dict[str, Path], new: Path) -> None:
    """Copy files for their owner alone, and wait until the disk has them."""
    new.chmod(0o700)
    for name, source in parts.items():
        with new_file(new / name, sync=True, mode=0o600) as copy:
            copy.write_bytes(read_bytes(source))
