"""``casewise annotate backup``: a study's votes, copied while people judge."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.annotation.study import load_study
from casewise.cli._annotate_store import DatabaseOption, find_database
from casewise.cli._console import note, write_out


def backup(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    to: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The backup, readable by you alone.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier backup.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Copy a study's database while the server runs.

    A copy of the .db file made by other means lacks the latest votes, which
    SQLite keeps in a file beside it until they are many. The backup is one
    file with every vote that was taken before; it is checked, and not there
    at all if something is wrong. Keep the study file, its cases and
    STUDY.secrets.json too: without the secrets nobody who comes again is
    known. To restore, serve or export with --database FILE. A PostgreSQL is
    backed up by pg_dump: the command for it is printed.

    [bold]Examples[/]

    casewise annotate backup study.yaml --out study-backup.db

    casewise annotate export study.yaml --database study-backup.db --out votes/
    """
    study = load_study(file)
    address = find_database(file, database, "backup")
    from casewise.annotation.store import back_up

    made = back_up(address, to, study=study.id, force=force)
    people = "1 person" if made.people == 1 else f"{made.people} people"
    votes = "1 vote" if made.votes == 1 else f"{made.votes} votes"
    note(f"{people} and {votes}; the copy is whole")
    secrets = file.with_suffix(".secrets.json")
    if secrets.exists():
        note(f"keep {secrets} too, apart from what you publish: the backup is read with it")
    write_out(f"{to}\n")
