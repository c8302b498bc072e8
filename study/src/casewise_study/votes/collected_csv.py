"""Data that a study has collected, as plain CSV: people, votes and attention checks.

A folder holds ``votes.csv`` and, where they are known, ``people.csv`` and ``checks.csv``. A file of
votes alone is read too. ``study/docs/annotation-votes.md`` lists the columns, which are the fields
of the records.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from casewise.errors import SHORT, InputError
from casewise.files import TableForm, open_table
from casewise.files.yaml import problem_of
from casewise_study.study.page_signals import SIGNAL_FIELDS
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import (
    AT_BLOCK,
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise_study.votes.screening import PersonScreen

PEOPLE, VOTES, CHECKS = "people.csv", "votes.csv", "checks.csv"
"""The files of a folder."""

PERSON_FIGURES = (
    *(field.name for field in fields(PersonScreen) if field.name != "rater"),
    "why_flagged",
)
"""Columns that an export adds to ``people.csv``; they are passed over when it is read back."""

VOTE_FIGURES = ("flags",)
"""The same of ``votes.csv``."""

R = TypeVar("R", PersonRecord, VoteRecord, CheckRecord)


@dataclass
class Row:
    """A row of a file, and its place for messages."""

    cells: dict[str, Any]
    """Cells by column; empty ones are left out where their field may be None."""
    file: Path
    place: str | None = None

    def refuse(
        self, problem: str, field: str, found: object = ..., expected: str | None = None
    ) -> InputError:
        """Make an error that names the place."""
        return InputError(
            problem, self.file, self.place, field=field, found=found, expected=expected
        )

    def read(self, kind: type[R]) -> R:
        """Read the cells as the fields of a record say."""
        try:
            return TypeAdapter(kind).validate_python(self.cells)
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
        problem, value, expected = problem_of(detail, (), _EXPECTED)
        raise self.refuse(problem, str(detail["loc"][0]), value, expected)


_EXPECTED = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "bool_parsing": "true or false",
    "string_pattern_mismatch": "a pseudonym, without @",
    "datetime_from_date_parsing": "an ISO 8601 time with its zone",
    "timezone_aware": "an ISO 8601 time with its zone, such as 2026-03-04T05:06:07+00:00",
    "json_invalid": 'a JSON object of texts, such as {"age": "30-39"}',
}


def names_of(kind: type[R]) -> list[str]:
    """Columns of a file of records."""
    return [field.name for field in fields(kind)]


def person_names(collected: Collected) -> list[str]:
    """The columns of ``people.csv``; signals that nobody has looked for have none."""
    unknown = {
        name
        for name in (*SIGNAL_FIELDS, "tool", "confirmed")
        if all(getattr(person, name) is None for person in collected.people)
    }
    return [name for name in names_of(PersonRecord) if name not in unknown]


def read_collected(path: Path, study: Study) -> Collected:
    """Read a folder of plain CSV, or a file of votes alone, and check that it fits the study.

    A file of votes needs ``rater``, ``case_id`` and ``verdict``; the order of a person's rows is
    the order of answering where no ``position`` is given, and arm and query follow from the case.
    Without ``people.csv``, everybody who voted is a person: ``completed`` if the votes are those of
    one block, else ``active``.

    Raises:
        InputError: A file, record or cell can't be used, or doesn't fit the study: a case that it
            doesn't have, a query judged twice by one person, more counted votes than the quota.
    """
    file = path / VOTES if path.is_dir() else path
    votes = [
        (_with_case(row, study).read(VoteRecord), row)
        for row in _with_positions(_rows(file, VoteRecord, VOTE_FIGURES))
    ]
    if (path / PEOPLE).exists():
        rows = _rows(path / PEOPLE, PersonRecord, PERSON_FIGURES)
        people = [(row.read(PersonRecord), row) for row in rows]
    else:
        everybody = _people_of_votes([vote for vote, _ in votes], study)
        people = [(person, Row({}, path / PEOPLE)) for person in everybody]
    checks = []
    if (path / CHECKS).exists():
        rows = _rows(path / CHECKS, CheckRecord)
        checks = [(row.read(CheckRecord), row) for row in _with_positions(rows)]
    _check_people(people, study)
    _check_answers(votes, checks, {person.rater: person for person, _ in people}, study)
    collected = Collected(
        tuple(person for person, _ in people),
        tuple(vote for vote, _ in votes),
        tuple(check for check, _ in checks),
    )
    _check_completed(people, collected, study)
    return collected


FOLLOWING = ("position", "arm", "query_id")
"""Fields that follow from others where their column is not there."""


def _rows(path: Path, kind: type[R], passed_over: Sequence[str] = ()) -> Iterator[Row]:
    """The rows of a CSV file, whose columns may stand in any order.

    An empty cell is left out where its field may be None, and else is a wrong value: so a file that
    was cut within its last row shows it.
    """
    table = open_table(path, TableForm(header=1, guarded=True), ".csv")
    known = {field.name: field.default for field in fields(kind)}
    among = f"columns among {', '.join(known)}"
    if not known.keys() & set(table.columns):
        # Its first line may be anything, a query among it: it is not shown.
        raise InputError("no table of this kind", path, expected=among)
    for name in table.columns:
        if name not in known and name not in passed_over:
            raise InputError("unknown column", path, "row 1", field=name[:SHORT], expected=among)
    needed = [name for name, value in known.items() if value is MISSING and name not in FOLLOWING]
    for name in needed:
        if name not in table.columns:
            expected = f"columns {', '.join(needed)}"
            raise InputError("a column is missing", path, "row 1", field=name, expected=expected)
    for place, cells in table.rows:
        if isinstance(cells, InputError):
            raise cells
        filled = {name: cell for name, cell in cells.items() if cell or known.get(name) is not None}
        yield Row(filled, path, place)


def _with_positions(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows that have a position: without one, the place among the rows of the same person."""
    order = Counter[str]()
    for row in rows:
        rater = row.cells["rater"]
        row.cells = {"position": order[rater]} | row.cells
        order[rater] += 1
        yield row


