"""Replies that people labelled: JSON Lines, XSTest's files, and sheets to check a grader by."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from casewise.choices import LABEL
from casewise.errors import InputError, UsageError
from casewise.files import (
    Table,
    csv_text,
    open_table,
    quoted,
    read_bytes,
    rows,
    unguard_cell,
    whole_characters,
    write_atomically,
)
from casewise.protocols import ResponseClass, acting
from casewise.replies.sample import SHEET_COLUMNS, DrawnReply, seal, unseal

XSTEST_LABEL: Final = "final_label"
"""Name of the label's column in the completions of XSTest."""
XSTEST_CLASSES: Final = {
    "1": ResponseClass.COMPLIANCE,
    "2": ResponseClass.REFUSAL,
    "3": ResponseClass.PARTIAL,
    "1_full_compliance": ResponseClass.COMPLIANCE,
    "2_full_refusal": ResponseClass.REFUSAL,
    "3_partial_refusal": ResponseClass.PARTIAL,
}
"""XSTest's classes (Röttger et al., NAACL 2024), by number and as its files name them."""


class LabelledReply(BaseModel):
    """One reply with its hand label; other fields of its record are kept."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str = Field(min_length=1)
    query: str | None
    """Query that the reply answers, where it is known. Replies to one query are not independent."""
    reply: str
    label: ResponseClass
    """Class of the reply by people."""
    annotations: tuple[ResponseClass, ResponseClass] | None = None
    """Class by each of two people alone, where it is known."""
    context: JsonValue = None
    """Known situation: a model that grades sees it."""

    @property
    def situation(self) -> str | None:
        """The context as text."""
        if self.context is None or isinstance(self.context, str):
            return self.context
        return json.dumps(self.context, ensure_ascii=False)


_EXPECTED = {
    "id": "text that is not empty",
    "query": "text, or null",
    "reply": "text",
    LABEL: ", ".join(ResponseClass),
    "annotations": f"two of {', '.join(ResponseClass)}, or null",
}
_NEEDED = tuple(name for name in _EXPECTED if name != "annotations")


def load_labelled(path: Path | str, label: str = LABEL) -> tuple[LabelledReply, ...]:
    """Load labelled replies.

    JSON Lines or a CSV file with ``id``, ``query``, ``reply`` and ``label``; or the completions of
    XSTest, a CSV file with ``id``, ``prompt``, ``completion`` and ``final_label``.

    Args:
        path: The file.
        label: The field that holds the hand label, where a record has several.

    Raises:
        InputError: The file or one of its records can't be used.
    """
    path = Path(path)
    replies: dict[str, LabelledReply] = {}
    for place, one in _table(path, label) if path.suffix.lower() == ".csv" else _lines(path, label):
        if one.id in replies:
            raise InputError("duplicate id", file=path, record=place, field="id", found=one.id)
        replies[one.id] = one
    return tuple(replies.values())


def _lines(path: Path, label: str) -> Iterator[tuple[str, LabelledReply]]:
    for place, record in rows(path, suffix=".jsonl"):
        yield place, _parse(whole_characters(record), label, path, place)


def _table(path: Path, label: str) -> Iterator[tuple[str, LabelledReply]]:
    table = open_table(path).whole()
    if "reply" not in table.columns:
        yield from _xstest(path, table, label)
        return
    if "stratum" in table.columns:
        # A draw holds more of what the grader doubts: counted alike, it would seem to err more.
        raise InputError(
            "the replies were drawn from a run, more of what its grader doubts",
            file=path,
            expected=f"labels of all replies of a set; casewise score LOGS --grader-check "
            f"{quoted(path)} tells the rates of the run without the grader's errors",
        )
    _check_columns(path, table.columns, _NEEDED, ", ".join(_NEEDED))
    for place, row in table.rows:
        if isinstance(row, InputError):
            raise row
        record = {name: row[name] for name in {*_NEEDED, label} if name in row}
        yield place, _parse(record, label, path, place)


# --- XSTest -------------------------------------------------------------------------------------

_PEOPLE = ("annotation_1", "annotation_2")


def _xstest(path: Path, table: Table, label: str) -> Iterator[tuple[str, LabelledReply]]:
    label = XSTEST_LABEL if label == LABEL else label
    needed = ("id", "prompt", "completion", label)
    _check_columns(path, table.columns, needed, f"{', '.join(needed)}, as XSTest has them")
    for place, row in table.rows:
        if isinstance(row, InputError):
            raise row
        if not row["id"]:
            raise _wrong_value(path, place, "id", ..., _EXPECTED["id"])
        said = _class(row, label, path, place)
        people = [_class(row, one, path, place) for one in _PEOPLE if row.get(one)]
        yield (
            place,
            LabelledReply(
                id=row["id"],
                query=row["prompt"],
                reply=row["completion"],
                label=said,
                annotations=(people[0], people[1]) if len(people) == len(_PEOPLE) else None,
            ),
        )


def _check_columns(
    path: Path, columns: Sequence[str], needed: Sequence[str], expected: str
) -> None:
    lacking = next((name for name in needed if name not in columns), None)
    if lacking is not None:
        problem = "the column is missing"
        raise InputError(problem, file=path, field=lacking, expected=expected)


def _wrong_value(
    path: Path, place: str, field: str | None, found: object, expected: str
) -> InputError:
    return InputError(
        "wrong value", file=path, record=place, field=field, found=found, expected=expected
    )


def _class(row: Mapping[str, str], name: str, path: Path, place: str) -> ResponseClass:
    found = XSTEST_CLASSES.get(row[name].strip())
    if found is None:
        raise _wrong_value(path, place, name, row[name], ", ".join(XSTEST_CLASSES))
    return found


# --- records ------------------------------------------------------------------------------------


def _parse(record: object, label: str, path: Path, place: str) -> LabelledReply:
    if isinstance(record, dict) and label != LABEL:
        record.pop(LABEL, None)
        if label in record:
            record[LABEL] = record[label]
    try:
        return LabelledReply.model_validate(record)
    except ValidationError as error:
        raise _explain(error.errors()[0], label, path, place) from None


def _explain(error: ErrorDetails, label: str, path: Path, place: str) -> InputError:
    name = str(error["loc"][0]) if error["loc"] else ""
    field = label if name == LABEL else name or None
    expected = _EXPECTED.get(name, f"an object with {', '.join(_NEEDED)}" if not name else "JSON")
    if error["type"] == "missing":
        problem = "the field is missing"
        return InputError(problem, file=path, record=place, field=field, expected=expected)
    return _wrong_value(path, place, field, error["input"], expected)


GRADES: Final = (ResponseClass.COMPLIANCE, ResponseClass.PARTIAL, ResponseClass.REFUSAL)
"""Classes that count in corrections; the place of each is its number."""

MOST_SKIPPED = 0.1
"""Largest share of rows without a label, up to a sheet's last labelled one. What people skip is
seldom a random part: were a skipped tenth all misgraded, a rate would be off by a tenth, which is
what 100 labels leave open anyway."""


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """A reply with a person's class."""

    id: str
    query: str
    """Replies to one query are not independent."""
    reply: str
    label: ResponseClass | None
    """Class by a person; None if nobody labelled it."""
    grader: str | None = None
    """Grader, as far as the file says."""
    graded: ResponseClass | None = None
    """Class by that grader, if the file or its seal has it."""
    place: int = 0
    """Place in the order of drawing; 0 where it was not drawn from a run."""
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
        """Number of replies of its stratum that each labelled one stands for."""
        labelled = Counter(one.stratum for one in self.replies if one.label is not None)
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
    replied = [table["protocol"].is_in(acting()).any() for table in tables or ()]
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
    table = open_table(path).whole()
    if "sealed" not in table.columns:
        return _elsewhere(path)
    _check_columns(
        path, table.columns, _SHEET_COLUMNS, "the columns that casewise graders sample writes"
    )
    return _sheet(path, [_checked(row, path, place) for place, row in table.rows])


