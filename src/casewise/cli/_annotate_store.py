"""The database of a study that is served here, for the commands that read it."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.annotation.study import Study, study_cases
from casewise.errors import UsageError, install_hint

if TYPE_CHECKING:
    from casewise.annotation.store import Secrets, Store

_EXTRA = ("alembic", "itsdangerous", "limits", "pg8000", "python_multipart", "sqlalchemy")

DatabaseOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="SQLite or PostgreSQL. Default: a .db file beside the study."),
]


def open_store(study: Study, file: Path, database: str | None, command: str) -> "Store":
    """The database that a study was served with; one that is not there is not made.

    Raises:
        UsageError: There is none, or the extra is not installed.
    """
    address = find_database(file, database, command)
    # Only those who serve studies have the extra that it needs.
    from casewise.annotation.store import Store

    return Store(study, study_cases(study), address, study_keys(file))


def find_database(file: Path, database: str | None, command: str) -> str:
    """The address of the database that a study was served with, for a command that makes none.

    Raises:
        UsageError: There is none, or the extra is not installed.
    """
    need_extra(command)
    if database is None and not (beside := file.with_suffix(".db")).is_file():
        other = "" if command == "backup" else ", or --votes PATH with plain CSV"
        raise UsageError(f"no votes: {beside} is not there; give --database URL{other}")
    address = database_address(file, database)
    kind, _, place = address.partition(":///")
    if kind == "sqlite" and not Path(place).is_file():
        raise UsageError(f"--database {database}: no such file")
    return address


def need_extra(command: str) -> None:
    """Refuse, with the way to mend it, where the extra is not installed."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"casewise annotate {command} needs {', '.join(missing)}, which are not installed: "
            f"{install_hint('annotate')}"
        )


def database_address(file: Path, given: str | None) -> str:
    """The database: what was given, or a file beside the study."""
    if given is None:
        return f"sqlite:///{file.resolve().with_suffix('.db')}"
    return given if "://" in given else f"sqlite:///{Path(given).resolve()}"


def study_keys(file: Path) -> "Secrets":
    """The study's secrets, beside its file."""
    from casewise.annotation.store import load_secrets

    return load_secrets(file.resolve().with_suffix(".secrets.json"))
