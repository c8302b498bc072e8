"""Arguments that the commands on a study share, and the database that they open."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.cli import note
from casewise.errors import InputError, UsageError
from casewise.sheets import plural
from casewise_study.study.planning import check_ready, open_points
from casewise_study.study.schema import Study

if TYPE_CHECKING:
    from casewise_study.store.places import Progress
    from casewise_study.store.study_store import Store
    from casewise_study.study.accounts import Secrets


class ResultFormat(StrEnum):
    """Form of a printed result."""

    TABLE = "table"
    JSON = "json"


StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")]
DatabaseOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="SQLite or PostgreSQL. Default: a .db file in its folder."),
]


def open_store(study: Study, file: Path, database: str | None) -> "Store":
    """The database that a study was served with; one that is not there is not made.

    Raises:
        UsageError: There is none.
    """
    address = find_database(file, database)
    from casewise_study.store.study_store import Store

    return Store(study, address, study_keys(file))


def find_database(file: Path, database: str | None) -> str:
    """The address of the database that a study was served with, for a command that makes none.

    Raises:
        UsageError: There is none.
    """
    if not file.is_file():
        raise InputError("no such file", file=file)
    address = database_address(file, database)
    kind, _, place = address.partition(":///")
    if kind == "sqlite" and not Path(place).is_file():
        raise UsageError(f"no votes: {place} is not there; give --database URL")
    return address


def database_address(file: Path, address: str | None) -> str:
    """The database: what was given, or a file beside the study."""
    if address is None:
        return f"sqlite:///{file.resolve().with_suffix('.db')}"
    return address if "://" in address else f"sqlite:///{Path(address).resolve()}"


def study_keys(file: Path) -> "Secrets":
    """The study's secrets, beside its file."""
    from casewise_study.study.accounts import load_secrets

    return load_secrets(file.resolve().with_suffix(".secrets.json"))


def note_open(study: Study) -> None:
    """List what a study still lacks before people come, under what to do about it."""
    for head, lines in (
        ("Before people may be asked:", check_ready(study)),
        (
            "Still open, for a board and the law: say it in the file, or waive it there "
            "(safeguards.waived) with who and why",
            open_points(study),
        ),
    ):
        for line in (head, *(f"- {line}" for line in lines)) if lines else ():
            note(line)


def to_collect(study: Study, progress: "Progress") -> str:
    """A sentence on what is still to be collected."""
    lacking = [missing for count in progress.counts if (missing := study.votes - sum(count)) > 0]
    most = "at most " if study.collection.is_sequential else ""
    unconfirmed = f", {progress.unconfirmed} held or completed by people whom nobody has confirmed"
    if progress.places == "complete":
        return "complete: each case has its votes"
    return (
        f"to collect: {most}{plural(sum(lacking), 'vote')} on {plural(len(lacking), 'cell')}; "
        f"{most}{plural(progress.blocks, 'place')}: {progress.free} free, {progress.active} held"
        f"{unconfirmed if progress.unconfirmed else ''}"
    )