def _elsewhere(path: Path) -> CheckFile:
    """Labelled replies as ``casewise graders check`` reads them, with ``grader`` and ``graded``."""
    replies = []
    for one in load_labelled(path):
        extra = one.model_extra or {}
        graded = extra.get("graded")
        if graded is not None and graded not in list(ResponseClass):
            raise _wrong_value(path, one.id, "graded", graded, ", ".join(ResponseClass))
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
_SHEET_COLUMNS = ("label", "query", "reply", "id", *_NUMBERS, "grader", "sealed")


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
        one.stratum for one in reached if one.label is not None
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
    cells = {name: unguard_cell(str(row[name])).strip() for name in _SHEET_COLUMNS}
    numbers = {}
    for name in _NUMBERS:
        if not cells[name].isdigit() or int(cells[name]) < 1:
            expected = "a whole number from 1, as casewise graders sample wrote it"
            raise _wrong_value(path, place, name, cells[name], expected)
        numbers[name] = int(cells[name])
    label = cells["label"].lower()
    if label and label not in list(ResponseClass):
        expected = f"{', '.join(ResponseClass)}, or nothing"
        raise _wrong_value(path, place, "label", cells["label"], expected)
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


class LabelSheet:
    """A sheet of ``casewise graders sample`` that is being labelled; each label is written at once.

    Raises:
        InputError: The file can't be used, or is no such sheet.
    """

    def __init__(self, path: Path) -> None:
        table = open_table(path).whole()
        expected = "a sheet that casewise graders sample wrote"
        if "sealed" not in table.columns:
            raise InputError("no sheet of replies to label", file=path, expected=expected)
        _check_columns(path, table.columns, _SHEET_COLUMNS, expected)
        for place, row in table.rows:
            _checked(row, path, place)
        self.path = path
        self._columns = list(table.columns)
        self._rows = [
            {name: unguard_cell(str(row.get(name) or "")) for name in table.columns}
            for _, row in table.rows
            if isinstance(row, dict)
        ]
        self._lock = Lock()

    @property
    def replies(self) -> list[DrawnReply]:
        """The replies in the order of the sheet, with their labels so far."""
        cells: list[dict[str, Any]] = [
            {name: row.get(name, "") for name in SHEET_COLUMNS} for row in self._rows
        ]
        return [DrawnReply(**one) for one in cells]

    @property
    def labelled(self) -> int:
        """Number of replies that have a label."""
        return sum(bool(row[LABEL].strip()) for row in self._rows)

    def label(self, place: int, label: str) -> None:
        """Label the reply at a place from 0, or take its label away (""), and write the sheet.

        Raises:
            ValueError: There is no such reply or label.
            OSError: The sheet can't be written; then the old one stands, and the old label.
        """
        if type(place) is not int or not 0 <= place < len(self._rows):
            raise ValueError(f"place {place!r}, of {len(self._rows)}")
        if label not in ("", *GRADES, ResponseClass.UNDETERMINED):
            raise ValueError(f"label {label!r}")
        with self._lock:
            before = self._rows[place][LABEL]
            self._rows[place][LABEL] = str(label)
            rows = ([row[name] for name in self._columns] for row in self._rows)
            # With its mark, spreadsheets read the file as UTF-8.
            written = csv_text(self._columns, rows).encode("utf-8-sig")
            try:
                write_atomically(self.path, written)
            except OSError:
                self._rows[place][LABEL] = before
                raise


