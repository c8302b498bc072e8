"""Prolific's exports of submissions: a row is somebody's work, and what became of it.

Statuses are those of its API reference ("Submission object").
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import InputError, UsageError, some
from casewise.files import open_table
from casewise_study.study.schema import Platform, Study
from casewise_study.votes.result_files import ValuePlace

PERSON, SUBMISSION, CODE = "Participant id", "Submission id", "Completion code"
"""Columns that name people, or what they brought back."""

KIND = "Prolific's export of submissions (CSV)"

STATUSES = (
    *("APPROVED", "AWAITING REVIEW", "REJECTED", "TIMED-OUT"),
    *("SCREENED OUT", "RETURNED", "ACTIVE", "RESERVED"),
)
"""Of a person's submissions, the one whose status stands first counts, then the last row."""

OPEN = ("AWAITING REVIEW", "TIMED-OUT")
"""To be decided, or, where the platform's time ran out, still to be made good."""

_STATUS = "Status"
_DONE = ("APPROVED", "AWAITING REVIEW")
_AT_WORK = ("ACTIVE", "RESERVED")


@dataclass(frozen=True, slots=True)
class Submission:
    """A row of an export; the account is empty where the platform doesn't say whose it is."""

    account: str
    name: str
    """The platform's name for what was sent in."""
    status: str
    """One of ``STATUSES``."""
    code: str
    """Completion code that the person brought back."""
    record: str
    """Place in the file, for messages."""
    cells: Mapping[str, str]
    """All of the row, by column."""


def read_submissions(path: Path) -> list[Submission]:
    """Read an export, one row at least.

    Raises:
        InputError: A file that isn't such an export, or a status that is none.
    """
    read = []
    for place, given in _rows(path):
        cells = {name: cell.strip() for name, cell in given.items()}
        status = cells[_STATUS].upper().replace("_", " ")
        status = "TIMED-OUT" if status == "TIMED OUT" else status
        if status not in STATUSES:
            raise place.refuse("not a status", _STATUS, status, ", ".join(STATUSES))
        who, name, code = cells[PERSON], cells[SUBMISSION], cells.get(CODE, "")
        read.append(Submission(who, name, status, code, place.record or "", cells))
    return read


def _rows(path: Path) -> list[tuple[ValuePlace, dict[str, str]]]:
    """The rows below the header, one at least. Rows of empty cells are skipped."""
    table = open_table(path, suffix=".csv")
    lacking = [name for name in (PERSON, SUBMISSION, _STATUS) if name not in table.columns]
    if lacking:
        raise ValuePlace(path, "header").refuse(f"no column {lacking[0]!r}", expected=KIND)
    twice = [name for name in (PERSON, SUBMISSION, _STATUS) if f"{name} (2)" in table.columns]
    if twice:
        raise ValuePlace(path, "header").refuse("the column stands twice", twice[0])
    rows = []
    for place, row in table.rows:
        if isinstance(row, InputError):
            raise row
        rows.append((ValuePlace(path, place), row))
    if not rows:
        raise InputError("no rows below the header", file=path, expected=KIND)
    return rows


def furthest(given: Iterable[Submission]) -> dict[str, Submission]:
    """The submission of each person that counts, by the person's id on the platform."""
    found: dict[str, Submission] = {}
    ranks = STATUSES.index
    for one in given:
        before = found.get(one.account, one)
        if one.account and ranks(one.status) <= ranks(before.status):
            found[one.account] = one
    return found


_NO_CODES = ("", "NOCODE")


def read_standings(
    study: Study, files: Sequence[Path], came: Callable[[str], bool]
) -> dict[str, bool | None]:
    """The platform's word on people, by their ids there.

    Args:
        study: With its platform and codes.
        files: The platform's exports of submissions.
        came: Tells whether somebody came to the study under an id.

    Returns:
        True for work that the platform has and that was not refused, None for people still at
        work, false for all else.

    Raises:
        InputError: A file that isn't such an export, or another study's.
        UsageError: The study has no platform.
    """
    codes = study.recruitment
    if codes.platform is Platform.NONE:
        raise UsageError("the study runs without a platform: nothing confirms who came")
    own = {*_NO_CODES, codes.completed, codes.screened_out, codes.withdrawn}
    given = []
    for path in files:
        read = read_submissions(path)
        here = [one for one in read if one.account and came(one.account)]
        if not here:
            raise InputError(
                "nobody in it came to this study", file=path, expected=f"{KIND} of this study"
            )
        brought = {one.code for one in here if one.status in _DONE} - {*_NO_CODES}
        if brought and not brought & own:
            raise InputError(
                "no completion code of this study",
                file=path,
                field=CODE,
                found=some(sorted(brought), 3),
                expected=f"{codes.completed}, or another of recruitment's",
            )
        given += read
    return {
        account: None if one.status in _AT_WORK else one.status in _DONE
        for account, one in furthest(given).items()
    }
