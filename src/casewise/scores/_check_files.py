"""Files of replies that people labelled to check a grader by: sheets, and others' files."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from casewise.cases import read_table
from casewise.errors import InputError, UsageError
from casewise.files import unguard_cell
from casewise.protocols import Protocol, ResponseClass
from casewise.scores._labelled_replies import load_labelled
from casewise.scores._reply_sample import unseal

GRADES: Final = (ResponseClass.COMPLIANCE, ResponseClass.PARTIAL, ResponseClass.REFUSAL)
"""The classes that count, by number."""

MOST_SKIPPED = 0.1
"""Share of a sheet's rows that may be left without a label before its last one. What people skip is
seldom a random part; of a tenth that were all misgraded a rate would move by a tenth, which is what
100 labels leave open anyway."""


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply with a person's class."""

    id: str
    query: str
    """Replies to one query are not independent."""
    reply: str
    label: ResponseClass | None
    """None: nobody labelled it."""
    grader: str | None = None
    """Who graded it, as far as the file says."""
    graded: ResponseClass | None = None
    """As what."""
    place: int = 0
    """In the order of drawing; 0 where it was not drawn from a run."""
    stratum: int = 0
    stratum_replies: int = 0
    run_replies: int = 0


@dataclass(frozen=True, slots=True)
class CheckFile:
    """One file of labelled replies."""

    path: Path
    replies: tuple[CheckedReply, ...]
    notes: tuple[str, ...] = ()

    @property
    def scale_up(self) -> dict[int, float]:
        """Of how many replies of its stratum each labelled one stands for."""
        labelled = Counter(one.stratum for one in self.replies if one.label in GRADES)
        sizes = {one.stratum: one.stratum_replies for one in self.replies}
        return {stratum: sizes[stratum] / count for stratum, count in labelled.items()}


def load_checks(
    paths: Sequence[Path], tables: Iterable[pl.DataFrame] | None = None
) -> tuple[CheckFile, ...]:
    """Read labelled replies: sheets of ``casewise graders sample``, or files from elsewhere.

    Args:
        paths: The files.
        tables: The judgements whose rates they are to correct; None where these come later.

    Raises:
        InputError: A file can't be used, or two sheets are of the same replies.
        UsageError: No table has replies.
    """
    files = tuple(_load_check(path) for path in dict.fromkeys(paths))
    replied = [(table["protocol"] == Protocol.RESPOND).any() for table in tables or ()]
    if files and tables is not None and not any(replied):
        raise UsageError("a grader check corrects rates of replies: no run here is of respond")
    seen: dict[str, Path] = {}
    for file in files:
        for one in file.replies:
            if one.place and one.id in seen:
                raise InputError(
                    f"a reply of {seen[one.id]} stands in it, too",
                    file=file.path,
                    found=one.id,
                    expected="one sheet for each run",
                )
            seen[one.id] = file.path
    return files


def _load_check(path: Path) -> CheckFile:
    if path.suffix.lower() != ".csv":
        return _elsewhere(path)
    table = read_table(path)
    if "sealed" not in table.columns:
        return _elsewhere(path)
    lacking = next((name for name in _NEEDED if name not in table.columns), None)
    if lacking is not None:
        expected = "the columns that casewise graders sample writes"
        raise InputError("the column is missing", file=path, field=lacking, expected=expected)
    return _sheet(path, [_checked(row, path, place) for place, row in table.rows])


def _elsewhere(path: Path) -> CheckFile:
    """As ``casewise graders check`` reads them, with the fields ``grader`` and ``graded``."""
    replies = []
    for one in load_labelled(path):
        extra = one.model_extra or {}
        graded = extra.get("graded")
        if graded is not None and graded not in list(ResponseClass):
            expected = ", ".join(ResponseClass)
            raise InputError(
                "wrong value",
                file=path,
                record=one.id,
                field="graded",
                found=graded,
                expected=expected,
            )
        replies.append(
            CheckedReply(
                id=one.id,
                query=one.query or one.id,
                reply=one.reply,
                label=one.label,
                grader=extra.get("grader"),
                graded=ResponseClass(graded) if graded is not None else None,
            )
        )
    return CheckFile(path, tuple(replies))


_NUMBERS = ("place", "stratum", "stratum_replies", "run_replies")
_NEEDED = ("label", "query", "reply", "id", *_NUMBERS, "grader", "sealed")


def _sheet(path: Path, replies: Sequence[CheckedReply]) -> CheckFile:
    twice = next((id for id, n in Counter(one.id for one in replies).items() if n > 1), None)
    if twice is not None:
        raise InputError("the reply stands twice", file=path, field="id", found=twice)
    last = max((one.place for one in replies if one.label is not None), default=0)
    if not last:
        expected = f"one of {', '.join(ResponseClass)} in the column label"
        raise InputError("no reply is labelled yet", file=path, field="label", expected=expected)
    done = {one.place for one in replies if one.label is not None}
    skipped = last - len(done)
    if skipped > MOST_SKIPPED * last:
        raise InputError(
            f"{skipped} of the first {last} replies have no label: what people skip is seldom a "
            "random part, so the others are none",
            file=path,
            expected=f"at most {MOST_SKIPPED:.0%} without; undetermined where it can't be told. "
            "To label fewer, stop early: the first rows are a random sample, too",
        )
    reached = tuple(one for one in replies if one.place <= last)
    open_strata = {one.stratum for one in replies} - {
        one.stratum for one in reached if one.label in GRADES
    }
    if open_strata:
        raise InputError(
            f"no reply of stratum {min(open_strata)} is labelled",
            file=path,
            field="stratum",
            expected="one at least of each: label further",
        )
    notes = []
    if skipped:
        notes.append(f"{path}: {skipped} of the first {last} replies have no label; left out.")
    if unclear := sum(one.label is ResponseClass.UNDETERMINED for one in reached):
        notes.append(f"{path}: people can't tell {unclear} of {last} replies; left out.")
    return CheckFile(path, reached, tuple(notes))


def _checked(row: Mapping[str, Any] | InputError, path: Path, place: str) -> CheckedReply:
    if isinstance(row, InputError):
        raise row
    cells = {name: unguard_cell(str(row[name])).strip() for name in _NEEDED}
    numbers = {}
    for name in _NUMBERS:
        if not cells[name].isdigit() or int(cells[name]) < 1:
            raise InputError(
                "wrong value",
                file=path,
                record=place,
                field=name,
                found=cells[name],
                expected="a whole number from 1, as casewise graders sample wrote it",
            )
        numbers[name] = int(cells[name])
    label = cells["label"].lower()
    if label and label not in list(ResponseClass):
        raise InputError(
            "wrong value",
            file=path,
            record=place,
            field="label",
            found=cells["label"],
            expected=f"{', '.join(ResponseClass)}, or nothing",
        )
    graded = unseal(cells["id"], cells["sealed"])
    if graded is None:
        raise InputError(
            "the seal does not fit the id: one of them was changed",
            file=path,
            record=place,
            field="sealed",
            found=cells["sealed"],
            expected="what casewise graders sample wrote",
        )
    return CheckedReply(
        id=cells["id"],
        query=cells["query"],
        reply=cells["reply"],
        label=ResponseClass(label) if label else None,
        grader=cells["grader"] or None,
        graded=graded,
        **numbers,
    )
