"""The database of a study that is served here: opened, and a person excluded or deleted."""

from collections.abc import Callable
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.annotation.study.schema import Study
from casewise.annotation.study.study_file import load_study
from casewise.cases import digest
from casewise.cli._console import note
from casewise.errors import InputError, UsageError, install_hint

if TYPE_CHECKING:
    from casewise.annotation.store.study_store import Store
    from casewise.annotation.study.accounts import Secrets


_EXTRA = ("alembic", "itsdangerous", "limits", "pg8000", "python_multipart", "sqlalchemy")


class ResultFormat(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"


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
    from casewise.annotation.store.study_store import Store

    return Store(study, address, study_keys(file))


def find_database(file: Path, database: str | None, command: str) -> str:
    """The address of the database that a study was served with, for a command that makes none.

    Raises:
        UsageError: There is none, or the extra is not installed.
    """
    need_extra(command)
    if not file.is_file():
        raise InputError("no such file", file=file)
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
    from casewise.annotation.study.accounts import load_secrets

    return load_secrets(file.resolve().with_suffix(".secrets.json"))


def rater_of(store: "Store", platform: str) -> Callable[[str], str]:
    """What tells the pseudonym of a platform's id, which the store knows by its hash alone."""

    def name(account: str) -> str:
        person = store.person_of_platform(store.keys.platform_key(platform, account))
        return person.rater if person else f"unknown-{digest(account)}"

    return name


def exclude(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    rater: Annotated[str, typer.Option(help="The person's pseudonym.")],
    reason: Annotated[str, typer.Option(help="Why; it is published, so name nobody.")],
    database: DatabaseOption = None,
) -> None:
    """Exclude a person: another may have the place, and the votes stay, uncounted.

    The votes are exported as votes that don't count, and the data card tells
    of the person and the reason: that there was somebody careless remains
    known. Who has finished keeps the code that was shown. It can't be undone;
    the server may run meanwhile. To delete a person's answers: purge.

    [bold]Examples[/]

    casewise annotate exclude study.yaml --rater p-0123456789
    --reason "failed both attention checks"
    """
    rater, reason = rater.strip(), " ".join(reason.split())
    if not reason:
        raise UsageError("--reason: say why in a few words; it stands in the data card")
    study = load_study(file)
    with open_store(study, file, database, "exclude") as store:
        came = store.exclude(rater, reason)
    if came is None:
        raise UsageError(f"--rater {rater}: the study knows no such person; nothing was changed")
    if came not in ("started", "active", "completed"):
        said = came.replace("_", " ")
        raise UsageError(f"--rater {rater}: is {said} already, so no vote counts: nothing changed")
    note(f"excluded: {rater}; the votes count no more, and the place is free for another")


def purge(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    rater: Annotated[str | None, typer.Option(help="The person's pseudonym.")] = None,
    platform_id: Annotated[
        str | None, typer.Option(help="The platform's id of the person, as the platform shows it.")
    ] = None,
    code: Annotated[
        str | None, typer.Option(help="The personal code that the study's pages showed the person.")
    ] = None,
    database: DatabaseOption = None,
) -> None:
    """Delete all that a person has answered; the block is free for another.

    Name the person by pseudonym, by the platform's id, or by personal code. A
    keyed hash of the account stays, so that the same person does not begin
    again, and comes back to the platform's code that it was shown. The server
    may run meanwhile. Files that were exported before, and backups, are not
    touched: the pseudonym that is printed finds the person in them.

    [bold]Examples[/]

    casewise annotate purge study.yaml --rater p-0123456789

    casewise annotate purge study.yaml --platform-id 5f0c1d2e3b4a596877665544

    casewise annotate purge study.yaml --code 7K3Q-M2ZX-9HTY
    """
    given = {"rater": rater, "account": platform_id, "code": code}
    named = {name: value.strip() for name, value in given.items() if value is not None}
    if len(named) != 1 or not all(named.values()):
        raise UsageError("give --rater, --platform-id or --code, one of them")
    study = load_study(file)
    with open_store(study, file, database, "purge") as store:
        if code is not None and store.keys.code_key(code) is None:
            raise UsageError(
                "--code: not a personal code, or mistyped: 12 letters and digits, the last of "
                "which checks the others, such as 7K3Q-M2ZX-9HTY; nothing was deleted"
            )
        purged = store.purge(**named)
    if purged is None:
        raise UsageError(
            "the study knows no such person, or has deleted all of it before; nothing was deleted"
        )
    note(f"deleted: every answer of {purged}; the block is free for another")
