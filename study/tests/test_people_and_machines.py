"""People who let one language model answer: who is flagged, and what is said of the votes."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from support.studied import World, a_study, among_machines, simulate
from support.studies import write_three_arms
from support.tables import judgement, table

from casewise_study.study.planning import check_ready
from casewise_study.study.schema import Study
from casewise_study.study.study_rules import Rule, Screening
from casewise_study.votes.collected import vote_table
from casewise_study.votes.screening import GROUP_P, groups_of, screen

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


def test_people_of_casebench_and_one_of_its_models(
    study: Study, published: tuple[list[float], list[float]]
) -> None:
    """People who vote as those of CASE-Bench did, beside the published verdicts of a model.

    Machines that leave no other trace can't be told from people one by one, but as a group.
    """
    level, chances = published
    one = simulate(study, World(careless=0, level=level), 0)
    one = among_machines(one, study, chances, 0.3, 0)
    screened = screen(study, one.collected)
    honest = {person.rater for person in screened.people} - one.careless
    assert len(screened.flagged() & honest) <= 0.02 * len(honest)
    assert groups_of(vote_table(study, one.collected), screened, 0).told is not None


def test_who_gives_the_verdicts_of_a_known_run(
    study: Study, published: tuple[list[float], list[float]]
) -> None:
    """A run that the screening names, of verdicts that copies give but for 3 in 100."""
    level, chances = published
    one = simulate(study, World(careless=0, level=level), 0)
    one = among_machines(one, study, chances, 0.06, 0)
    rows = [
        judgement(model="gpt", protocol="binary", case_id=cell.case_id, p_safe=chance, votes=None)
        for cell, chance in zip(study.design.cells, chances, strict=True)
    ]
    table(*rows).write_parquet(study.folder / "run.parquet")
    rules = Screening(models=("run.parquet",))
    knowing = study.model_copy(update={"screening": rules})
    knowing._path = study.path
    screened = screen(knowing, one.collected)
    copies = screened.flagged(Rule.MODEL)
    assert len(copies) >= 0.6 * len(one.careless) >= 2
    assert copies <= one.careless
    flags = [flag for person in screened.people for flag in person.flags if flag.rule is Rule.MODEL]
    assert all(flag.reason.startswith("gives the verdicts of gpt binary (") for flag in flags)
    assert not screen(study, one.collected).flagged(Rule.MODEL)
    lost = study.model_copy(update={"screening": Screening(models=("none.parquet",))})
    lost._path = study.path
    assert any("none.parquet is not there" in problem for problem in check_ready(lost))


@pytest.mark.parametrize(
    "world", [World(careless=0, leniency=1.2), World(careless=0.15)], ids=["lenient", "careless"]
)
def test_people_who_differ_in_leniency_are_one_group(study: Study, world: World) -> None:
    collected = simulate(study, world, 0).collected
    groups = groups_of(vote_table(study, collected), screen(study, collected), 0)
    assert groups.p > GROUP_P
    assert groups.told is None


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
