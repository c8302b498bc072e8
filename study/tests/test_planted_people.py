"""Planted people: whom a planned study's screening finds, judged by a simulation of its own.

``support.planted_people`` shares no line with the screening or with ``simulation/``. Truth is the
share of votes on CASE-Bench's cases. ``benchmarks/planted_people.py`` has the page's figures.
"""

from pathlib import Path

import pytest
from support.planted_people import UNREAD, FloatArray, knowing, plant, planted_study

from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import Rule
from casewise_study.votes.model_verdicts import model_verdicts
from casewise_study.votes.screening import screen


@pytest.fixture(scope="module")
def planned(casebench: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, FloatArray]:
    return planted_study(casebench, tmp_path_factory.mktemp("planted"), 1)


def test_who_does_not_read_is_found(planned: tuple[Study, FloatArray]) -> None:
    """Four of each kind among 63 people."""
    study, share = planned
    planted = plant(study, share, 7001)
    flagged = screen(study, planted.collected).flagged()
    unread = {rater for rater, kind in planted.kinds.items() if kind in UNREAD}
    honest = {rater for rater, kind in planted.kinds.items() if kind == "honest"}
    assert len(flagged & unread) >= 0.9 * len(unread)
    assert len(flagged & honest) <= 1


def test_who_gives_the_verdicts_of_a_run(
    planned: tuple[Study, FloatArray], casebench: Path, tmp_path: Path
) -> None:
    run = casebench / "exp/safety_gpt-4o/output_binary.json"
    study, share = planned
    ((name, model),) = model_verdicts(knowing(study, run)).items()
    assert name == "gpt-4o binary"
    planted = plant(study, share, 9001, model=model)
    screened = screen(knowing(study, run), planted.collected)
    copies = screened.flagged(Rule.MODEL)
    assert len(copies) >= 3
    assert {planted.kinds[rater] for rater in copies} == {"copies"}
    flags = [flag for one in screened.people for flag in one.flags if flag.rule is Rule.MODEL]
    assert all(flag.reason.startswith("gives the verdicts of gpt-4o binary (") for flag in flags)
    assert not screen(study, planted.collected).flagged(Rule.MODEL)
    nowhere = tmp_path / "none.json"
    assert f"screening.models: {nowhere} is not there" in check_ready(knowing(study, nowhere))
