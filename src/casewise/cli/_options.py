"""Arguments and options that several commands have, worded once; the judgements they name."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from casewise.cases import OWN_RULE, LabelRule, Ties, read_label_rule
from casewise.cli._console import note_all, working
from casewise.scores import Judgements, UnreadPolicy, read_paths

READ = "Log folders, .eval files, judgement tables, or CASE-Bench output files."

Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help=READ)]

Force = Annotated[
    bool,
    typer.Option("--force", help="Compare also over different versions of the data."),
]

RULES = "|".join([*LabelRule, OWN_RULE])
"""How help shows what ``--labels`` takes."""

Labels = Annotated[
    LabelRule | None,
    typer.Option(
        parser=read_label_rule,
        metavar=RULES,
        help="The truth to measure against, as in casewise score.",
    ),
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


GraderCheck = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Replies that people labelled (from casewise graders sample, or as casewise graders "
        "check reads them): correct the rates of replies for the grader's errors. Repeat it.",
    ),
]


def read_judgements(paths: Sequence[Path], *, texts: bool = False) -> Judgements:
    """Read judgements, and say what a person should know of it.

    Raises:
        InputError: A path is missing or can't be read, or nothing was recognised.
    """
    with working("reading the judgements"):
        judgements = read_paths(paths, texts=texts)
    note_all(judgements.notes)
    return judgements
