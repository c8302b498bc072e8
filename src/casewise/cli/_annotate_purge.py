"""``casewise annotate purge``: a person's data are deleted."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.annotation.study import load_study
from casewise.cli._annotate_store import DatabaseOption, open_store
from casewise.cli._console import note
from casewise.errors import UsageError


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
