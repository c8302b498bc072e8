"""``casewise cases release``."""

import datetime
from pathlib import Path
from typing import Annotated

import typer

from casewise.cases import CaseSet, add_release, load_cases, load_releases, releases_path
from casewise.cli._console import note, out
from casewise.reporting import releases_table
from casewise.sheets import terminal


def release(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of cases.")],
    version: Annotated[
        str | None,
        typer.Option(metavar="X.Y.Z", help="The version; without it, the releases are listed."),
    ] = None,
    text: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="What changed since the last one.")
    ] = "",
) -> None:
    """Give the cases of a file a version, which results then name.

    Versions are two or three numbers and only go up. They stand beside the
    cases (mine.jsonl has mine.releases.yaml), each with the hash of the cases;
    keep both files together. Cases that are changed afterwards have no version
    until they are released again. casewise compare and gate refuse to subtract
    runs over different versions.

    [bold]Examples[/]

    casewise cases release mine.jsonl --version 1.0.0 --note "First edition"

    casewise cases release mine.jsonl
    """
    loaded = load_cases(file)
    if version is not None:
        made = add_release(
            file,
            version=version,
            hash=loaded.hash,
            cases=len(loaded.cases),
            queries=len({case.query_id for case in loaded.cases}),
            date=datetime.datetime.now(datetime.UTC).date(),
            note=text,
        )
        note(f"{releases_path(file)}: {made.version} is hash {made.hash}, {made.cases} cases")
        return
    _list(file, loaded)


def _list(file: Path, loaded: CaseSet) -> None:
    for line in loaded.notes:
        note(f"note: {line}")
    releases = load_releases(file)
    if not releases:
        note(f"{file} was never released: --version 1.0.0 gives it a version")
    else:
        out().print(terminal(releases_table(releases)))
    out().print(f"now: {len(loaded.cases)} cases, {loaded.identity}", highlight=False)
