"""``casewise export``."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.analysis import read_paths, table_bytes
from casewise.cases import write_atomically
from casewise.cli._console import note


def export(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Log folders, .eval files, judgement tables, or CASE-Bench output files.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The table to write: FILE.parquet or FILE.csv.")
    ],
) -> None:
    """Write the judgement table: one row a model, condition, case and epoch.

    The table holds answers and explanations, which may quote the queries.

    [bold]Example[/]

    casewise export logs/ --out judgements.parquet
    """
    judgements = read_paths(paths, texts=True)
    for line in judgements.notes:
        note(f"note: {line}")
    write_atomically(out, table_bytes(judgements.table, out))
    note(f"{out}: {len(judgements.table)} judgements")
