"""Plain CSV: write the tasks of every block, read the answers of any tool."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from casewise.annotation.exchange.platform_files import (
    check_mark,
    find_page,
    read_answer,
    read_csv,
    read_time,
    sitting_of,
    to_csv,
)
from casewise.annotation.exchange.shown_pages import Tasks
from casewise.annotation.exchange.sittings import TakenIn, TaskAnswer, settle
from casewise.annotation.votes.result_files import PlacedRow, ValuePlace

_KIND = "a CSV of answers: study, rater, block, position, verdict"
_TASKS = ("study", "block", "position", "case_id", "query_id", "arm", "check", "query", "context")
_NEEDED = ("study", "rater", "block", "position", "verdict")


def csv_tasks(tasks: Tasks) -> dict[str, bytes]:
    """Write every page as a row, in the order of blocks and pages."""
    rows = [
        (
            tasks.mark,
            str(page.block),
            str(page.position),
            page.case_id or "",
            page.query_id or "",
            str(page.arm or ""),
            page.check.id if page.check else "",
            page.query,
            page.context,
        )
        for block in tasks.blocks
        for page in block
    ]
    return {"tasks.csv": to_csv(_TASKS, rows)}


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
        for row in read_csv(path, _NEEDED, kind=_KIND, guarded=True).rows:
            if not row.cells["rater"].strip() and not row.cells["verdict"].strip():
                blank += 1
                continue
            rater, block, answer = _answer(row, tasks, name)
            answers = answered.setdefault((rater, block), [])
            if any(before.position == answer.position for before in answers):
                raise row.place.refuse("this rater has answered this page before", "position")
            answers.append(answer)
    sittings = [sitting_of(*who, answers, tasks) for who, answers in answered.items()]
    taken = settle(tasks, sittings, panel=panel)
    left = (f"{blank} rows have neither rater nor verdict: left out",) if blank else ()
    return replace(taken, notes=left + taken.notes)


def _answer(
    row: PlacedRow, tasks: Tasks, name: Callable[[str], str] | None
) -> tuple[str, int, TaskAnswer]:
    cells, place = row.cells, row.place
    check_mark(cells["study"], tasks, place, "study")
    block, position = find_page(cells["block"], cells["position"], tasks, place)
    page = tasks.blocks[block][position]
    if cells.get("case_id", "") not in ("", page.case_id):
        raise place.refuse("another case stands there", "case_id", cells["case_id"], page.case_id)
    answer = read_answer(position, cells, place, read_time(cells.get("time"), place, "time"))
    return _rater(cells["rater"], place, name), block, answer


def _rater(cell: str, place: ValuePlace, name: Callable[[str], str] | None) -> str:
    rater = cell.strip()
    if not rater:
        raise place.refuse("nobody's answer", "rater")
    if name is not None:
        return name(rater)
    if "@" in rater:
        raise place.refuse("looks like an address", "rater", expected="a pseudonym, or --salt-file")
    return rater
