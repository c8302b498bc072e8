"""The database: connections, tables, and transactions that are tried again."""

import contextlib
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from casewise.errors import CasewiseError, UsageError
from casewise_study.store.tables import metadata

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time of this computer."""
    return datetime.now(UTC)


def _elapsed() -> float:
    """Monotonic seconds, including time asleep where the system counts it."""
    steady = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if steady is None else time.clock_gettime(steady)


def steady_clock(start: Clock = utc_now, elapsed: Callable[[], float] = _elapsed) -> Clock:
    """Make a clock that starts at the computer's time and is then monotonic.

    When the computer's clock is set, forwards or back, nobody has waited an hour or answered before
    the page was shown: leases and times of pages are differences of this clock.

    Args:
        start: Asked once.
        elapsed: Seconds since whenever.
    """
    began, zero = start(), elapsed()
    return lambda: began + timedelta(seconds=elapsed() - zero)


T = TypeVar("T")

PATIENCE = 20.0
"""Seconds for which a transaction is tried again."""

_BUSY_SECONDS = 30
_NETWORK_SECONDS = 15
_SAME_MOMENT = 50
"""Times that two may reach for the same block before something is wrong."""

_PASSING = {
    "40001",  # serialization failure
    "40P01",  # deadlock
    "55P03",  # lock not available
    "53300",  # too many connections
    "57P01",  # the server is told to stop
    "57P02",  # it crashed
    "57P03",  # it is starting
}
"""States of PostgreSQL in which the same transaction may succeed a little later."""


_PASSING_LITE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
)
"""The same of SQLite: a full disk can be mended while people wait."""


class StoreUnavailableError(CasewiseError):
    """The database does not answer. What was answered before is kept."""


class Database:
    """SQLite or PostgreSQL, by its address."""

    def __init__(self, address: str, *, patience: float = PATIENCE) -> None:
        self.url = read_address(address)
        self._patience = patience
        self.trouble: str | None = None
        """Place, reason and remedy of the latest transaction's failure; None once one succeeds."""
        self._lite = self.url.get_backend_name() == "sqlite"
        self.engine = _sqlite(self.url) if self._lite else _postgresql(self.url)
        # SQLite's own waiting is by chance: a queue is fair, and shorter for the last one.
        self._turn: AbstractContextManager[Any] = threading.Lock() if self._lite else nullcontext()

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction that changes something; it is on the disk when this returns.

        ``work`` must be such that running it again changes nothing more: where a connection
        breaks in the middle of a commit, nobody knows whether it was done.

        Raises:
            StoreUnavailableError: It failed for ``patience`` seconds.
        """
        return self._try(work, write=True)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run a transaction that changes nothing.

        Raises:
            StoreUnavailableError: It failed for ``patience`` seconds.
        """
        return self._try(work, write=False)

    def forget(self) -> None:
        """Empty SQLite's write-ahead log, which still holds deleted data."""
        if self._lite:
            with self._turn, self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)").close()

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def _try(self, work: Callable[[Connection], T], *, write: bool) -> T:
        end = time.monotonic() + self._patience
        pause, collisions = 0.02, 0
        while True:
            try:
                with self._turn if write else nullcontext(), self.engine.connect() as connection:
                    if self._lite:
                        connection = connection.execution_options(casewise_write=write)
                    with connection.begin():
                        done = work(connection)
                self.trouble = None
                return done
            except IntegrityError:
                # Another has taken the block or the name in the same moment: look again.
                collisions += 1
                if not write or collisions > _SAME_MOMENT:
                    raise
            except (DBAPIError, PoolTimeoutError, OSError) as error:
                if not _may_pass(error):
                    raise
                self.trouble = self._told(error)
                if time.monotonic() + pause > end:
                    raise StoreUnavailableError(self.trouble) from error
                time.sleep(pause * random.uniform(0.7, 1.3))
                pause = min(2.0, pause * 2)

    def _told(self, error: Exception) -> str:
        """Place, reason and remedy of a failure; no PostgreSQL text, which may hold an answer."""
        original = error.orig if isinstance(error, DBAPIError) else error
        if not self._lite:
            reason = type(original).__name__
            return f"{self.url.host}: the database does not answer ({reason}); see that it runs"
        reason = str(original) if isinstance(original, sqlite3.Error) else type(error).__name__
        remedy = "see that its folder can be written"
        code = _lite_code(original)
        if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
            remedy = "free some room on its disk"
        elif code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            remedy = "see what else has it open"
        return f"{self.url.database}: the database does not answer ({reason}); {remedy}"


def _may_pass(error: Exception) -> bool:
    if not isinstance(error, DBAPIError) or error.connection_invalidated:
        return True
    original = error.orig
    if isinstance(original, sqlite3.OperationalError):
        return _lite_code(original) in _PASSING_LITE
    match original.args if original is not None else ():
        case ({"C": str(state)}, *_):
            return state in _PASSING or state.startswith("08")
    # pg8000 has no state where no connection could be made.
    return type(original).__name__ == "InterfaceError"


def _lite_code(error: object) -> int:
    """SQLite's primary result code; 0 of another error."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def read_address(address: str) -> URL:
    """The address of SQLite in a file, or of PostgreSQL.

    Raises:
        UsageError: Of neither.
    """
    try:
        url = make_url(address)
    except ArgumentError:
        raise UsageError(
            "--database: not an address of a database, such as sqlite:///study.db "
            "or postgresql://user@host/name"
        ) from None
    backend = url.get_backend_name()
    if backend == "postgresql":
        return url.set(drivername="postgresql+pg8000")
    if backend == "sqlite" and url.database not in (None, "", ":memory:"):
        return url.set(drivername="sqlite+pysqlite")
    raise UsageError(f"--database: {backend} is not SQLite in a file, nor PostgreSQL")


def _keep_private(path: Path) -> None:
    """Make a file that only its owner can read, or one that is there such; its logs follow it."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)


def _sqlite(url: URL) -> Engine:
    _keep_private(Path(url.database or ""))
    engine = create_engine(
        url,
        pool_size=8,
        max_overflow=56,
        pool_timeout=_BUSY_SECONDS,
        connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
    )

    @event.listens_for(engine, "connect")
    def connected(connection: sqlite3.Connection, _: object) -> None:
        # Python's driver must not begin transactions of its own.
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout = {_BUSY_SECONDS * 1000}",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        write = connection.get_execution_options().get("casewise_write", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _postgresql(url: URL) -> Engine:
    return create_engine(
        url,
        pool_size=10,
        max_overflow=30,
        pool_timeout=_NETWORK_SECONDS,
        pool_pre_ping=True,
        connect_args={"timeout": _NETWORK_SECONDS},
    )


_LOCK = 0x63617365
"""PostgreSQL's advisory lock while tables are made: "case" in letters."""


def make_tables(database: Database) -> None:
    """Make the tables of an empty database; of two servers that start at once, one does.

    Raises:
        UsageError: The database holds other tables than these, or the file is no database.
    """

    def work(connection: Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
        there = {
            name: {column["name"] for column in columns}
            for (_, name), columns in inspect(connection).get_multi_columns().items()
        }
        if not there:
            metadata.create_all(connection)
        elif there != {table.name: set(table.columns.keys()) for table in metadata.sorted_tables}:
            raise UsageError(
                f"{database.url.database}: no database of a study as this version of casewise "
                "makes it; give an empty one by --database, or the version that made it"
            )

    try:
        database.write(work)
    except DBAPIError as error:
        if _lite_code(error.orig) == sqlite3.SQLITE_NOTADB:
            raise UsageError(f"{database.url.database}: no database of a study") from None
        raise
