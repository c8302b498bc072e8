"""Plain CSV: the tasks and answers of any tool."""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from pathlib import Path

from casewise.errors import InputError
from casewise.files import csv_rows, csv_text, read_text
from casewise_study.exchange.sittings import (
    ShownPage,
    Sitting,
    TakenIn,
    TaskAnswer,
    Tasks,
    settle,
)
from casewise_study.votes.collected_csv import COUNT
from casewise_study.votes.result_files import (
    PlacedRow,
    ValuePlace,
    VoteColumn,
    one_of,
    read_count,
    read_row,
    to_utc,
)

_KINDS = {
    "Mechanical Turk's results": {"HITId", "WorkerId", "AssignmentId"},
    "a Prolific export": {"Submission id", "Participant id", "Status"},
    "casewise's plain CSV of answers": {"rater", "block", "position", "verdict"},
    "casewise's plain CSV of tasks": {"block", "position", "query", "context"},
}


def read_csv(
    path: Path, needed: Sequence[str], *, kind: str, guarded: bool = False
) -> list[PlacedRow]:
    """Read the rows of a CSV file, one at least. Rows of empty cells are skipped.

    Args:
        path: The file.
        needed: Columns that must be there.
        kind: What the file ought to be, for messages.
        guarded: Whether cells were guarded when they were written, as ``csv_text`` does.

    Raises:
        InputError: The file can't be read, is cut short, or is something else.
    """
    text = read_text(path)
    if text.lstrip()[:1] in ("{", "["):
        raise InputError("looks like JSON", file=path, expected=f"{kind} (CSV)")
    names: tuple[str, ...] = ()
    rows = []
    for row in csv_rows(text, path, guarded=guarded):
        record = f"row ending at line {row.line}"
        if not any(cell.strip() for cell in row.cells):
            continue
        if names:
            rows.append(PlacedRow(ValuePlace(path, record), row.by_name(names, path, record)))
        else:
            names = tuple(cell.strip() for cell in row.cells)
            _check_header(names, needed, path, kind)
    if not rows:
        raise InputError("no rows below the header", file=path, expected=kind)
    return rows


def _check_header(names: tuple[str, ...], needed: Sequence[str], path: Path, kind: str) -> None:
    place = ValuePlace(path, "header")
    if missing := [name for name in needed if name not in names]:
        if len(names) == 1 and ";" in names[0]:
            raise place.refuse("columns stand apart by semicolons", expected="commas")
        seen = next((seen for seen, has in _KINDS.items() if has <= set(names)), None)
        problem = f"this is {seen}" if seen else f"no column {missing[0]!r}"
        raise place.refuse(problem, expected=kind)
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise place.refuse("the column stands twice", twice[0])


def _utc(cell: str) -> datetime:
    """An ISO 8601 time, in UTC; without a zone it is UTC already."""
    try:
        return to_utc(datetime.fromisoformat(cell))
    except OverflowError:
        raise ValueError from None


def _seconds(cell: str) -> float | None:
    """Seconds from 0, or None: a browser may have measured nonsense, and the vote still counts."""
    try:
        seconds = float(cell)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


_COLUMNS = (
    *(VoteColumn(name, read_count, COUNT, needed=True) for name in ("block", "position")),
    VoteColumn(
        "verdict",
        lambda cell: one_of("safe", "unsafe")(cell.lower()),
        "safe or unsafe",
        needed=True,
    ),
    VoteColumn("time", _utc, "a time such as 2026-01-05T10:02:03Z"),
    VoteColumn("seconds", _seconds, "a number from 0"),
    VoteColumn("confidence", lambda cell: int(one_of(*"12345")(cell)), "1 to 5"),
    VoteColumn("reason", lambda cell: cell.encode("utf-8", "replace").decode(), "a text"),
)
_KNOWN = {column.name: column for column in _COLUMNS}


