"""Plain CSV: the tasks of every block out, answers of any other tool in."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from casewise.annotation.exchange.platform_csv import (
    TaskRow,
    read_confidence,
    read_count,
    read_csv,
    read_reason,
    read_seconds,
    read_time,
    read_verdict,
    to_csv,
)
from casewise.annotation.exchange.shown_pages import Tasks
from casewise.annotation.exchange.sittings import Sitting, TakenIn, TaskAnswer, settle
from casewise.annotation.votes.typed_csv import ValuePlace

_KIND = "a CSV of answers: study, rater, block, position, verdict"
_TASKS = ("study", "block", "position", "case_id", "query_id", "arm", "check", "query", "context")
_NEEDED = ("study", "rater", "block", "position", "verdict")


def csv_tasks(tasks: Tasks) -> dict[str, bytes]:
    """The file of every page: a row each, blocks in their order and pages in theirs."""
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
    """Take in answers: one row a rater and page. Rows that nobody has filled in are passed over.

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
    row: TaskRow, tasks: Tasks, name: Callable[[str], str] | None
) -> tuple[str, int, TaskAnswer]:
    cells, place = row.cells, row.place
    check_mark(cells["study"], tasks, place, "study")
    block, position = find_page(cells["block"], cells["position"], tasks, place)
    page = tasks.blocks[block][position]
    if cells.get("case_id", "") not in ("", page.case_id):
        raise place.refuse("another case stands there", "case_id", cells["case_id"], page.case_id)
    return (
        _rater(cells["rater"], place, name),
        block,
        TaskAnswer(
            position=position,
            verdict=read_verdict(cells["verdict"], place, "verdict"),
            time=read_time(cells.get("time"), place, "time"),
            seconds=read_seconds(cells.get("seconds")),
            confidence=read_confidence(cells.get("confidence"), place, "confidence"),
            reason=read_reason(cells.get("reason"), place, "reason"),
        ),
    )


def _rater(cell: str, place: ValuePlace, name: Callable[[str], str] | None) -> str:
    rater = cell.strip()
    if not rater:
        raise place.refuse("nobody's answer", "rater")
    if name is not None:
        return name(rater)
    if "@" in rater:
        raise place.refuse("looks like an address", "rater", expected="a pseudonym, or --salt-file")
    return rater


def check_mark(mark: object, tasks: Tasks, place: ValuePlace, field: str) -> None:
    """Refuse a record of another study, or of this one as it was planned before.

    Raises:
        InputError: It is.
    """
    if mark == tasks.mark:
        return
    same = isinstance(mark, str) and mark.rpartition("@")[0] == tasks.study.id
    problem = "of this study as it was planned before" if same else "of another study"
    raise place.refuse(problem, field, mark, tasks.mark)


def find_page(block: object, position: object, tasks: Tasks, place: ValuePlace) -> tuple[int, int]:
    """A block and a position that the plan has.

    Raises:
        InputError: It has no such page.
    """
    number = find_block(block, tasks, place, "block")
    where = read_count(position, place, "position")
    if where >= len(tasks.blocks[number]):
        raise place.refuse(
            "no such page", "position", position, f"0 to {len(tasks.blocks[number]) - 1}"
        )
    return number, where


def find_block(block: object, tasks: Tasks, place: ValuePlace, field: str) -> int:
    """A block that the plan has.

    Raises:
        InputError: It has no such block.
    """
    number = read_count(block, place, field)
    if number >= len(tasks.blocks):
        raise place.refuse("no such block", field, block, f"0 to {len(tasks.blocks) - 1}")
    return number


def sitting_of(rater: str, block: int, answers: Collection[TaskAnswer], tasks: Tasks) -> Sitting:
    """A sitting of which only the answers are known: from the first one's time to the last's."""
    times = [answer.time for answer in answers if answer.time is not None]
    complete = len(answers) == len(tasks.blocks[block])
    return Sitting(
        rater=rater,
        block=block,
        name=f"rater {rater}",
        answers=tuple(sorted(answers, key=lambda answer: answer.position)),
        started=min(times, default=None),
        ended=max(times, default=None) if complete else None,
    )
