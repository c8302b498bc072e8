"""Platforms' exports of submissions: a row is somebody's work, and what became of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from casewise.errors import InputError, UsageError, some
from casewise_study.exchange.platform_files import read_csv
from casewise_study.study.schema import Platform, Study


@dataclass(frozen=True, slots=True)
class Submission:
    """A row of a platform's export; whose is empty where the platform doesn't say."""

    account: str = ""
    name: str = ""
    """The platform's name for what was sent in."""
    status: str = ""
    """One of ``ExportFormat.statuses``."""
    code: str = ""
    """Completion code that the person brought back."""
    record: str | None = None
    """Place in the file, for messages."""
    cells: Mapping[str, str] = field(default_factory=dict)
    """All of the row, by column."""


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """The columns of a platform's export, and its statuses."""

    person: str
    submission: str
    status: str
    code: str
    kind: str
    statuses: tuple[str, ...]
    """Of a person's submissions, the one whose status stands first counts, then the last row."""
    open: tuple[str, ...]
    """To be decided, or, where the platform's time ran out, still to be made good."""
    done: tuple[str, ...]
    """Work that the platform has, and that was not refused."""
    at_work: tuple[str, ...] = ()


# Prolific's statuses are those of its API reference ("Submission object").
FORMATS = {
    Platform.PROLIFIC: ExportFormat(
        *("Participant id", "Submission id", "Status", "Completion code"),
        kind="Prolific's export of submissions (CSV)",
        statuses=(
            *("APPROVED", "AWAITING REVIEW", "REJECTED", "TIMED-OUT"),
            *("SCREENED OUT", "RETURNED", "ACTIVE", "RESERVED"),
        ),
        open=("AWAITING REVIEW", "TIMED-OUT"),
        done=("APPROVED", "AWAITING REVIEW"),
        at_work=("ACTIVE", "RESERVED"),
    ),
    Platform.MTURK: ExportFormat(
        *("WorkerId", "AssignmentId", "AssignmentStatus", "Answer.surveycode"),
        kind="Mechanical Turk's results (CSV)",
        statuses=("APPROVED", "SUBMITTED", "REJECTED"),
        open=("SUBMITTED",),
        done=("APPROVED", "SUBMITTED"),
    ),
}


def read_submissions(path: Path, form: ExportFormat) -> list[Submission]:
    """Read an export, one row at least.

    Raises:
        InputError: A file that isn't such an export, or a status that is none.
    """
    read = []
    for row in read_csv(path, (form.person, form.submission, form.status), kind=form.kind):
        cells = {name: cell.strip() for name, cell in row.cells.items()}
        status = cells[form.status].upper().replace("_", " ")
        status = "TIMED-OUT" if status == "TIMED OUT" else status
        if status not in form.statuses:
            raise row.place.refuse("not a status", form.status, status, ", ".join(form.statuses))
        code = cells.get(form.code, "")
        who, name = cells[form.person], cells[form.submission]
        read.append(Submission(who, name, status, code, row.place.record, cells))
    return read


def furthest(given: Iterable[Submission], form: ExportFormat) -> dict[str, Submission]:
    """The submission of each person that counts, by the person's id on the platform."""
    found: dict[str, Submission] = {}
    ranks = form.statuses.index
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
    form = FORMATS.get(study.recruitment.platform)
    if form is None:
        raise UsageError("the study runs without a platform: nothing confirms who came")
    codes = study.recruitment
    own = {*_NO_CODES, codes.completed, codes.screened_out, codes.withdrawn}
    given = []
    for path in files:
        read = read_submissions(path, form)
        here = [one for one in read if one.account and came(one.account)]
        if not here:
            raise InputError(
                "nobody in it came to this study", file=path, expected=f"{form.kind} of this study"
            )
        brought = {one.code for one in here if one.status in form.done} - {*_NO_CODES}
        if brought and not brought & own:
            raise InputError(
                "no completion code of this study",
                file=path,
                field=form.code,
                found=some(sorted(brought), 3),
                expected=f"{codes.completed}, or another of recruitment's",
            )
        given += read
    return {
        account: None if one.status in form.at_work else one.status in form.done
        for account, one in furthest(given, form).items()
    }
