"""Mechanical Turk: write a layout and a batch of one HIT a block, read the results."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from casewise.annotation.exchange.platform_files import (
    check_mark,
    find_block,
    read_answer,
    read_count,
    read_csv,
    read_time,
)
from casewise.annotation.exchange.sittings import (
    ShownPage,
    Sitting,
    TakenIn,
    Tasks,
    as_html,
    settle,
)
from casewise.annotation.study.language import paragraphs
from casewise.annotation.study.reading_times import (
    IMPOSSIBLE,
    LEAST_SECONDS,
    MOST_LEAST_SECONDS,
    QUESTION,
)
from casewise.annotation.study.study_file import study_language
from casewise.annotation.votes.result_files import PlacedRow, ValuePlace
from casewise.contexts import render_text
from casewise.files import csv_text

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
        "batch.csv": csv_text(names, rows, guarded=False).encode("utf-8", "replace"),
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
    say = study_language(tasks.study).say
    environment.globals["_"] = lambda message, **fields: Markup(as_html(say(message) % fields))
    environment.globals["js"] = lambda message, **fields: htmlsafe_json_dumps(say(message) % fields)
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
            impossible=IMPOSSIBLE * tasks.reading.speed,
        )
        + "\n"
    )


def too_long(files: Mapping[str, bytes]) -> tuple[int, ...]:
    """The blocks whose HIT would be longer than the platform takes: the layout, filled in."""
    layout = len(files["layout.html"])
    _, *rows = files["batch.csv"].splitlines()
    return tuple(number for number, row in enumerate(rows) if layout + len(row) > MOST_BYTES)


_KIND = "Mechanical Turk's results of this study's batch (CSV)"
_NEEDED = (
    "AssignmentId",
    "WorkerId",
    "AssignmentStatus",
    "AcceptTime",
    "SubmitTime",
    "Input.study",
    "Input.block",
)
_STATUSES = ("Submitted", "Approved", "Rejected")
_TOGETHER = "Answer.taskAnswers"


def read_mturk(
    files: Sequence[Path], tasks: Tasks, *, name: Callable[[str], str], panel: str
) -> TakenIn:
    """Read the results of batches.

    An assignment that stands in two files (a batch fetched twice) counts once, as its last record
    says. Every vote has the time of submission: the platform keeps no other.

    Args:
        files: As fetched from "Review results".
        tasks: The study's.
        name: Makes the pseudonym of a worker.
        panel: Where the people were recruited.

    Raises:
        InputError: A file that isn't such results, or not this study's.
    """
    sittings: dict[str, Sitting] = {}
    for path in files:
        for row in read_csv(path, _NEEDED, kind=_KIND):
            sitting = _sitting(row, tasks, name)
            key = row.cells["AssignmentId"].strip()
            before = sittings.setdefault(key, sitting)
            if (before.rater, before.block, before.answers) != (
                sitting.rater,
                sitting.block,
                sitting.answers,
            ):
                raise row.place.refuse("stands twice, and differently", "AssignmentId", key)
            sittings[key] = sitting
    return settle(tasks, sittings.values(), panel=panel)


def _sitting(row: PlacedRow, tasks: Tasks, name: Callable[[str], str]) -> Sitting:
    cells, place = row.cells, row.place
    check_mark(cells["Input.study"], tasks, place, "Input.study")
    block = find_block(cells["Input.block"], tasks, place, "Input.block")
    status = cells["AssignmentStatus"].strip()
    if status not in _STATUSES:
        raise place.refuse("not a status", "AssignmentStatus", status, ", ".join(_STATUSES))
    for column in ("WorkerId", "AssignmentId"):
        if not cells[column].strip():
            raise place.refuse("nothing there; the file may be cut short", column)
    submitted = read_time(cells["SubmitTime"], place, "SubmitTime")
    given = _given(cells, place)
    answers = [
        read_answer(position, given, place, submitted, f"_{position}")
        for position in range(len(tasks.blocks[block]))
        if f"verdict_{position}" in given
    ]
    attempts = given.get("attempts")
    return Sitting(
        rater=name(cells["WorkerId"]),
        block=block,
        name=f"assignment {cells['AssignmentId'].strip()}",
        answers=tuple(answers),
        started=read_time(cells["AcceptTime"], place, "AcceptTime"),
        ended=submitted,
        attempts=read_count(attempts, place, "attempts") if attempts else 0,
        rejected=status == "Rejected",
    )


def _given(cells: Mapping[str, str], place: ValuePlace) -> dict[str, str]:
    """What was filled in, by the name of its control.

    A radio button is written as ``name: {value: true or false, ...}`` in one column of JSON, as a
    column a value, or, by a plain form, as a column with the value.
    """
    given: dict[str, str] = {}
    together = cells.get(_TOGETHER, "").strip()
    if together:
        for name, value in _parse(together, place).items():
            chosen = _chosen(value)
            if chosen is not None:
                given[name] = chosen
    for column, cell in cells.items():
        if not column.startswith("Answer.") or column == _TOGETHER or not cell:
            continue
        name, dot, value = column.removeprefix("Answer.").partition(".")
        if not dot:
            given[name] = cell
        elif cell.strip().lower() == "true":
            given[name] = value
    return given


def _parse(text: str, place: ValuePlace) -> dict[str, object]:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise place.refuse("not JSON, or cut short", _TOGETHER) from None
    if isinstance(parsed, list) and len(parsed) == 1:
        parsed = parsed[0]
    if not isinstance(parsed, dict):
        raise place.refuse("not one form's answers", _TOGETHER)
    return parsed


def _chosen(value: object) -> str | None:
    if isinstance(value, dict):
        return next((str(option) for option, chosen in value.items() if chosen is True), None)
    return value if isinstance(value, str) and value else None
