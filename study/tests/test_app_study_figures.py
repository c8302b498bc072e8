"""What the administrator's page says of people, by hand."""

from pathlib import Path

from support.studies import write_three_arms

from casewise_study.app_study.study_app import figures
from casewise_study.store.standing import Progress, Vacancy
from casewise_study.study.study_file import study_cases
from casewise_study.study.study_rules import Screening
from casewise_study.votes.collected import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)


def test_people_are_flagged_by_the_rules_of_the_study(tmp_path: Path) -> None:
    study = write_three_arms(tmp_path, queries=2, votes=1, screening=Screening(attention_failed=0))
    cases = study_cases(study)
    people = [PersonRecord(name, PersonStatus.COMPLETED) for name in ("careful", "dozing")]
    votes = [
        VoteRecord(one.rater, cases[place].id, cases[place].query_id, cell.arm, "safe", 0)
        for one, block in zip(people, study.design.blocks, strict=False)
        for place, cell in ((place, study.design.cells[place]) for place in block)
    ]
    checks = [CheckRecord("careful", "c1", True, 1), CheckRecord("dozing", "c1", False, 1)]
    counts = tuple((0, 0) for _ in cases)
    ends = dict.fromkeys(PersonStatus, 0) | {PersonStatus.COMPLETED: 2}
    progress = Progress(Vacancy.OPEN, False, 3, 2, 0, 0, ends, 0, 2, 2, counts, ())
    found = figures(study, progress, Collected(tuple(people), tuple(votes), tuple(checks)))
    assert found["flagged"] == [("dozing", "failed 1 of 1 attention checks")]
    assert found["checks"] == "1 of 2"
    assert figures(study, progress, Collected((), ()))["flagged"] == []
