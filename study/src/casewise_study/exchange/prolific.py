"""Prolific: write a study's settings, and join its demographic export to people.

Names and statuses are those of Prolific's API reference ("The study object", "Submission object")
and of its demographic export.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from casewise.errors import UsageError, some
from casewise.sheets import Cell, Code, Column, Table, markdown, money
from casewise.sheets import Row as Line
from casewise_study.exchange.submissions import (
    CODE,
    PERSON,
    STATUSES,
    SUBMISSION,
    Submission,
    furthest,
    read_submissions,
)
from casewise_study.study.language import HEADING, paragraphs
from casewise_study.study.planning import PROLIFIC_RETURN, forecast
from casewise_study.study.reading_times import reading
from casewise_study.study.schema import Study
from casewise_study.study.study_texts import whole_minutes
from casewise_study.votes.collected import Collected, PersonRecord, PersonStatus

_PARAMETERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
_NAMING = (PERSON, SUBMISSION, CODE)
_REVIEW = {"action": "MANUALLY_REVIEW"}
_GONE = {"", "CONSENT_REVOKED", "CONSENT REVOKED", "DATA_EXPIRED", "DATA EXPIRED"}
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Joined:
    """Collected data with demographics, and notes for whoever runs the study."""

    collected: Collected
    notes: tuple[str, ...]


def study_url(url: str, query: str = _PARAMETERS) -> str:
    """The study's address with a person's parameters; by default those that Prolific fills in.

    Raises:
        UsageError: Not the address of a study on the web.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.fragment:
        raise UsageError(f"--url {url!r}: the study's address, such as https://study.example.org/")
    return f"{url}{'&' if parts.query else '?'}{query}"


def prolific_files(study: Study, url: str) -> dict[str, bytes]:
    """A sheet to paste from, and the same as the body that Prolific's API takes.

    Raises:
        UsageError: Not the address of a study on the web.
    """
    body = _body(study, study_url(url))
    made = json.dumps(body, ensure_ascii=False, indent=2)
    return {"study.json": f"{made}\n".encode(), "study.md": _sheet(study, body).encode()}


def _body(study: Study, url: str) -> dict[str, Any]:
    returned = {"action": "REQUEST_RETURN", "return_reason": "Withdrew from the study."}
    codes = (
        (study.recruitment.completed, "COMPLETED", _REVIEW),
        (study.recruitment.screened_out, "FAILED_ATTENTION_CHECK", _REVIEW),
        (study.recruitment.withdrawn, "NO_CONSENT", returned),
    )
    return {
        "name": study.title,
        "internal_name": study.id,
        "description": "\n\n".join(
            one.removeprefix(HEADING)
            for one in paragraphs(f"{study.consent.warning}\n\n{study.consent.text}")
        ),
        "external_study_url": url,
        "prolific_id_option": "url_parameters",
        "is_external_study_url_secure": study.recruitment.signed,
        "completion_codes": [
            {"code": code, "code_type": kind, "actions": [action]} for code, kind, action in codes
        ],
        "total_available_places": len(study.design.blocks),
        "estimated_completion_time": whole_minutes(reading(study).planned_minutes()),
        "reward": round(forecast(study).pay_each * 100) or None,
    }


def _sheet(study: Study, body: dict[str, Any]) -> str:
    reward = body["reward"]
    pay = money(reward / 100, study.pay.currency) if reward else "not set in the study file"
    back = study.recruitment.return_url or "not set in the study file"
    fields: list[tuple[str, Cell]] = [
        ("Study URL", Code(body["external_study_url"])),
        ("Participant ids", "by URL parameters"),
        (
            "Secured external URL",
            "on: other links are refused"
            if study.recruitment.signed
            else "off, or on; off, places are provisional until annotate reconcile",
        ),
        ("Places", f"{body['total_available_places']}, one a block"),
        ("Estimated time", f"{body['estimated_completion_time']} minutes"),
        ("Reward", pay),
        ("Submissions a person", "one"),
        ("Content warning", "yes: sensitive"),
    ]
    codes = [
        Line([Code(code["code"]), code["code_type"], code["actions"][0]["action"]])
        for code in body["completion_codes"]
    ]
    return markdown(
        "# To paste into Prolific",
        f"Study `{body['internal_name']}`. The same for Prolific's API is in `study.json`.",
        Table([Column("field"), Column("value")], list(map(Line, fields))),
        f"People come back by `{PROLIFIC_RETURN}`; in the study file `recruitment.return_url` is "
        f"`{back}`.",
        Table([Column("code"), Column("kind"), Column("then")], codes),
        "A code such as `COMPLETED` can be guessed. Set random ones in the study file's "
        "`recruitment`.",
    )


