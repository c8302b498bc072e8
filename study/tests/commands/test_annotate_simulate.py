"""``casewise annotate simulate`` as a person runs it."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from support.studies import write_arms


def test_screening_and_cost(cli: Cli, tmp_path: Path) -> None:
    # 4 queries by 3 arms by 2 votes, in 6 blocks of 4; 10 an hour for (5 x 25 s + 6 min), that is
    # 9 whole minutes, is 1.50.
    pay = {"per_hour": 10, "seconds_per_task": 25, "minutes_besides": 6}
    write_arms(tmp_path, queries=4, votes=2, pay=pay)
    before = sorted(tmp_path.iterdir())
    options = ["--careless", "1", "--studies", "2", "--seed", "2", "--format", "json"]
    done = cli("annotate", "simulate", "study.yaml", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["flagged"]["careless"]["n"] == 12
    assert (found["studies"], found["people"], found["currency"]) == (2, 6, "GBP")
    assert found["cost"] == pytest.approx(6 * 1.5)
    flagged = found["flagged"]["careless"]["flagged"]
    assert flagged > 0
    assert found["replacement_cost"] == pytest.approx(flagged / 2 * 1.5)
    again = cli("annotate", "simulate", "study.yaml", *options)
    assert again.stdout == done.stdout
    # Nothing is served, so no database and no secrets are made.
    assert sorted(tmp_path.iterdir()) == before
