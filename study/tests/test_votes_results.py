"""What votes say: by hand, and against the truth of simulated people."""

import math
from dataclasses import replace

import pytest
from support.studied import World, a_study, simulate

from casewise_study.study.block_balance import balance
from casewise_study.study.schema import Arm, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.collected import (
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise_study.votes.data_card import ExportChoices, data_card
from casewise_study.votes.results import Results, summarise


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    folder = tmp_path_factory.mktemp("study")
    return a_study(folder, queries=40, votes=21, size=20, checks=2)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """Two queries under two arms, three votes each, a case a person: twelve people."""
    return a_study(tmp_path_factory.mktemp("small"), queries=2, votes=3, size=1, checks=0)


def answered(study: Study, cells: dict[int, str]) -> Collected:
    """Letters of s and u for cells, one person a letter."""
    people: list[PersonRecord] = []
    votes = []
    for place, letters in cells.items():
        cell = study.design.cells[place]
        for letter in letters:
            rater = f"p{len(people)}"
            people.append(PersonRecord(rater, PersonStatus.ACTIVE))
            verdict = "safe" if letter == "s" else "unsafe"
            votes.append(
                VoteRecord(rater, cell.case_id, f"q{place // 2}", cell.arm, verdict, 0)  # type: ignore[arg-type]
            )
    return Collected(tuple(people), tuple(votes))


def test_cells_by_hand(small: Study) -> None:
    found = summarise(small, answered(small, {0: "ssu", 1: "us", 2: "uuu"}))
    cells = found.cells
    assert [(one.safe, one.unsafe) for one in cells] == [(2, 1), (1, 1), (0, 3), (0, 0)]
    assert [one.majority for one in cells] == ["safe", None, "unsafe", None]
    assert [one.is_tie for one in cells] == [False, True, False, False]
    assert [one.quota_met for one in cells] == [True, False, True, False]
    # Wilson's (1927) of 2 in 3: (2/3 + z2/6 -+ z sqrt(2/27 + z2/36)) / (1 + z2/3), z2 = 3.8415.
    assert cells[0].interval == pytest.approx((0.20766, 0.93851), abs=1e-5)
    assert math.isnan(cells[3].share_safe)
    assert math.isnan(cells[3].p_safe)
    assert [(cell.arm, cell.case_id) for cell in cells] == list(small.design.cells)
    safe = next(one for one in found.arms if one.arm is Arm.SAFE)
    # The mean of cells, each of which weighs alike: (2/3 + 0) / 2.
    assert safe.share_safe.value == pytest.approx(1 / 3)
    assert (safe.cells, safe.votes, safe.majority_safe, safe.majority_unsafe) == (2, 6, 1, 1)
    # One query was judged under both arms: 2 of 3 against 1 of 2.
    assert found.contrasts[0].queries == 1
    assert found.contrasts[0].difference.value == pytest.approx(2 / 3 - 1 / 2)
    assert found.contrasts[0].mantel_haenszel_or == pytest.approx((2 * 1) / (1 * 1))
    assert (found.funnel.came, found.funnel.people, found.funnel.votes) == (8, 8, 8)


def test_leaving_people_out_by_hand(small: Study) -> None:
    collected = answered(small, {0: "ssu", 1: "suu", 2: "ss"})
    # Two of those who say safe of the first are fast, so that its majority turns; one who says
    # unsafe of the second, so that it becomes even.
    fast = {"p0", "p1", "p4"}
    votes = tuple(
        replace(one, seconds=1.0 if one.rater in fast else 9.0) for one in collected.votes
    )
    results = summarise(small, replace(collected, votes=votes))
    rows = {row.name: row for row in results.sensitivity}
    assert list(rows) == ["everybody", "without fast", "without flagged"]
    assert (rows["everybody"].people, rows["everybody"].flipped) == (8, 0)
    for name in ("without fast", "without flagged"):
        row = rows[name]
        assert (row.people, row.votes, row.flipped, row.to_tie, row.from_tie) == (5, 5, 1, 1, 0)
        # First arm: nobody of one, and both of two. Second arm: one of two.
        assert row.share_safe[Arm.SAFE].value == pytest.approx((0 + 1) / 2)
        assert row.share_safe[Arm.UNSAFE].value == pytest.approx(1 / 2)
        assert row.differences[Arm.SAFE, Arm.UNSAFE].value == pytest.approx(0 - 1 / 2)
    # Cells, arms and contrasts are those without flagged; what turns is listed.
    assert [(one.safe, one.unsafe) for one in results.cells] == [(0, 1), (1, 1), (2, 0), (0, 0)]
    assert (
        results.contrasts[0].difference == rows["without flagged"].differences[Arm.SAFE, Arm.UNSAFE]
    )
    assert [(one.everybody, one.unflagged) for one in results.turned] == [
        ("safe", "unsafe"),
        ("unsafe", None),
    ]
    card = data_card(results, balance(small, study_cases(small)), ExportChoices())
    first, second = (cell.case_id for cell in small.design.cells[:2])
    assert f"- `{first}` (safe context): safe with everybody, unsafe without flagged\n" in card
    assert f"- `{second}` (unsafe context): unsafe with everybody, a tie without flagged\n" in card
    whole = summarise(small, replace(collected, votes=votes), with_flagged=True)
    assert [(one.safe, one.unsafe) for one in whole.cells] == [(2, 1), (1, 2), (2, 0), (0, 0)]
    assert whole.turned == results.turned


MOVED = World(careless=0.1, spread=1.0, panels=(0.0, 0.9), tiring=-0.05)


@pytest.fixture(scope="module")
def moved(study: Study) -> Results:
    return summarise(study, simulate(study, MOVED, seed=9).collected)


def test_what_was_put_in_is_found(moved: Results) -> None:
    drift, panels = moved.drift, moved.panels
    # -.05 in log-odds a page is about -.5 / 4 to -.5 / 8 of a share over ten pages.
    assert -0.15 < drift.safe_by_page.value < -0.02
    assert drift.safe_by_page.interval[1] < 0
    assert panels.p < 0.01
    assert [one.panel for one in panels.panels] == ["wave 1", "wave 2"]
    low, high = (one.leaning.value for one in panels.panels)
    assert low < 0 < high
    assert panels.shared_cells == panels.cells == 80
    assert moved.contrasts[0].difference.interval[0] > 0


def test_the_funnel(study: Study) -> None:
    one = simulate(study, World(careless=0), seed=1).collected
    gone = one.people[0].rater
    people = (
        replace(one.people[0], status=PersonStatus.ABANDONED),
        *one.people[1:],
        PersonRecord("out", PersonStatus.SCREENED_OUT, attempts=2),
    )
    votes = tuple(replace(vote, counted=vote.rater != gone) for vote in one.votes)
    funnel = summarise(study, Collected(people, votes, one.checks)).funnel
    assert (funnel.came, funnel.people) == (85, 83)
    assert (funnel.votes, funnel.votes_apart) == (83 * 20, 20)
    assert funnel.by_status[PersonStatus.ABANDONED] == 1
    assert funnel.by_status[PersonStatus.COMPLETED] == 83
    # 22 pages at 25 s and 6 minutes: 15.17 minutes, paid as 16 at 12 an hour.
    assert funnel.paid_each == 3.2
    assert funnel.paid_per_hour == pytest.approx(funnel.paid_each * 60 / funnel.median_minutes)
