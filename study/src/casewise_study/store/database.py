"""The database: connections, tables, and transactions that are tried again."""

import contextlib
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
from sqlalchemy.exc import ArgumentError, DatabaseError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from casewise.errors import CasewiseError, UsageError
from casewise_study.store.tables import Base

Clock = Callable[[], datetime]


def _elapsed() -> float:
    """Monotonic seconds, including time asleep where the system counts it."""
    steady = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if steady is None else time.clock_gettime(steady)


def steady_clock() -> Clock:
    """Make a clock that starts at the computer's time and is then monotonic.

    When the computer's clock is set, forwards or back, nobody has waited an hour or answered before
    the page was shown: leases and times of pages are differences of this clock.
    """
    began, zero = datetime.now(UTC), _elapsed()
    return lambda: began + timedelta(seconds=_elapsed() - zero)


T = TypeVar("T")

PATIENCE = 20.0
"""Seconds for which a transaction is tried again."""

_BUSY_SECONDS = 30
_NETWORK_SECONDS = 15
_SAME_MOMENT = 50
"""Times that two may reach for the same block before something is wrong."""


class StoreUnavailableError(CasewiseError):
    """The database does not answer. What was answered before is kept."""


class Database:
    """SQLite or PostgreSQL, by its address."""

    def __init__(self, address: str) -> None:
        """Open the database, and make the tables of an empty one.

        Raises:
            UsageError: It holds other tables than these, or is no database; it stays as it is.
            StoreUnavailableError: It does not answer.
        """
        url = read_address(address)
        self._lite = url.get_backend_name() == "sqlite"
        # SQLite's own waiting is by chance: a queue is fair, and shorter for the last one.
        self._turn: AbstractContextManager[Any] = threading.Lock() if self._lite else nullcontext()
        if not self._lite or Path(url.database or "").is_file():
            open_read_only(address).dispose()
        self.engine = _sqlite(url) if self._lite else _postgresql(url)
        self._reading = self.engine.execution_options(casewise_read=True)
        self.write(_make_tables)

    def write(self, work: Callable[[Session], T]) -> T:
        """Run a transaction that changes something; it is on the disk when this returns.

        ``work`` must be such that running it again changes nothing more: where a connection
        breaks in the middle of a commit, nobody knows whether it was done.

        Raises:
            StoreUnavailableError: It failed for ``PATIENCE`` seconds.
        """
        return transact(self.engine, work, self._turn)

    def read(self, work: Callable[[Session], T]) -> T:
        """Run a transaction that changes nothing, as of one moment.

        Raises:
            StoreUnavailableError: It failed for ``PATIENCE`` seconds.
        """

        def work_as_of_now(session: Session) -> T:
            if not self._lite:
                # Otherwise each statement of PostgreSQL would show another moment.
                session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
            return work(session)

        return transact(self._reading, work_as_of_now)

    def set_pragma(self, pragma: str) -> None:
        """Change a setting of SQLite, or empty its write-ahead log, outside of a transaction."""
        if self._lite:
            with self._turn, self.engine.connect() as connection:
                raw = connection.connection.driver_connection
                assert raw is not None
                raw.execute(f"PRAGMA {pragma}").close()


def transact(
    engine: Engine,
    work: Callable[[Session], T],
    turn: AbstractContextManager[Any] = nullcontext(),  # noqa: B008
) -> T:
    """Run a transaction, again and again while the database is locked, full or away.

    Raises:
        StoreUnavailableError: It failed for ``PATIENCE`` seconds.
    """
    end = time.monotonic() + PATIENCE
    pause, collisions = 0.02, 0
    while True:
        try:
            with turn, Session(engine, expire_on_commit=False) as session, session.begin():
                return work(session)
        except IntegrityError:
            # Another has taken the block or the name in the same moment: look again.
            collisions += 1
            if collisions > _SAME_MOMENT:
                raise
        except (DBAPIError, PoolTimeoutError, OSError) as error:
            if type(getattr(error, "orig", None)) is sqlite3.DatabaseError:
                # Damaged, or no database.
                raise
            if time.monotonic() + pause > end:
                raise StoreUnavailableError(_reason(engine.url, error)) from error
            time.sleep(pause * random.uniform(0.7, 1.3))
            pause = min(2.0, pause * 2)


def _reason(url: URL, error: Exception) -> str:
    """Name place, reason and remedy; no text of PostgreSQL, which may hold an answer."""
    original = error.orig if isinstance(error, DBAPIError) else error
    place, reason, remedy = url.host, type(original).__name__, "see that it runs"
    if place is None:
        place, reason = url.database, str(original)
        remedy = "see that its disk has room, and that nothing else has it open"
    return f"{place}: the database does not answer ({reason}); {remedy}"


def open_read_only(address: str) -> Engine:
    """Open a study's database as of one moment; SQLite's file stays as it is, byte by byte.

    Raises:
        UsageError: It holds other tables than a study's, or is no database.
        StoreUnavailableError: It does not answer.
    """
    url = read_address(address)
    engine: Engine
    if url.get_backend_name() == "postgresql":
        engine = _postgresql(url).execution_options(isolation_level="REPEATABLE READ")
    else:
        place = Path(url.database or "").resolve()
        # Who only reads leaves files beside one that nobody writes; who may write, empties a log.
        mode = "ro" if Path(f"{place}-wal").exists() else "rw"
        engine = _sqlite(url.set(database=place.as_uri(), query={"mode": mode, "uri": "true"}))
    own = {name: set(table.columns.keys()) for name, table in Base.metadata.tables.items()}
    try:
        there = transact(engine, _columns)
    except DatabaseError:
        engine.dispose()
        raise UsageError(f"{url.database}: damaged, or no database of a study") from None
    if there and there != own:
        engine.dispose()
        raise UsageError(
            f"{url.database}: no database of a study as this version of casewise "
            "makes it; give an empty one by --database, or the version that made it"
        )
    return engine


def _columns(session: Session) -> dict[str, set[str]]:
    """The columns of each table that is there."""
    by_table = inspect(session.connection()).get_multi_columns()
    return {name: {column["name"] for column in columns} for (_, name), columns in by_table.items()}


def _make_tables(session: Session) -> None:
    """Make the tables that are not there; of two servers that start at once, one does."""
    if session.get_bind().dialect.name == "postgresql":
        # "case" in letters.
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": 0x63617365})
    Base.metadata.create_all(session.connection())


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


def _sqlite(url: URL) -> Engine:
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
        if url.query:
            return
        # The files beside it get the same mode.
        with contextlib.suppress(OSError):
            Path(url.database or "").chmod(0o600)
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            "secure_delete = ON",
        ):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        reads = url.query or connection.get_execution_options().get("casewise_read")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

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
