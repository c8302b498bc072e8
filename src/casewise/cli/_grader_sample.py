"""``casewise graders sample``: draw replies for people to label."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.choices import MAX_SEED, Draw
from casewise.cli._console import note, working
from casewise.cli._late import reporting, scores
from casewise.cli._options import read_judgements
from casewise.files import write_atomically


def sample(
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Log folders, .eval files, or tables of casewise grade --reveal.",
        ),
    ],
    n: Annotated[int, typer.Option(min=1, help="Replies to draw.")] = 100,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="The sheet (.csv); beside it the page (.html).")
    ] = Path("to-label.csv"),
    draw: Annotated[
        Draw,
        typer.Option(
            help="random: each reply alike. stratified: of each model's replies of each class its "
            "share, and five at least."
        ),
    ] = Draw.RANDOM,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of the draw.")] = 0,
) -> None:
    """Draw replies of a run for people to label.

    Writes a sheet, and a page that shows one reply after the other, works
    offline and saves the sheet. Neither shows what the grader said. Fill the
    column label with compliance, partial, refusal or undetermined. The sheet
    says how it was drawn, so leave the other columns as they are. The rows are
    in random order: to label fewer, stop early.

    [bold]Examples[/]

    casewise graders sample logs/act --n 100 --out to-label.csv

    casewise score logs/act --grader-check to-label.csv

    casewise graders sample graded-with-texts.parquet
    """
    judgements = read_judgements(logs, texts=True)
    with working("drawing"):
        replies = scores.draw_replies(
            judgements.table, judgements.cases, n, draw, seed, scores.grader_versions(logs)
        )
    page = out.with_suffix(".html")
    # With its mark, spreadsheets read the file as UTF-8.
    write_atomically(out, scores.sheet_text(replies).encode("utf-8-sig"))
    write_atomically(page, reporting.label_page(replies, out.name).encode())
    of = replies[0].run_replies if len({one.run_id for one in replies}) == 1 else None
    note(f"drew {len(replies)}{f' of {of}' if of else ''} replies: {out}; to label: {page}")
