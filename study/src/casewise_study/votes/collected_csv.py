"""Data that a study has collected, as plain CSV: people, votes and attention checks.

A folder holds ``votes.csv`` and, where they are known, ``people.csv`` and ``checks.csv``. A file of
votes alone is read too. ``study/docs/annotation-votes.md`` lists the columns.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from casewise_study.study.page_signals import SIGNAL_FIELDS
from casewise_study.study.schema import Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import (
    TOOL_ANSWERS,
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise_study.votes.result_files import (
    PLAIN,
    PlacedRow,
    ValuePlace,
    VoteColumn,
    one_of,
    read_count,
    read_flag,
    read_pairs,
    read_seconds,
    read_table,
    read_time,
    row_of,
    to_csv,
    write_folder,
)

PEOPLE, VOTES, CHECKS = "people.csv", "votes.csv", "checks.csv"
"""The files of a folder."""

COUNT = "a whole number from 0"
SECONDS = "seconds, a number from 0"
TIME = "an ISO 8601 time with its zone, such as 2026-03-04T05:06:07+00:00"


def _read_pseudonym(cell: str) -> str:
    """A name that is published, and so no address of a person."""
    if "@" in cell:
        raise ValueError
    return cell


_RATER = VoteColumn("rater", _read_pseudonym, "a pseudonym, without @", needed=True)
_POSITION = VoteColumn("position", read_count, COUNT, filled=True)
_SECONDS = VoteColumn("seconds", read_seconds, SECONDS)


def _count(name: str) -> VoteColumn:
    return VoteColumn(name, read_count, f"{COUNT}, or nothing")


PERSON_COLUMNS = (
    _RATER,
    VoteColumn("status", PersonStatus, f"one of {', '.join(PersonStatus)}", needed=True),
    VoteColumn("panel", str, "a name"),
    _count("block"),
    VoteColumn("started", read_time, TIME),
    VoteColumn("ended", read_time, TIME),
    VoteColumn("excluded", str, "a reason, or nothing"),
    VoteColumn("demographics", read_pairs, 'a JSON object of texts, such as {"age": "30-39"}'),
    VoteColumn("remark", str, "a text"),
    *map(_count, SIGNAL_FIELDS[:4]),
    VoteColumn("away_seconds", read_seconds, SECONDS),
    _count("copied"),
    VoteColumn("tool", one_of(*TOOL_ANSWERS), f"{', '.join(TOOL_ANSWERS)}, or nothing"),
    VoteColumn("attempts", read_count, COUNT, filled=True),
)
VOTE_COLUMNS = (
    _RATER,
    _POSITION,
    VoteColumn("time", read_time, TIME),
    VoteColumn("arm", one_of("none", "safe", "unsafe"), "none, safe or unsafe", filled=True),
    VoteColumn("case_id", str, "the id of a case", needed=True),
    VoteColumn("query_id", str, "the id of a query", filled=True),
    VoteColumn("verdict", one_of("safe", "unsafe"), "safe or unsafe", needed=True),
    _SECONDS,
    VoteColumn("confidence", lambda cell: int(one_of(*"12345")(cell)), "1 to 5, or nothing"),
    VoteColumn("reason", str, "a text"),
    # Last, so that a file that was cut within its last row shows it.
    VoteColumn("counted", read_flag, "true or false", filled=True),
)
CHECK_COLUMNS = (
    _RATER,
    VoteColumn("check", str, "the id of an attention check", needed=True),
    _POSITION,
    _SECONDS,
    VoteColumn("passed", read_flag, "true or false", needed=True),
)
PERSON_FIGURES = (
    "votes",
    "checks_failed",
    "checks",
    "fast_share",
    "chance_unread",
    "kappa",
    "sensitivity",
    "specificity",
    "leniency",
    "median_seconds",
    "flags",
    "why_flagged",
)
"""Columns that an export adds to ``people.csv``; they are passed over when it is read back."""

VOTE_FIGURES = ("panel", "block", "long", "flags")
"""The same of ``votes.csv``."""


def write_collected(folder: Path, collected: Collected, *, force: bool = False) -> None:
    """Write a folder of plain CSV, which ``read_collected`` reads back without a loss.

    Empty reasons become none, and times are in UTC.

    Args:
        folder: It appears whole or not at all.
        collected: What to write.
        force: Whether to replace a folder that holds nothing but such files.

    Raises:
        UsageError: Something stands at the place of the folder.
    """
    files = {name: text.encode() for name, text in collected_files(collected).items()}
    write_folder(folder, files, PLAIN, force=force)


def collected_files(collected: Collected) -> dict[str, str]:
    """The files of such a folder, by name."""
    return {
        PEOPLE: to_csv(person_names(collected), map(row_of, collected.people)),
        VOTES: to_csv(names_of(VOTE_COLUMNS), map(row_of, collected.votes)),
        CHECKS: to_csv(names_of(CHECK_COLUMNS), map(row_of, collected.checks)),
    }


def person_names(collected: Collected) -> list[str]:
    """The columns of ``people.csv``; signals that nobody has looked for have none."""
    unknown = {
        name
        for name in (*SIGNAL_FIELDS, "tool")
        if all(getattr(person, name) is None for person in collected.people)
    }
    return [name for name in names_of(PERSON_COLUMNS) if name not in unknown]


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
    votes_path = path / VOTES if path.is_dir() else path
    votes = _votes(read_table(votes_path, VOTE_COLUMNS, VOTE_FIGURES), study)
    if (path / PEOPLE).exists():
        rows = read_table(path / PEOPLE, PERSON_COLUMNS, PERSON_FIGURES)
        people = [(PersonRecord(**row.cells), row.place) for row in rows]
    else:
        everybody = _people_of_votes([vote for vote, _ in votes], study)
        people = [(person, ValuePlace(path / PEOPLE)) for person in everybody]
    has_checks = (path / CHECKS).exists()
    checks = _checks(read_table(path / CHECKS, CHECK_COLUMNS) if has_checks else [])
    known = _check_people(people, study)
    _check_votes(votes, study, known)
    _check_answered(checks, study, known)
    collected = Collected(
        tuple(person for person, _ in people),
        tuple(vote for vote, _ in votes),
        tuple(check for check, _ in checks),
    )
    _check_completed(people, collected, study)
    return collected


def names_of(columns: Sequence[VoteColumn]) -> list[str]:
    """The names of columns, in their order."""
    return [column.name for column in columns]


def _votes(rows: Sequence[PlacedRow], study: Study) -> list[tuple[VoteRecord, ValuePlace]]:
    votes = []
    for values, at in _with_positions(rows):
        case_id = values["case_id"]
        place = study.places.get(case_id)
        if place is None:
            expected = f"the id of one of its {len(study.design.cells)} cases"
            raise at.refuse("no case of the study", "case_id", case_id, expected)
        arm = study.design.cells[place].arm
        if values.get("arm", arm) != arm:
            raise at.refuse("the case is in another arm", "arm", values["arm"], arm.value)
        values["arm"] = arm
        if "query_id" not in values:
            values["query_id"] = study_cases(study)[place].query_id
        votes.append((VoteRecord(**values), at))
    return votes


def _checks(rows: Sequence[PlacedRow]) -> list[tuple[CheckRecord, ValuePlace]]:
    return [(CheckRecord(**values), place) for values, place in _with_positions(rows)]


def _with_positions(rows: Sequence[PlacedRow]) -> Iterator[tuple[dict[str, Any], ValuePlace]]:
    """Cells of each row; without a position, its place among the rows of the same person."""
    order = Counter[str]()
    for row in rows:
        rater = row.cells["rater"]
        yield {"position": order[rater], **row.cells}, row.place
        order[rater] += 1


def _people_of_votes(votes: Sequence[VoteRecord], study: Study) -> list[PersonRecord]:
    judged = defaultdict[str, set[int]](set)
    for vote in votes:
        judged[vote.rater].add(study.places[vote.case_id])
    free = defaultdict[frozenset[int], list[int]](list)
    for number, asked in enumerate(study.design.blocks):
        free[frozenset(asked)].append(number)
    people = []
    for rater, places in judged.items():
        same = free[frozenset(places)]
        block = same.pop(0) if same else None
        status = PersonStatus.ACTIVE if block is None else PersonStatus.COMPLETED
        people.append(PersonRecord(rater, status, block=block))
    return people


_LIVE = (PersonStatus.ACTIVE, PersonStatus.COMPLETED)
"""Those whose votes may count."""


def _check_people(
    people: Sequence[tuple[PersonRecord, ValuePlace]], study: Study
) -> dict[str, PersonRecord]:
    """The people by name: each once, in a block of the study that nobody else has."""
    known: dict[str, PersonRecord] = {}
    live: dict[int, str] = {}
    blocks = len(study.design.blocks)
    for person, place in people:
        rater, block = person.rater, person.block
        if known.setdefault(rater, person) is not person:
            raise place.refuse("the person stands twice", "rater", rater)
        if block is None:
            continue
        if block >= blocks:
            raise place.refuse("no block of the study", "block", block, f"0 to {blocks - 1}")
        if person.status in _LIVE and (holder := live.setdefault(block, rater)) != rater:
            expected = f"a block that {holder} doesn't have"
            raise place.refuse("somebody else has the block", "block", block, expected)
    return known


def _check_votes(
    votes: Sequence[tuple[VoteRecord, ValuePlace]], study: Study, known: Mapping[str, PersonRecord]
) -> None:
    """Check votes against the people, their blocks, the cases and the quota."""
    judged: dict[tuple[str, str], ValuePlace] = {}
    query_of: dict[str, str] = {}
    counted = Counter[str]()
    blocks = [frozenset(block) for block in study.design.blocks]
    for vote, place in votes:
        person, case_id = _known(vote.rater, place, known), vote.case_id
        query_id = query_of.setdefault(case_id, vote.query_id)
        if query_id != vote.query_id:
            problem = "the case belongs to another query above"
            raise place.refuse(problem, "query_id", vote.query_id, query_id)
        before = judged.setdefault((vote.rater, query_id), place)
        if before is not place:
            problem = f"this person has judged the query before, in {before.record}"
            raise place.refuse(problem, "case_id", case_id, "one case of a query")
        if vote.counted and person.status not in _LIVE:
            problem = f"the vote of a person who is {person.status} can't count"
            raise place.refuse(problem, "counted", True, "false")
        counted[case_id] += vote.counted
        if counted[case_id] > study.votes:
            expected = f"{study.votes} counted votes on a case"
            raise place.refuse("more votes than the quota", "case_id", case_id, expected)
        if person.block is not None and study.places[case_id] not in blocks[person.block]:
            raise place.refuse("no case of this person's block", "case_id", case_id)


def _known(rater: str, place: ValuePlace, people: Mapping[str, PersonRecord]) -> PersonRecord:
    if rater not in people:
        raise place.refuse("nobody of this name among the people", "rater", rater)
    return people[rater]


def _check_answered(
    checks: Sequence[tuple[CheckRecord, ValuePlace]],
    study: Study,
    known: Mapping[str, PersonRecord],
) -> None:
    """Check answers to attention checks against the people and the study."""
    ids = {check.id for check in study.attention.checks}
    answered = set()
    for check, place in checks:
        _known(check.rater, place, known)
        if check.check not in ids:
            raise place.refuse("no attention check of the study", "check", check.check)
        if (check.rater, check.check) in answered:
            raise place.refuse("this person has answered the check before", "check", check.check)
        answered.add((check.rater, check.check))


def _check_completed(
    people: Sequence[tuple[PersonRecord, ValuePlace]], collected: Collected, study: Study
) -> None:
    """Check that completed blocks have all their votes and, where any are known, their checks."""
    voted = Counter(vote.rater for vote in collected.votes)
    answered = Counter(check.rater for check in collected.checks)
    wanted = study.attention.per_person
    for person, place in people:
        if person.status is not PersonStatus.COMPLETED or person.block is None:
            continue
        asked = len(study.design.blocks[person.block])
        if missing := asked - voted[person.rater]:
            problem = f"completed, but {missing} of the votes are missing: was the file cut?"
            raise place.refuse(problem, "rater", person.rater, f"{asked} votes in {VOTES}")
        if answered and (missing := wanted - answered[person.rater]):
            problem = f"completed, but the checks answered are {missing} off: was the file cut?"
            raise place.refuse(problem, "rater", person.rater, f"{wanted} checks in {CHECKS}")
