"""Screening on people whose manner is known: who is flagged, by which rule, and who isn't."""

from pathlib import Path

import numpy as np
import pytest
from conftest import cli_in
from support.simulated import Votes, World, planned, simulate
from support.studies import change, exported, flags, read_csv

SEEDS = range(3)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As planned by default, with fewer queries: 20 cases and 2 checks a person, 84 people."""
    folder = tmp_path_factory.mktemp("study")
    return planned(folder, queries=40, votes=21, size=20, checks=2)


def screened(study: Path, votes: Votes) -> dict[str, str]:
    """Flags of those who have any."""
    exported(cli_in(study.parent), "--votes", votes.write(study.parent / "votes"))
    return flags(study.parent / "out")


def shares(runs: list[tuple[Votes, dict[str, str]]], rule: str = "") -> tuple[float, float]:
    """The shares of the careless and of the honest who are flagged."""
    careless: list[bool] = []
    honest: list[bool] = []
    for votes, flagged in runs:
        for person in votes.people:
            rater = person["rater"]
            is_flagged = rule in flagged.get(rater, "-") and rater in flagged
            (careless if rater in votes.careless else honest).append(is_flagged)
    return float(np.mean(careless)), float(np.mean(honest))


def test_the_careless_are_flagged_and_the_honest_are_not(study: Path) -> None:
    drawn = [simulate(study, World(), seed) for seed in SEEDS]
    runs = [(one, screened(study, one)) for one in drawn]
    assert sum(len(one.careless) for one in drawn) >= 20
    careless, honest = shares(runs)
    assert careless >= 0.9
    assert honest < 0.05
    # Nobody fails more than two of two checks; all are fast, and most tell by their votes too.
    expected = {"attention": (0.0, 0.0), "fast": (0.99, 1.0), "unread": (0.8, 1.0)}
    for rule, (low, high) in expected.items():
        careless, honest = shares(runs, rule)
        assert low <= careless <= high, rule
        assert honest < 0.02, rule
    # Where a platform notes no times, votes and checks are left.
    for vote in drawn[-1].votes:
        vote["time"] = vote["seconds"] = None
    careless, honest = shares([(drawn[-1], screened(study, drawn[-1]))])
    assert {row["fast_share"] for row in read_csv(study.parent / "out/people.csv")} == {""}
    assert careless >= 0.4
    assert honest < 0.05


@pytest.mark.parametrize("answer", ["opposite", "safe"])
def test_who_says_the_opposite_or_one_thing(study: Path, answer: str) -> None:
    votes = simulate(study, World(careless=0), seed=4)
    turned = {person["rater"] for person in votes.people[::10]}
    for vote in votes.votes:
        if vote["rater"] in turned:
            is_safe = answer == "safe" or vote["verdict"] == "unsafe"
            vote["verdict"] = "safe" if is_safe else "unsafe"
    found = screened(study, votes)
    assert len([one for one in turned if "unread" in found.get(one, "")]) >= 0.9 * len(turned)
    assert len(found.keys() - turned) <= 4  # of 75


def test_figures_and_reasons(study: Path, tmp_path: Path) -> None:
    rules = {"attention_failed": 1, "fast_seconds": 3}
    planned(tmp_path, queries=40, votes=21, size=20, checks=2, screening=rules)
    votes = simulate(study, World(), seed=0)
    honest = [row["rater"] for row in votes.people if row["rater"] not in votes.careless]
    fast, slipped = honest[3:5]
    own = [vote for vote in votes.votes if vote["rater"] == fast]
    for number, vote in enumerate(own):
        vote["seconds"] = 2.9 if number < 11 else 3.0
    for check in votes.checks:
        failed = {fast: True, slipped: check["position"] < 10}.get(check["rater"], False)
        check["passed"] = str(not failed).lower()
    found = screened(tmp_path / "study.yaml", votes)
    people = {row["rater"]: row for row in read_csv(tmp_path / "out/people.csv")}
    person = people[fast]
    assert [person[name] for name in ("votes", "checks", "checks_failed")] == ["20", "2", "2"]
    assert person["fast_share"] == "0.55"
    for reason in (
        "failed 2 of 2 attention checks",
        "55% of votes in less than 3 s",
        "times hardly vary: 2.9 s, spread of logarithms 0.02",
    ):
        assert reason in person["why_flagged"]
    assert "times" in found[fast]
    assert "attention" in found[fast]
    assert "attention" not in found.get(slipped, "")


def test_rules_can_be_off(study: Path, tmp_path: Path) -> None:
    votes = simulate(study, World(), seed=0)
    path = planned(tmp_path, queries=40, votes=21, size=20, checks=2)
    rules = exported(cli_in(study.parent), "--votes", votes.write(study.parent / "all"))
    change(path, screening=dict.fromkeys(rules["screening"]))
    assert not screened(path, votes)
    chances = [float(row["chance_unread"]) for row in read_csv(tmp_path / "out/people.csv")]
    assert all(0 <= chance <= 1 for chance in chances)
