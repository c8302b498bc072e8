"""People who let one language model answer: who is flagged, and what is said of the votes."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.studied import Simulated, World, a_study, among_machines, simulate
from support.studies import write_three_arms

from casewise.statistics import two_groups
from casewise_study.simulation.simulated_people import machine_rates
from casewise_study.study.schema import Study
from casewise_study.votes.collected import vote_table
from casewise_study.votes.screening import GROUP_P, Groups, groups_of, screen

QUERIES = 90


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """45 cases a person, as a study of CASE-Bench's; 84 people."""
    folder = tmp_path_factory.mktemp("study")
    return a_study(folder, queries=QUERIES, votes=21, size=45, checks=4)


@pytest.fixture(scope="module")
def published(published_table: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Of cases of CASE-Bench: people's log-odds of safe, and a model's chance to say it."""
    binary = published_table.filter(
        (pl.col("model") == "gpt-4o")
        & (pl.col("protocol") == "binary")
        & pl.col("verdict").is_in(["safe", "unsafe"])
    ).head(2 * QUERIES)
    safe, unsafe = (binary[f"votes_{side}"].to_numpy() for side in ("safe", "unsafe"))
    verdicts = np.where(binary["verdict"] == "safe", 0.97, 0.03)
    return np.log((safe + 0.5) / (unsafe + 0.5)).tolist(), verdicts.tolist()


def screened_with(study: Study, one: Simulated, seed: int) -> tuple[list[bool], bool]:
    """Whether each honest person is flagged, and whether two groups are told of."""
    screened = screen(study, one.collected)
    flagged = screened.flagged()
    honest = [person.rater for person in screened.people if person.rater not in one.careless]
    groups = groups_of(vote_table(study, one.collected), screened, seed)
    return [rater in flagged for rater in honest], groups.told is not None


@pytest.mark.parametrize("share", [0.15, 0.3, 0.4])
def test_honest_people_are_not_flagged_beside_machines(study: Study, share: float) -> None:
    """Whoever is in the majority: machines that leave no other trace can't be told from people."""
    honest: list[bool] = []
    told: list[bool] = []
    for seed in range(3):
        one = simulate(study, World(careless=0), seed)
        chances = machine_rates(one.truth.tolist(), seed)
        one = among_machines(one, study, chances, share, seed)
        flagged, groups_told = screened_with(study, one, seed)
        honest += flagged
        told.append(groups_told)
    assert np.mean(honest) <= 0.02
    if share > 0.2:
        assert sum(told) >= 2


@pytest.mark.parametrize("share", [0.15, 0.3, 0.4])
def test_people_of_casebench_and_one_of_its_models(
    study: Study, published: tuple[list[float], list[float]], share: float
) -> None:
    """People who vote as those of CASE-Bench did, beside the published verdicts of a model."""
    level, chances = published
    honest: list[bool] = []
    told: list[bool] = []
    for seed in range(3):
        one = simulate(study, World(careless=0, level=level), seed)
        one = among_machines(one, study, chances, share, seed)
        flagged, groups_told = screened_with(study, one, seed)
        honest += flagged
        told.append(groups_told)
    assert np.mean(honest) <= 0.02
    # A sixth of the people, on a tenth of the data set, is found in about half of such studies.
    assert sum(told) >= (len(told) if share > 0.2 else 1)


@pytest.mark.parametrize(
    "world",
    [
        World(careless=0),
        World(careless=0, leniency=1.2),
        World(careless=0, panels=(0, 1.0)),
        World(careless=0.15),
    ],
    ids=["all honest", "unlike leniency", "a lenient panel", "careless, flagged"],
)
def test_people_who_differ_in_leniency_are_one_group(study: Study, world: World) -> None:
    for seed in range(3):
        collected = simulate(study, world, seed).collected
        groups = groups_of(vote_table(study, collected), screen(study, collected), seed)
        assert groups.p > GROUP_P
        assert groups.told is None


def test_two_groups_by_hand() -> None:
    """Four people of one mind, and three who say the opposite, on twelve cases."""
    cases, people = np.tile(np.arange(12), 7), np.repeat(np.arange(7), 12)
    verdict = ((cases % 2 == 0) == (people < 4)).astype(float)
    found = two_groups(verdict, cases, people, 7, 99, 0)
    assert found.p == 0.01
    assert found.second.tolist() == [False] * 4 + [True] * 3
    assert found.within == (1.0, 1.0)
    assert found.between == 0.0
    # One of the three is of the others' mind on half of the cases: of their 3 pairs on a case 3
    # agree in half of the cases, and 1 in the other half; across, 4 of 12 pairs agree in half.
    half = (people == 6) & (cases < 6)
    found = two_groups(np.where(half, 1 - verdict, verdict), cases, people, 7, 99, 0)
    assert found.second.tolist() == [False] * 4 + [True] * 3
    assert found.within == pytest.approx((1.0, (3 + 1) / 6))
    assert found.between == pytest.approx(4 / 12 / 2)


def test_too_few_people_for_groups() -> None:
    found = two_groups(np.array([1.0, 0.0]), np.array([0, 0]), np.array([0, 1]), 2, 99, 0)
    assert np.isnan(found.p)
    assert Groups(found.p, (2, 0), found.within, found.between, ()).told is None


def test_machines_are_simulated(cli: Cli, tmp_path: Path) -> None:
    """Those that do what the hidden text says are flagged, and those without a trace are not."""
    write_three_arms(tmp_path, queries=4, votes=2, screening={"honeypot_pages": 1})
    options = ["--careless", "0", "--machine", "1", "--trace", "none,honeypot", "--format", "json"]
    done = cli("annotate", "simulate", "study.yaml", *options)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flagged"] == {
        "machine": {"n": 3, "flagged": 0},
        "machine: honeypot": {"n": 3, "flagged": 3},
    }
    wrong = cli("annotate", "simulate", "study.yaml", "--trace", "some")
    assert wrong.returncode == 2
    assert "--trace some: expected each, or some of none, honeypot" in wrong.stderr