MOST_HEADER = 2_000
"""Most bytes of a file that are looked at to tell whether it is a sheet."""


@dataclass(frozen=True, slots=True)
class FoundLabels:
    """A sheet that lies beside logs, and what it is to their runs."""

    path: Path
    labelled: int
    replies: int
    is_own: bool
    """Whether it was drawn from one of these runs; else from an earlier one of the same model."""
    other_cases: bool
    """Whether the earlier run was over other cases."""


def find_labels(folders: Iterable[Path], table: pl.DataFrame) -> list[FoundLabels]:
    """Sheets in folders that were drawn from runs of a table, or from earlier ones of its models.

    Args:
        folders: Those that are not there are passed over.
        table: Judgements of the runs.
    """
    rows = table.filter(pl.col("protocol").is_in(acting()))
    runs, models, data = (
        set(rows[name].drop_nulls().unique()) for name in ("run_id", "model", "dataset_hash")
    )
    found = []
    places = {path.resolve(): path for one in folders if one.is_dir() for path in one.glob("*.csv")}
    for path in sorted(places.values()):
        try:
            # The folder may hold other tables, and large ones.
            if b"stratum_replies" not in read_bytes(path, MOST_HEADER).partition(b"\n")[0]:
                continue
            sheet = LabelSheet(path)
        except (InputError, OSError):
            continue
        replies = sheet.replies
        is_own = any(one.run_id in runs for one in replies)
        if is_own or any(
            one.sealed_model == seal(one.id, model) for one in replies for model in models
        ):
            others = not is_own and any(one.dataset_hash not in data for one in replies)
            found.append(FoundLabels(path, sheet.labelled, len(replies), is_own, others))
    return found
