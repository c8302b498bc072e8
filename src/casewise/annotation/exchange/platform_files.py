"""What readers of platforms' files share, and plain CSV: the tasks and answers of any tool."""

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from casewise.annotation.exchange.sittings import Sitting, TakenIn, TaskAnswer, Tasks, settle
from casewise.annotation.votes.result_files import PlacedRow, ValuePlace, to_utc
from casewise.errors import InputError
from casewise.files import csv_rows, csv_text, read_text

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
    filled = (
        row
        for row in csv_rows(text, path, guarded=guarded)
        if any(cell.strip() for cell in row.cells)
    )
    names: tuple[str, ...] = ()
    rows = []
    for row in filled:
        record = f"row ending at line {row.line}"
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


_NAMES = ("verdict", "seconds", "confidence", "reason")
_ZONES = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
_TURK = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{1,2} \d\d:\d\d:\d\d) ([A-Z]{3}) (\d{4})")


def read_count(value: object, place: ValuePlace, field: str) -> int:
    """A whole number from 0."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise place.refuse("not a whole number from 0", field, value)
    return int(text)


def read_time(value: object, place: ValuePlace, field: str) -> datetime | None:
    """A time in UTC: ISO 8601, or as Mechanical Turk writes it (Mon Jan 05 10:02:03 PST 2026)."""
    if value is None or value == "":
        return None
    text = value.strip() if isinstance(value, str) else ""
    written = _TURK.fullmatch(text)
    try:
        if written and written[2] in _ZONES:
            zone = timezone(timedelta(hours=_ZONES[written[2]]))
            plain = datetime.strptime(f"{written[1]} {written[3]}", "%b %d %H:%M:%S %Y")
            return plain.replace(tzinfo=zone).astimezone(UTC)
        return to_utc(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        raise place.refuse("not a time", field, value, "2026-01-05T10:02:03Z") from None


def read_answer(
    position: int,
    given: Mapping[str, object],
    place: ValuePlace,
    time: datetime | None,
    suffix: str = "",
) -> TaskAnswer:
    """Read a person's answer to one page.

    Args:
        position: Of the page in its block.
        given: Values by their names: verdict; if known, seconds, confidence and reason.
        place: Where they stand.
        time: When it was given.
        suffix: What the names end in, before they are looked up.

    Raises:
        InputError: There is no verdict, or a value is none of its kind.
    """
    value = {name: given.get(f"{name}{suffix}") for name in _NAMES}
    verdict, reason = value["verdict"], value["reason"]
    side = verdict.strip().lower() if isinstance(verdict, str) else ""
    if side not in ("safe", "unsafe"):
        raise place.refuse("not a verdict", f"verdict{suffix}", verdict, "safe or unsafe")
    confidence: int | None = None
    if value["confidence"] not in (None, ""):
        confidence = read_count(value["confidence"], place, f"confidence{suffix}")
        if not 1 <= confidence <= 5:
            raise place.refuse("not a confidence", f"confidence{suffix}", confidence, "1 to 5")
    if reason is not None and not isinstance(reason, str):
        raise place.refuse("not a text", f"reason{suffix}", reason)
    return TaskAnswer(
        position=position,
        verdict="safe" if side == "safe" else "unsafe",
        time=time,
        seconds=_seconds(value["seconds"]),
        confidence=confidence,
        reason=reason.encode("utf-8", "replace").decode() if reason else None,
    )


def _seconds(value: object) -> float | None:
    """Seconds from 0, or None: a browser may have measured nonsense, and the vote still counts."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


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
    """Read a block and a position, and check that the plan has them.

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
    """Read a block's number, and check that the plan has it.

    Raises:
        InputError: It has no such block.
    """
    number = read_count(block, place, field)
    if number >= len(tasks.blocks):
        raise place.refuse("no such block", field, block, f"0 to {len(tasks.blocks) - 1}")
    return number


def sitting_of(rater: str, block: int, answers: Collection[TaskAnswer], tasks: Tasks) -> Sitting:
    """Make a sitting of answers alone; it lasts from the first one's time to the last's."""
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


_KIND = "a CSV of answers: study, rater, block, position, verdict"
_TASKS = ("study", "block", "position", "case_id", "query_id", "arm", "check", "query", "context")
_NEEDED = ("study", "rater", "block", "position", "verdict")


def csv_tasks(tasks: Tasks) -> dict[str, bytes]:
    """Write every page as a row, in the order of blocks and pages."""
    rows = [
        (
            tasks.mark,
            page.block,
            page.position,
            page.case_id,
            page.query_id,
            page.arm,
            page.check and page.check.id,
            page.query,
            page.context,
        )
        for block in tasks.blocks
        for page in block
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
