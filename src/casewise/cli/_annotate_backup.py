"""``casewise annotate backup`` and ``restore``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.cli._annotate_store import DatabaseOption, find_database, need_extra
from casewise.cli._console import note, write_out


def backup(
    file: Annotated[Path, typer.Argument(metavar="STUDY", help="A study as YAML.")],
    to: Annotated[
        Path, typer.Option("--out", metavar="FOLDER", help="The backup, readable by you alone.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier backup.")] = False,
    database: DatabaseOption = None,
) -> None:
    """Copy a study's database, secrets, plan and cases while the server runs.

    A copy of the .db file made by other means lacks the latest votes, which
    SQLite keeps in a file beside it until they are many. The backup has every
    vote that was taken before; it is checked, and not there at all if
    something is wrong. PostgreSQL is written to SQLite, too: the folder is a
    study that can be exported or served as it is. Its secrets tell who people
    are: keep it as you keep the study.

    [bold]Examples[/]

    casewise annotate backup study.yaml --out backup

    casewise annotate export backup/study.yaml --out votes
    """
    address = find_database(file, database, "backup")
    from casewise.annotation.store.backup import back_up

    made = back_up(file, address, to, force=force)
    people = "1 person" if made.people == 1 else f"{made.people} people"
    votes = "1 vote" if made.votes == 1 else f"{made.votes} votes"
    note(f"{people} and {votes}; the copy is whole")
    for what in made.left_out:
        note(f"note: not in the backup, so keep it too: {what}")
    write_out(f"{to}\n")


def restore(
    folder: Annotated[Path, typer.Argument(metavar="BACKUP", help="What backup wrote.")],
    to: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="A new or an empty folder.")],
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="An empty PostgreSQL. Default: SQLite beside the study, as usual."
        ),
    ] = None,
) -> None:
    """Make a study from a backup, to be served again.

    The backup is checked first, and stays as it is. Nothing is overwritten:
    move away what is broken, then restore to its name. People go on where the
    backup has them.

    [bold]Examples[/]

    casewise annotate restore backup --out restored

    casewise annotate restore backup --out restored
    --database postgresql://me@db.example/study
    """
    need_extra("restore")
    from casewise.annotation.store.backup import restore_study

    made = restore_study(folder, to, database)
    note(f"restored: {made.people} people and {made.votes} votes")
    write_out(f"{to / made.file}\n")