def _with_case(row: Row, study: Study) -> Row:
    """The row with the arm and the query of its case."""
    case_id = row.cells["case_id"]
    place = study.places.get(case_id)
    if place is None:
        expected = f"the id of one of its {len(study.design.cells)} cases"
        raise row.refuse("no case of the study", "case_id", case_id, expected)
    follows = {
        "arm": study.design.cells[place].arm.value,
        "query_id": study_cases(study)[place].query_id,
    }
    for name, value in follows.items():
        if row.cells.setdefault(name, value) != value:
            raise row.refuse("not that of the case", name, row.cells[name], value)
    return row


def _people_of_votes(votes: Sequence[VoteRecord], study: Study) -> list[PersonRecord]:
    judged = defaultdict[str, set[int]](set)
    for vote in votes:
        judged[vote.rater].add(study.places[vote.case_id])
    free = defaultdict[frozenset[int], list[int]](list)
    for number, cells in enumerate(study.design.blocks):
        free[frozenset(cells)].append(number)
    people = []
    for rater, places in judged.items():
        same = free[frozenset(places)]
        block = same.pop(0) if same else None
        status = PersonStatus.ACTIVE if block is None else PersonStatus.COMPLETED
        people.append(PersonRecord(rater, status, block=block))
    return people


def _check_people(people: Sequence[tuple[PersonRecord, Row]], study: Study) -> None:
    """Check that each person stands once, in a block of the study that nobody else has."""
    known, live = set[str](), dict[int, str]()
    blocks = len(study.design.blocks)
    for person, row in people:
        rater, block = person.rater, person.block
        if rater in known:
            raise row.refuse("the person stands twice", "rater", rater)
        known.add(rater)
        if block is not None and block >= blocks:
            raise row.refuse("no block of the study", "block", block, f"0 to {blocks - 1}")
        is_held = block is not None and person.status in AT_BLOCK
        if is_held and (holder := live.setdefault(block or 0, rater)) != rater:
            expected = f"a block that {holder} doesn't have"
            raise row.refuse("somebody else has the block", "block", block, expected)


def _check_answers(
    votes: Sequence[tuple[VoteRecord, Row]],
    checks: Sequence[tuple[CheckRecord, Row]],
    people: Mapping[str, PersonRecord],
    study: Study,
) -> None:
    """Check votes and attention checks against the people, and votes against the quota."""
    raters = [(vote.rater, row) for vote, row in votes]
    for rater, row in (*raters, *((check.rater, row) for check, row in checks)):
        if rater not in people:
            raise row.refuse("nobody of this name among the people", "rater", rater)
    judged: dict[tuple[str, str], Row] = {}
    counted = Counter[str]()
    for vote, row in votes:
        case_id, status = vote.case_id, people[vote.rater].status
        before = judged.setdefault((vote.rater, vote.query_id), row)
        if before is not row:
            problem = f"this person has judged the query before, in {before.place}"
            raise row.refuse(problem, "case_id", case_id, "one case of a query")
        if vote.counted and status not in AT_BLOCK:
            problem = f"the vote of a person who is {status} can't count"
            raise row.refuse(problem, "counted", True, "false")
        counted[case_id] += vote.counted
        if counted[case_id] > study.votes:
            expected = f"{study.votes} counted votes on a case"
            raise row.refuse("more votes than the quota", "case_id", case_id, expected)


def _check_completed(
    people: Sequence[tuple[PersonRecord, Row]], collected: Collected, study: Study
) -> None:
    """Check that completed blocks have all their votes and, where any are known, their checks."""
    voted = defaultdict[str, set[int]](set)
    for vote in collected.votes:
        voted[vote.rater].add(study.places[vote.case_id])
    answered = Counter(check.rater for check in collected.checks)
    wanted = study.attention.per_person
    for person, row in people:
        if person.status is not PersonStatus.COMPLETED or person.block is None:
            continue
        block = {*study.design.blocks[person.block]}
        if missing := len(block - voted[person.rater]):
            problem = f"completed, but {missing} of the votes are missing: was the file cut?"
            raise row.refuse(problem, "rater", person.rater, f"{len(block)} votes in {VOTES}")
        if answered and (missing := wanted - answered[person.rater]):
            problem = f"completed, but the checks answered are {missing} off: was the file cut?"
            raise row.refuse(problem, "rater", person.rater, f"{wanted} checks in {CHECKS}")
