"""Prolific's exports of submissions: a row is somebody's work, and what became of it.

Statuses are those of its API reference ("Submission object").
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.errors import InputError, UsageError, some
from casewise.files import open_table
from casewise_study.study.schema import Platform, Study

KIND = "Prolific's export of submissions (CSV)"

STATUSES = (
    *("APPROVED", "AWAITING REVIEW", "REJECTED", "TIMED-OUT"),
    *("SCREENED OUT", "RETURNED", "ACTIVE", "RESERVED"),
)
"""Of a person's submissions, the one whose status stands first counts, then the last row."""

_NEEDED = ("Participant id", "Submission id", "Status")
_CODE = "Completion code"
_DONE = ("APPROVED", "AWAITING REVIEW")
_AT_WORK = ("ACTIVE", "RESERVED")
_NO_CODES = ("", "NOCODE")


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


def read_submissions(path: Path) -> list[Submission]:
    """Read an export, one row at least.

    Raises:
        InputError: A file that isn't such an export, or a status that is none.
    """
    table = open_table(path, suffix=".csv")
    if lacking := [name for name in _NEEDED if name not in table.columns]:
        raise InputError(f"no column {lacking[0]!r}", path, "header", expected=KIND)
    submissions = []
    for place, row in table.rows:
        if isinstance(row, InputError):
            raise row
        account, name, word = (row[column].strip() for column in _NEEDED)
        status = word.upper().replace("_", " ").replace("TIMED OUT", "TIMED-OUT")
        if status not in STATUSES:
            raise InputError(
                "not a status", path, place, field="Status", found=word, expected=some(STATUSES, 8)
            )
        submissions.append(Submission(account, name, status, row.get(_CODE, "").strip()))
    if not submissions:
        raise InputError("no rows below the header", path, expected=KIND)
    return submissions


def furthest(submissions: Iterable[Submission]) -> dict[str, Submission]:
    """The submission of each person that counts, by the person's id on the platform."""
    named = [submission for submission in submissions if submission.account]
    # The last that is written stays: so the best status comes last.
    ordered = sorted(named, key=lambda submission: STATUSES.index(submission.status), reverse=True)
    return {submission.account: submission for submission in ordered}


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
    own = {codes.completed, codes.screened_out, codes.withdrawn}
    submissions = []
    for path in files:
        rows = read_submissions(path)
        here = [
            submission for submission in rows if submission.account and came(submission.account)
        ]
        if not here:
            raise InputError("nobody in it came to this study", path, expected=f"{KIND} of it")
        brought = {submission.code for submission in here if submission.status in _DONE} - {
            *_NO_CODES
        }
        if brought and not brought & own:
            raise InputError(
                "no completion code of this study",
                path,
                field=_CODE,
                found=some(sorted(brought), 3),
                expected=f"{codes.completed}, or another of recruitment's",
            )
        submissions += rows
    return {
        account: None if submission.status in _AT_WORK else submission.status in _DONE
        for account, submission in furthest(submissions).items()
    }
