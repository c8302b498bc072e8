"""The sheet of drawn replies: people's labels in it, and what they say of a run."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import polars as pl
from pydantic import TypeAdapter, ValidationError

from casewise.choices import LABEL
from casewise.errors import InputError, UsageError
from casewise.files import TableForm, csv_text, rows, write_atomically
from casewise.protocols import acting_protocols
from casewise.replies.sample import LABELS, SHEET_COLUMNS, DrawnReply

MOST_SKIPPED = 0.1
"""Largest share of rows without a label, up to a sheet's last labelled one. What people skip is
seldom a random part: were a skipped tenth all misgraded, a rate would be off by a tenth, which is
what 100 labels leave open anyway."""

_ROW = TypeAdapter(DrawnReply)
_EXPECTED = {LABEL: f"{', '.join(filter(None, LABELS))}, or nothing"}


@dataclass(frozen=True, slots=True)
class CheckFile:
    """Labelled replies of a run, in the order of drawing."""

    path: Path
    replies: tuple[DrawnReply, ...]
    """Those up to the last that is labelled: a random part of the run."""
    notes: tuple[str, ...] = ()

    @property
    def scale_up(self) -> dict[int, float]:
        """Number of replies of its stratum that each labelled one stands for."""
        labelled = Counter(reply.stratum for reply in self.replies if reply.label)
        sizes = {reply.stratum: reply.stratum_replies for reply in self.replies}
        return {stratum: sizes[stratum] / count for stratum, count in labelled.items()}


def load_checks(
    paths: Sequence[Path], tables: Iterable[pl.DataFrame] | None = None
) -> tuple[CheckFile, ...]:
    """Read labelled sheets of ``casewise graders sample``.

    Args:
        paths: The files.
        tables: The judgements whose rates they are to correct; None where these come later.

    Raises:
        InputError: A file is no such sheet, or its labels are no random part of the replies.
        UsageError: No table has replies.
    """
    replied = [table["protocol"].is_in(acting_protocols()).any() for table in tables or ()]
    if paths and tables is not None and not any(replied):
        raise UsageError("a grader check corrects rates of replies: no run here is of respond")
    return tuple(_load_check(path) for path in dict.fromkeys(paths))


def _load_check(path: Path) -> CheckFile:
    replies, _ = _read_sheet(path)
    last = max((reply.place for reply in replies if reply.label), default=0)
    if not last:
        raise InputError("no reply is labelled yet", file=path, field=LABEL)
    reached = tuple(reply for reply in replies if reply.place <= last)
    skipped = last - sum(bool(reply.label) for reply in reached)
    if skipped > MOST_SKIPPED * last:
        raise InputError(
            f"{skipped} of the first {last} replies have no label: skipped replies are seldom "
            "random, so the others are no random sample",
            file=path,
            expected=f"at most {MOST_SKIPPED:.0%} without; undetermined where it is neither. "
            "To label fewer, stop early: the first rows are a random sample, too",
        )
    open_strata = {reply.stratum for reply in replies} - {
        reply.stratum for reply in reached if reply.label
    }
    if open_strata:
        raise InputError(
            f"no reply of stratum {min(open_strata)} is labelled",
            file=path,
            field="stratum",
            expected="one at least of each: label further",
        )
    unclear = sum(reply.label == "undetermined" for reply in reached)
    counts = {"have no label": skipped, "are labelled undetermined": unclear}
    notes = (
        f"{path}: {n} of {last} replies {reason}; left out." for reason, n in counts.items() if n
    )
    return CheckFile(path, reached, tuple(notes))


def _read_sheet(path: Path) -> tuple[list[DrawnReply], list[dict[str, str]]]:
    """The replies of a sheet, and its cells."""
    replies, cells = [], []
    for place, row in rows(path, TableForm(guarded=True)):
        lacking = next((name for name in SHEET_COLUMNS if name not in row), None)
        if lacking is not None:
            expected = "a sheet that casewise graders sample wrote"
            raise InputError("the column is missing", file=path, field=lacking, expected=expected)
        texts = {name: str(row[name]).strip() for name in SHEET_COLUMNS}
        try:
            replies.append(_ROW.validate_python(texts | {LABEL: texts[LABEL].lower()}))
        except ValidationError as error:
            field = str(error.errors()[0]["loc"][0])
            raise InputError(
                "wrong value",
                file=path,
                record=place,
                field=field,
                found=texts[field],
                expected=_EXPECTED.get(field, "what casewise graders sample wrote"),
            ) from None
        cells.append({name: str(value) for name, value in row.items()})
    return replies, cells


class LabelSheet:
    """A sheet that is being labelled; each label is written at once.

    Raises:
        InputError: The file can't be used, or is no such sheet.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.replies, self._rows = _read_sheet(path)
        self._lock = Lock()

    @property
    def labels(self) -> list[str]:
        """Label of each reply; empty of none."""
        return [row[LABEL] for row in self._rows]

    @property
    def labelled(self) -> int:
        """Number of replies that have a label."""
        return sum(map(bool, self.labels))

    def label(self, place: int, label: str) -> None:
        """Label the reply at a place from 0, or take its label away (""), and write the sheet.

        Raises:
            ValueError: There is no such reply or label.
            OSError: The sheet can't be written; then the old one stands, and the old label.
        """
        if type(place) is not int or not 0 <= place < len(self._rows):
            raise ValueError(f"place {place!r}, of {len(self._rows)}")
        if label not in LABELS:
            raise ValueError(f"label {label!r}")
        with self._lock:
            before = self._rows[place][LABEL]
            self._rows[place][LABEL] = label
            text = csv_text(list(self._rows[0]), (list(row.values()) for row in self._rows))
            try:
                # With its mark, spreadsheets read the file as UTF-8.
                write_atomically(self.path, text.encode("utf-8-sig"))
            except OSError:
                self._rows[place][LABEL] = before
                raise
