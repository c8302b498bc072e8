"""Whether what was collected fits the study, so that no figure rests on a slip of a file."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from casewise.annotation.study.schema import Study
from casewise.annotation.votes.collected import Collected, PersonRecord, PersonStatus
from casewise.errors import InputError

_LIVE = (PersonStatus.ACTIVE, PersonStatus.COMPLETED)
"""Those whose votes may count."""


@dataclass(frozen=True, slots=True)
class RecordPlaces:
    """Where records stand: the file, and the row of each."""

    file: Path
    rows: Sequence[str]

    def error(
        self,
        number: int,
        problem: str,
        field: str | None = None,
        found: object = ...,
        expected: str | None = None,
    ) -> InputError:
        """An error about one record."""
        row = self.rows[number] if number < len(self.rows) else None
        return InputError(
            problem, file=self.file, record=row, field=field, found=found, expected=expected
        )


def check_fits(
    collected: Collected,
    study: Study,
    votes: RecordPlaces,
    people: RecordPlaces,
    checks: RecordPlaces,
) -> None:
    """Hold records against the study.

    Raises:
        InputError: The first that doesn't fit, by its row.
    """
    known = _check_people(collected, study, people)
    _check_votes(collected, study, known, votes)
    _check_blocks(collected, study, votes, people)
    _check_checks(collected, study, known, checks)
    _check_all_checked(collected, study, people, checks)


def _check_people(
    collected: Collected, study: Study, places: RecordPlaces
) -> dict[str, PersonRecord]:
    known: dict[str, PersonRecord] = {}
    live: dict[int, str] = {}
    blocks = len(study.design.blocks)
    for number, person in enumerate(collected.people):
        if person.rater in known:
            raise places.error(number, "the person stands twice", "rater", person.rater)
        known[person.rater] = person
        if person.block is None:
            continue
        if person.block >= blocks:
            raise places.error(
                number, "no block of the study", "block", person.block, f"0 to {blocks - 1}"
            )
        if person.status in _LIVE and person.block in live:
            raise places.error(
                number,
                "somebody else has the block",
                "block",
                person.block,
                f"a block that {live[person.block]} doesn't have",
            )
        if person.status in _LIVE:
            live[person.block] = person.rater
    return known


def _check_votes(
    collected: Collected, study: Study, known: dict[str, PersonRecord], places: RecordPlaces
) -> None:
    judged: dict[tuple[str, str], int] = {}
    query_of: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for number, vote in enumerate(collected.votes):
        person = known.get(vote.rater)
        if person is None:
            raise places.error(number, "nobody of this name among the people", "rater", vote.rater)
        if query_of.setdefault(vote.case_id, vote.query_id) != vote.query_id:
            raise places.error(
                number,
                "the case belongs to another query above",
                "query_id",
                vote.query_id,
                query_of[vote.case_id],
            )
        before = judged.setdefault((vote.rater, vote.query_id), number)
        if before != number:
            raise places.error(
                number,
                f"this person has judged the query before, in {_row(places, before)}",
                "case_id",
                vote.case_id,
                "one case of a query",
            )
        if vote.counted and person.status not in _LIVE:
            raise places.error(
                number,
                f"the vote of a person who is {person.status} can't count",
                "counted",
                True,
                "false",
            )
        counted[vote.case_id] += vote.counted
        if counted[vote.case_id] > study.votes:
            raise places.error(
                number,
                "more votes than the quota",
                "case_id",
                vote.case_id,
                f"{study.votes} counted votes on a case",
            )


def _check_blocks(
    collected: Collected, study: Study, votes: RecordPlaces, people: RecordPlaces
) -> None:
    """A person judges cases of the own block; who has completed it has judged them all."""
    blocks = {
        person.rater: frozenset(study.design.blocks[person.block])
        for person in collected.people
        if person.block is not None
    }
    seen: defaultdict[str, set[int]] = defaultdict(set)
    for number, vote in enumerate(collected.votes):
        place = study.places[vote.case_id]
        if vote.rater in blocks and place not in blocks[vote.rater]:
            raise votes.error(number, "no case of this person's block", "case_id", vote.case_id)
        seen[vote.rater].add(place)
    for number, person in enumerate(collected.people):
        asked = blocks.get(person.rater)
        if person.status is not PersonStatus.COMPLETED or asked is None:
            continue
        if missing := len(asked - seen[person.rater]):
            raise people.error(
                number,
                f"completed, but {missing} of the votes are missing: was the file cut?",
                "rater",
                person.rater,
                f"{len(asked)} votes in {votes.file.name}",
            )


def _check_checks(
    collected: Collected, study: Study, known: dict[str, PersonRecord], places: RecordPlaces
) -> None:
    checks = {check.id for check in study.attention.checks}
    answered: set[tuple[str, str]] = set()
    for number, check in enumerate(collected.checks):
        if check.rater not in known:
            raise places.error(number, "nobody of this name among the people", "rater", check.rater)
        if check.check not in checks:
            raise places.error(number, "no attention check of the study", "check", check.check)
        if (check.rater, check.check) in answered:
            raise places.error(
                number, "this person has answered the check before", "check", check.check
            )
        answered.add((check.rater, check.check))


def _check_all_checked(
    collected: Collected, study: Study, people: RecordPlaces, checks: RecordPlaces
) -> None:
    """Whoever has completed a block has answered its checks, where any are known."""
    answered = Counter(check.rater for check in collected.checks)
    for number, person in enumerate(collected.people):
        if person.status is not PersonStatus.COMPLETED or person.block is None or not answered:
            continue
        if missing := study.attention.per_person - answered[person.rater]:
            raise people.error(
                number,
                f"completed, but the checks answered are {missing} off: was the file cut?",
                "rater",
                person.rater,
                f"{study.attention.per_person} checks in {checks.file.name}",
            )


def _row(places: RecordPlaces, number: int) -> str:
    return places.rows[number] if number < len(places.rows) else f"record {number + 1}"
