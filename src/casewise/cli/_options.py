"""Arguments and options that several commands have, worded once."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from casewise.analysis import UnreadPolicy
from casewise.cases import LabelRule, Ties
from casewise.errors import UsageError

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


def parse_model_args(pairs: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` of ``--model-arg``; a value that is JSON is read as such.

    Raises:
        UsageError: A pair without a key or an equals sign, or a secret, which everybody on the
            machine could read in the list of processes.
    """
    # Late: it imports Inspect, which takes seconds.
    from casewise.evaluation import refuse_secret

    arguments: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            # What stands there may be a key.
            raise UsageError("--model-arg: write KEY=VALUE")
        refuse_secret("--model-arg", name)
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments
