"""People who let one language model answer: who is flagged."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli, cli_in
from support.simulated import Votes, World, planned, simulate
from support.studies import change, exported, flags, read_csv, read_yaml
from support.tables import judgement, table

QUERIES = 90

Published = tuple[list[float], list[float]]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """45 cases a person, as a study of CASE-Bench's; 84 people."""
    folder = tmp_path_factory.mktemp("study")
    return planned(folder, queries=QUERIES, votes=21, size=45, checks=4)


@pytest.fixture(scope="module")
def published(published_table: pl.DataFrame) -> Published:
    """Of cases of CASE-Bench: people's log-odds of safe, and a model's chance to say it."""
    binary = published_table.filter(
        (pl.col("model") == "gpt-4o")
        & (pl.col("protocol") == "binary")
        & pl.col("verdict").is_in(["safe", "unsafe"])
    ).head(2 * QUERIES)
    safe, unsafe = (binary[f"votes_{side}"].to_numpy() for side in ("safe", "unsafe"))
    verdicts = np.where(binary["verdict"] == "safe", 0.97, 0.03)
    return np.log((safe + 0.5) / (unsafe + 0.5)).tolist(), verdicts.tolist()


def ids(study: Path) -> list[str]:
    return [cell.split(" ", 1)[1] for cell in read_yaml(study)["design"]["cells"]]


def among_machines(study: Path, published: Published, share: float) -> Votes:
    """People of CASE-Bench, a share of whom answer as one of its models does."""
    level, chances = published
    one, rng = simulate(study, World(careless=0, level=level), 0), np.random.default_rng((0, 99))
    raters = [person["rater"] for person in one.people]
    one.careless = frozenset(rater for rater in raters if rng.random() < share)
    chance = dict(zip(ids(study), chances, strict=True))
    for vote in one.votes:
        is_safe = rng.random() < chance[vote["case_id"]]
        if vote["rater"] in one.careless:
            vote["verdict"] = "safe" if is_safe else "unsafe"
    return one


def screened(study: Path, votes: Votes) -> None:
    exported(cli_in(study.parent), "--votes", votes.write(study.parent / "votes"))


def test_who_gives_the_verdicts_of_a_known_run(study: Path, published: Published, cli: Cli) -> None:
    """A run that the screening names, of verdicts that copies give but for 3 in 100."""
    one = among_machines(study, published, 0.06)
    screened(study, one)
    assert "model" not in " ".join(flags(study.parent / "out").values())
    rows = [
        judgement(model="gpt", protocol="binary", case_id=case_id, p_safe=chance, votes=None)
        for case_id, chance in zip(ids(study), published[1], strict=True)
    ]
    table(*rows).write_parquet(study.parent / "run.parquet")
    change(study, screening={"models": ["run.parquet"]})
    screened(study, one)
    people = read_csv(study.parent / "out/people.csv")
    copies = {row["rater"] for row in people if "model" in row["flags"]}
    assert len(copies) >= 0.6 * len(one.careless) >= 2
    assert copies <= one.careless
    for row in people:
        said = "gives the verdicts of gpt binary (" in row["why_flagged"]
        assert said == (row["rater"] in copies)
    change(study, screening={"models": ["none.parquet"]})
    done = cli("annotate", "serve", study)
    assert "none.parquet is not there" in " ".join(done.stderr.split())
    change(study, screening={"models": None})