def _find_page(block: int, position: int, tasks: Tasks, place: ValuePlace) -> ShownPage:
    """The page at a position of a block.

    Raises:
        InputError: The plan has no such page.
    """
    if block >= (blocks := len(tasks.blocks)):
        raise place.refuse("no such block", "block", block, f"0 to {blocks - 1}")
    if position >= (pages := len(tasks.blocks[block])):
        raise place.refuse("no such page", "position", position, f"0 to {pages - 1}")
    return tasks.blocks[block][position]


def _sitting(rater: str, block: int, answers: Collection[TaskAnswer], tasks: Tasks) -> Sitting:
    """Make a sitting of answers alone; it lasts from the first one's time to the last's."""
    times = [answer.time for answer in answers if answer.time is not None]
    complete = len(answers) == len(tasks.blocks[block])
    ordered = tuple(sorted(answers, key=lambda answer: answer.position))
    ended = max(times, default=None) if complete else None
    return Sitting(rater, block, ordered, complete, min(times, default=None), ended)


_KIND = "a CSV of answers: study, rater, block, position, verdict"
_TASKS = ("study", "block", "position", "case_id", "query_id", "arm", "check", "query", "context")
_NEEDED = ("study", "rater", "block", "position", "verdict")


def csv_tasks(tasks: Tasks) -> dict[str, bytes]:
    """Write every page as a row, in the order of blocks and pages."""
    rows = [
        (
            *(tasks.mark, page.block, page.position, page.case_id, page.query_id, page.arm),
            *(page.check and page.check.id, page.query, page.context),
        )
        for page in chain.from_iterable(tasks.blocks)
    ]
    return {"tasks.csv": csv_text(_TASKS, rows).encode("utf-8", "replace")}


def read_csv_answers(
    files: Sequence[Path], tasks: Tasks, *, name: Callable[[str], str] | None, panel: str
) -> TakenIn:
    """Read answers: one row for each rater and page. Empty rows are skipped.

    Args:
        files: With the columns study, rater, block, position, verdict, and, if known, time,
            seconds, confidence, reason, case_id.
        tasks: The study's.
        name: Makes the pseudonym of a rater; None takes the column as it is.
        panel: Where the people were recruited.

    Raises:
        InputError: A file that isn't such answers, or not this study's.
    """
    answered: dict[tuple[str, int], list[TaskAnswer]] = {}
    blank = 0
    for path in files:
        for row in read_csv(path, _NEEDED, kind=_KIND, guarded=True):
            if not row.cells["rater"].strip() and not row.cells["verdict"].strip():
                blank += 1
                continue
            rater, block, answer = _answer(row, tasks, name)
            answers = answered.setdefault((rater, block), [])
            if any(before.position == answer.position for before in answers):
                raise row.place.refuse("this rater has answered this page before", "position")
            answers.append(answer)
    sittings = [_sitting(*who, answers, tasks) for who, answers in answered.items()]
    taken = settle(tasks, sittings, panel=panel)
    left = (f"{blank} rows have neither rater nor verdict: left out",) if blank else ()
    return replace(taken, notes=left + taken.notes)


def _answer(
    row: PlacedRow, tasks: Tasks, name: Callable[[str], str] | None
) -> tuple[str, int, TaskAnswer]:
    cells, place = row.cells, row.place
    if (mark := cells["study"]) != tasks.mark:
        same = mark.rpartition("@")[0] == tasks.study.id
        problem = "of this study as it was planned before" if same else "of another study"
        raise place.refuse(problem, "study", mark, tasks.mark)
    texts = {name: cell if name == "reason" else cell.strip() for name, cell in cells.items()}
    given = dict(read_row(texts, _KNOWN, place).cells)
    block = given.pop("block")
    page = _find_page(block, given["position"], tasks, place)
    if cells.get("case_id", "") not in ("", page.case_id):
        raise place.refuse("another case stands there", "case_id", cells["case_id"], page.case_id)
    return _rater(texts["rater"], place, name), block, TaskAnswer(**given)


def _rater(rater: str, place: ValuePlace, name: Callable[[str], str] | None) -> str:
    if not rater:
        raise place.refuse("nobody's answer", "rater")
    if name is not None:
        return name(rater)
    if "@" in rater:
        raise place.refuse("looks like an address", "rater", expected="a pseudonym, or --salt-file")
    return rater
