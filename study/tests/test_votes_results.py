"""What votes say: by hand, and against the truth of simulated people."""

from pathlib import Path

import pytest
from conftest import Cli, cli_in
from support.simulated import World, planned, simulate
from support.studies import Record, exported, read_yaml, write_csv


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Two queries under two arms, three votes each, a case a person: twelve people."""
    return planned(tmp_path, queries=2, votes=3, size=1, checks=0)


def answered(study: Path, cells: dict[int, str], fast: str = "") -> None:
    """Votes of s and u on cells, one person a letter; those named are fast."""
    ids = [cell.split(" ", 1)[1] for cell in read_yaml(study)["design"]["cells"]]
    rows: list[Record] = []
    for place, letters in cells.items():
        for letter in letters:
            verdict, rater = "safe" if letter == "s" else "unsafe", f"p{len(rows)}"
            row = {"rater": rater, "case_id": ids[place], "verdict": verdict}
            rows.append(row | ({"seconds": 1 if rater in fast.split() else 9} if fast else {}))
    write_csv(study.parent / "votes.csv", rows)


def test_cells_by_hand(small: Path, cli: Cli) -> None:
    answered(small, {0: "ssu", 1: "us", 2: "uuu"})
    found = exported(cli, "--votes", "votes.csv")
    cells = found["cells"]
    assert [(cell["safe"], cell["unsafe"]) for cell in cells] == [(2, 1), (1, 1), (0, 3), (0, 0)]
    assert [cell["majority"] for cell in cells] == ["safe", None, "unsafe", None]
    assert [cell["quota_met"] for cell in cells] == [True, False, True, False]
    # Wilson's (1927) of 2 in 3: (2/3 + z2/6 -+ z sqrt(2/27 + z2/36)) / (1 + z2/3), z2 = 3.8415.
    assert cells[0]["interval"] == pytest.approx((0.20766, 0.93851), abs=1e-5)
    assert cells[3]["share_safe"] is None
    named = [f"{cell['arm']} {cell['case_id']}" for cell in cells]
    assert named == read_yaml(small)["design"]["cells"]
    safe = found["arms"][0]
    # The mean of cells, each of which weighs alike: (2/3 + 0) / 2.
    assert safe["share_safe"]["value"] == pytest.approx(1 / 3)
    # However few the people, it is a share.
    assert safe["share_safe"]["interval"] == [0, 1]
    counts = ("cells", "votes", "majority_safe", "majority_unsafe")
    assert [safe[name] for name in counts] == [2, 6, 1, 1]
    # One query was judged under both arms: 2 of 3 against 1 of 2.
    (contrast,) = found["contrasts"]
    assert contrast["queries"] == 1
    assert contrast["difference"]["value"] == pytest.approx(2 / 3 - 1 / 2)
    assert [found["funnel"][name] for name in ("came", "people", "votes")] == [8, 8, 8]


def test_leaving_people_out_by_hand(small: Path, cli: Cli, tmp_path: Path) -> None:
    # Two of those who say safe of the first are fast, so that its majority turns; one who says
    # unsafe of the second, so that it becomes even.
    answered(small, {0: "ssu", 1: "suu", 2: "ss"}, fast="p0 p1 p4")
    found = exported(cli, "--votes", "votes.csv")
    rows = {row["name"]: row for row in found["sensitivity"]}
    assert list(rows) == ["everybody", "without fast", "without flagged"]
    assert (rows["everybody"]["people"], rows["everybody"]["flipped"]) == (8, 0)
    for name in ("without fast", "without flagged"):
        row = rows[name]
        counts = ("people", "votes", "flipped", "ties")
        assert [row[count] for count in counts] == [5, 5, 1, 1]
        # First arm: nobody of one, and both of two. Second arm: one of two.
        assert row["share_safe"]["safe"]["value"] == pytest.approx((0 + 1) / 2)
        assert row["share_safe"]["unsafe"]["value"] == pytest.approx(1 / 2)
        assert row["differences"]["safe less unsafe"]["value"] == pytest.approx(0 - 1 / 2)
    # Cells, arms and contrasts are those without flagged; what turns is listed.
    cells = [(cell["safe"], cell["unsafe"]) for cell in found["cells"]]
    assert cells == [(0, 1), (1, 1), (2, 0), (0, 0)]
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    first, second = (cell["case_id"] for cell in found["cells"][:2])
    assert f"- `{first}` (safe context): safe with everybody, unsafe without flagged\n" in card
    assert (
        f"- `{second}` (unsafe context): unsafe with everybody, no majority without flagged\n"
        in card
    )
    whole = exported(cli, "--votes", "votes.csv", "--with-flagged")
    cells = [(cell["safe"], cell["unsafe"]) for cell in whole["cells"]]
    assert cells == [(2, 1), (1, 2), (2, 0), (0, 0)]
    assert whole["turned"] == found["turned"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    return planned(folder, queries=40, votes=21, size=20, checks=2)


def test_the_effect_that_was_put_in_is_found(study: Path) -> None:
    votes = simulate(study, World(careless=0.1, spread=1.0), seed=9).write(study.parent / "moved")
    found = exported(cli_in(study.parent), "--votes", votes)
    assert found["contrasts"][0]["difference"]["interval"][0] > 0


def test_the_funnel(study: Path) -> None:
    made = simulate(study, World(careless=0), seed=1)
    made.people[0]["status"] = "abandoned"
    for vote in made.votes:
        vote["counted"] = str(vote["rater"] != "r0000").lower()
    made.people.append(made.people[1] | {"rater": "out", "status": "screened_out", "block": None})
    funnel = exported(cli_in(study.parent), "--votes", made.write(study.parent / "left"))["funnel"]
    assert (funnel["came"], funnel["people"]) == (85, 83)
    assert (funnel["votes"], funnel["votes_apart"]) == (83 * 20, 20)
    statuses = funnel["by_status"]
    assert (statuses["abandoned"], statuses["completed"], statuses["screened_out"]) == (1, 83, 1)
    # 22 pages at 25 s and 6 minutes: 15.17 minutes, paid as 16 at 12 an hour.
    assert funnel["paid_each"] == 3.2
    minutes = funnel["median_minutes"]
    assert funnel["paid_per_hour"] == pytest.approx(funnel["paid_each"] * 60 / minutes)