def join_prolific(
    collected: Collected,
    files: Sequence[Path],
    *,
    columns: Sequence[str],
    name: Callable[[str], str],
    only_exported: bool = False,
) -> Joined:
    """Add demographics from Prolific's export to people, in the named columns only.

    Nobody's status or votes change. Who returned the submission is given nothing: that withdraws
    the consent; votes of such people are told of. Cells of people whose data Prolific no longer
    shows (``CONSENT_REVOKED``, ``DATA_EXPIRED``) are left out.

    Args:
        collected: What the study collected.
        files: Demographic exports.
        columns: Taken over; every other is left unread.
        name: Makes the pseudonym of a participant.
        only_exported: Leave out people who are not in the export, with all that they answered.

    Raises:
        InputError: A file that isn't such an export.
        UsageError: A column that isn't there, or that names people.
    """
    given = [one for path in files for one in _rows(path, columns)]
    rows = {name(account): one for account, one in furthest(given).items()}
    people = tuple(_with_demographics(person, rows, columns) for person in collected.people)
    notes = _join_notes(collected, rows, given, name)
    joined = replace(collected, people=people)
    if only_exported:
        before = len(collected.votes)
        joined = _only(joined, rows)
        notes += (f"left out, not being in the export: {before - len(joined.votes)} votes",)
    return Joined(joined, notes)


def _rows(path: Path, columns: Sequence[str]) -> list[Submission]:
    read = read_submissions(path)
    _check_columns(columns, read[0].cells, path)
    return read


def _only(collected: Collected, raters: Container[str]) -> Collected:
    """Answers of some people, and of them alone."""
    return replace(
        collected,
        people=tuple(one for one in collected.people if one.rater in raters),
        votes=tuple(one for one in collected.votes if one.rater in raters),
        checks=tuple(one for one in collected.checks if one.rater in raters),
    )


def _check_columns(columns: Sequence[str], names: Collection[str], path: Path) -> None:
    for column in columns:
        if column in _NAMING:
            raise UsageError(f"--columns: {column!r} names people and is never taken over")
        if column not in names:
            there = ", ".join(name for name in names if name not in _NAMING)
            raise UsageError(f"--columns: {path} has no {column!r}; it has {there}")


def _with_demographics(
    person: PersonRecord, rows: Mapping[str, Submission], columns: Sequence[str]
) -> PersonRecord:
    row = rows.get(person.rater)
    if row is None or row.status == "RETURNED":
        return person
    told = {column: row.cells[column] for column in columns if row.cells[column] not in _GONE}
    return replace(person, demographics=tuple((dict(person.demographics) | told).items()))


def _join_notes(
    collected: Collected,
    rows: Mapping[str, Submission],
    given: Sequence[Submission],
    name: Callable[[str], str],
) -> tuple[str, ...]:
    statuses = Counter(row.status for row in rows.values())
    there = filter(statuses.get, STATUSES)
    counts = ", ".join(f"{statuses[status]} {status}" for status in there)
    total = [f"the export has {len(rows)} people: {counts}"] if rows else []
    times = Counter(name(one.account) for one in given if one.account)
    nameless = [one.record for one in given if not one.account]
    several = sorted(rater for rater, number in times.items() if number > 1)
    known = {person.rater: person.status for person in collected.people}
    unknown = [rater for rater in rows if rater not in known]
    absent = [rater for rater in known if rater not in rows]
    voters = {vote.rater for vote in collected.votes}
    done = {rater for rater, status in known.items() if status is PersonStatus.COMPLETED}

    def among(status: str, people: Container[str]) -> list[str]:
        return [rater for rater, row in rows.items() if row.status == status and rater in people]

    waiting = "completed the study and awaits your review"
    returned = "returned the submission, which withdraws the consent, and yet there are"
    decide = "votes; decide whether to keep them"
    late = f"timed out on Prolific, and yet there are {decide}"
    foreign = "in the study: left out"
    counts_once = "in several records: the furthest submission counts"
    return (
        *total,
        *_tell(
            (nameless, "record has", "records have", "no participant: left out"),
            (several, "person stands", "people stand", counts_once),
            (unknown, "of the export isn't", "of the export aren't", foreign),
            (absent, "person isn't", "people aren't", "in the export"),
            (among("RETURNED", voters), "has", "have", f"{returned} {decide}"),
            (among("TIMED-OUT", voters), "has", "have", late),
            (among("AWAITING REVIEW", done), "has", "have", waiting),
        ),
    )


def _tell(*lines: tuple[Sequence[str], str, str, str]) -> tuple[str, ...]:
    """Summarise in a line each how many things something applies to, naming the first.

    Args:
        lines: Names, of which none makes no line; the subject of one, and of many; the rest.
    """
    return tuple(
        f"{len(names)} {one if len(names) == 1 else many} {what} ({some(names, _NAMED)})"
        for names, one, many, what in lines
        if names
    )
