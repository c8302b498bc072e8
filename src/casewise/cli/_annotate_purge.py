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
    database: DatabaseOption = None,
) -> None:
    """Delete all that a person has answered; the block is free for another.

    A keyed hash of the account stays, so that the same person does not begin
    again, and comes back to the code that it was shown. The server may run
    meanwhile. Files that were exported before are not touched.

    [bold]Examples[/]

    casewise annotate purge study.yaml --rater p-0123456789

    casewise annotate purge study.yaml --platform-id 5f0c1d2e3b4a596877665544
    """
    if (rater is None) == (platform_id is None):
        raise UsageError("give --rater or --platform-id, one of them")
    study = load_study(file)
    with open_store(study, file, database, "purge") as store:
        platform_key = (
            store.keys.platform_key(study.recruitment.platform, platform_id.strip())
            if platform_id
            else None
        )
        if not store.purge(rater=rater, platform_key=platform_key):
            raise UsageError("the study knows no such person, or has deleted all of it before")
    note("deleted: every answer of this person; the block is free for another")
