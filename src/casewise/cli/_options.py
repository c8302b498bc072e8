"""Arguments and options that several commands have, worded once."""

from pathlib import Path
from typing import Annotated

import typer

from casewise.analysis import UnreadPolicy
from casewise.cases import LabelRule, Ties

READ = "Log folders, .eval files, judgement tables, or CASE-Bench output files."

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help=READ)]

Force = Annotated[
    bool,
    typer.Option("--force", help="Compare also over different versions of the data."),
]

Labels = Annotated[
    LabelRule | None, typer.Option(help="The truth to measure against, as in casewise score.")
]

Unread = Annotated[
    UnreadPolicy,
    typer.Option(
        help="What an unread answer counts as: honest leaves it out and names the coverage; "
        "reference does as the published script."
    ),
]

TiesOption = Annotated[
    Ties, typer.Option(help="An exact tie of votes (labels votes): half credit, or left out.")
]
