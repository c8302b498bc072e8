"""Mechanical Turk: a layout and a batch out. One HIT is one block, for one worker.

The layout is Crowd HTML with native controls; ``${...}`` are the batch's columns
(docs.aws.amazon.com, "Creating your batch of HITs" and "Crowd HTML Elements").
"""

from collections.abc import Mapping, Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from casewise.annotation.exchange._shown import ShownPage, Tasks, as_html
from casewise.annotation.exchange._tables import to_csv
from casewise.annotation.study import (
    IMPOSSIBLE,
    LEAST_SECONDS,
    MOST_LEAST_SECONDS,
    QUESTION,
    paragraphs,
)
from casewise.contexts import render_text

MOST_BYTES = 65_535
"""Of a HIT's question, by the platform's reference of its HTMLQuestion."""


def mturk_files(tasks: Tasks) -> dict[str, bytes]:
    """The layout to paste, and the batch to upload: a row a block."""
    most = max(map(len, tasks.blocks))
    names = ["study", "block"]
    for position in range(most):
        names += [f"query_{position}", f"context_{position}"]
    rows = [_row(block, tasks.mark, most) for block in tasks.blocks]
    return {
        "layout.html": _layout(tasks, most).encode("ascii"),
        # The platform shows a cell as it stands, so an apostrophe would be seen; as_html has
        # written what a spreadsheet might run as references.
        "batch.csv": to_csv(names, rows, guarded=False),
    }


def _row(block: Sequence[ShownPage], mark: str, most: int) -> list[str]:
    cells = [mark, str(block[0].block)]
    for page in block:
        cells += [as_html(page.query), as_html(page.context)]
    return cells + [""] * (2 * (most - len(block)))


def _layout(tasks: Tasks, most: int) -> str:
    environment = Environment(
        loader=PackageLoader("casewise.annotation.exchange"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown"] = lambda text: Markup(as_html(text))
    environment.filters["context"] = render_text
    environment.filters["paragraphs"] = paragraphs
    template = environment.get_template("mturk.html.jinja")
    return (
        template.render(
            study=tasks.study,
            question=QUESTION,
            positions=range(most),
            least=LEAST_SECONDS,
            most_least=MOST_LEAST_SECONDS,
            impossible=IMPOSSIBLE,
        )
        + "\n"
    )


def too_long(files: Mapping[str, bytes]) -> tuple[int, ...]:
    """The blocks whose HIT would be longer than the platform takes: the layout, filled in."""
    layout = len(files["layout.html"])
    _, *rows = files["batch.csv"].splitlines()
    return tuple(number for number, row in enumerate(rows) if layout + len(row) > MOST_BYTES)
