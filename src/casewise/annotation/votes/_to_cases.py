"""The votes, given back to the cases."""

from collections import defaultdict
from collections.abc import Iterable

from casewise.annotation.study import Arm, Study, study_cases
from casewise.annotation.votes._csv_table import to_utc
from casewise.annotation.votes._records import Collected
from casewise.cases import Case, Vote
from casewise.errors import InputError

_ARMS = (Arm.SAFE, Arm.UNSAFE, Arm.NONE)


def voted_cases(
    study: Study, collected: Collected, without: Iterable[str] = ()
) -> tuple[Case, ...]:
    """The cases of the study with its counted votes, those of one query together.

    Votes and published shares that the cases had before are left out: they are other people's, and
    a published share would be taken before the votes wherever labels are made. Under the arm
    ``none`` a case has no context.

    Args:
        study: Whose cases they are; read from the file that it names.
        collected: The votes.
        without: People whose votes are left out.

    Raises:
        InputError: The cases are gone or changed, or a vote names another query than the case's.
    """
    left_out = frozenset(without)
    cases = study_cases(study)
    by_id = {case.id: case for case in cases}
    votes: defaultdict[str, list[Vote]] = defaultdict(list)
    for vote in collected.votes:
        case = by_id[vote.case_id]
        if vote.query_id != case.query_id:
            raise InputError(
                "a vote names another query than its case's",
                record=f"a vote on the case {case.id}",
                field="query_id",
                found=vote.query_id,
                expected=case.query_id,
            )
        if vote.counted and vote.rater not in left_out:
            time = None if vote.time is None else to_utc(vote.time).isoformat()
            votes[case.id].append(Vote(verdict=vote.verdict, rater=vote.rater, time=time))
    first = {case.query_id: place for place, case in reversed(list(enumerate(cases)))}
    order = sorted(
        zip(study.design.cells, cases, strict=True),
        key=lambda one: (first[one[1].query_id], _ARMS.index(one[0].arm)),
    )
    return tuple(
        case.model_copy(
            update={"votes": tuple(votes[case.id]) or None, "published_safe_rate": None}
        )
        for _, case in order
    )
