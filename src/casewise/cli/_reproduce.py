"""``casewise reproduce``: published figures, recomputed from published outputs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from casewise.cli import _complete as complete
from casewise.cli._cases import accept
from casewise.cli._console import Format, FormatOption, err, print_as, working
from casewise.cli._main import reporting, reproduction
from casewise.cli._options import argument, flag, option
from casewise.errors import UsageError

DIFFERENT = 1
"""Exit status where a figure differs without a known reason."""


def reproduce(
    name: Annotated[
        str | None,
        argument(
            "NAME",
            "The work; --list shows those that ship.",
            complete.one_of(lambda: reproduction.work_names()),
        ),
    ] = None,
    every: Annotated[bool, flag("--all", "Every work.")] = False,
    show: Annotated[bool, flag("--list", "Show the works, with their sizes and licences.")] = False,
    origin: Annotated[
        Path | None,
        option(
            "A folder that holds the files, at any depth, instead of the network.",
            None,
            "FOLDER",
            None,
            "--from",
        ),
    ] = None,
    by_reader: Annotated[
        bool,
        flag(
            "--by-reader",
            "Also grade the replies of NAME by casewise's own reader, and show how far its figures "
            "are from those by the authors' labels.",
        ),
    ] = False,
    accept_terms: Annotated[
        bool, flag("--accept-terms", "Accept the terms of what is fetched without being asked.")
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Recompute the published figures of a work from its published outputs.

    The outputs are fetched into your cache, after you accept their terms, and
    each file is checked against its hash; figures are those of casewise score.
    docs/how-to/reproduce.md shows them all, and what is left out.

    [bold]Exit status[/]: 0 every figure is equal within its tolerance, or differs for a
    known reason, 1 one differs without, 2 bad input.

    [bold]Examples[/]

    casewise reproduce --list

    casewise reproduce moralexceptqa

    casewise reproduce legal --from ~/outputs --by-reader

    casewise reproduce --all --from ~/outputs --format markdown
    """
    if sum((name is not None, every, show)) != 1:
        raise UsageError("give the NAME of a work, --all or --list: one of them")
    if by_reader and name is None:
        raise UsageError("--by-reader grades the replies of one work: give its NAME")
    names = [name] if name is not None else reproduction.work_names()
    works = {one: reproduction.load_work(one) for one in names}
    if show:
        print_as(format, reporting.works_sheet(works))
        return
    found = []
    for one, work in works.items():
        missing = [] if origin is not None else reproduction.to_fetch(one, work)
        if missing:
            accept(
                f"{work.title}\n{work.citation}\n\nLicence: {work.licence}.\n{work.terms}",
                accept_terms,
            )
        with err().status(f"{one}: reading") as status:
            files = reproduction.gather(
                *(one, work, origin),
                lambda file, n: status.update(f"{file.path}: {n:,} of {file.bytes:,} bytes"),
            )
        with working(f"{one}: scoring"):
            made = reproduction.recompute(one, work, files)
            anew = reproduction.read_anew(one, work, files) if by_reader else None
            found.append(replace(made, by_reader=anew))
    print_as(format, reporting.reproduction_sheet(found))
    if any(one.unexplained for one in found):
        raise typer.Exit(DIFFERENT)
