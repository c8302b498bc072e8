"""``casewise annotate simulate`` as a person runs it."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from support.studies import write_three_arms

from casewise.annotation.study.schema import Pay, Platform, Recruitment


def test_a_rehearsal(cli: Cli, tmp_path: Path) -> None:
    # 4 queries by 3 arms by 2 votes, in 6 blocks of 4; 10 an hour for (5 x 25 s + 6 min) is 1.35.
    write_three_arms(
        tmp_path, queries=4, votes=2, pay=Pay(per_hour=10, seconds_per_task=25, minutes_besides=6)
    )
    before = sorted(tmp_path.iterdir())
    options = ["--speed", "200", "--at-once", "3", "--leave", "0", "--careless", "0", "--seed", "2"]
    done = cli("annotate", "simulate", "study.yaml", *options, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["sound"]
    assert (found["cells"], found["full"]) == (12, 12)
    assert found["outcomes"]["completed"] == 6
    assert (found["two_arms"], found["lost"], found["doubled"], found["foreign"]) == (0, 0, 0, 0)
    assert list(found["flagged"]) == ["honest"]
    assert found["cost"] == 6 * 1.35
    assert found["recovery"]["all"]["cells"] == 12
    # Five pages and the rest of each visit, in the study's time: minutes, not seconds.
    assert 0.02 < found["hours"] < 6
    # A database and secrets of its own, gone afterwards.
    assert sorted(tmp_path.iterdir()) == before


def test_a_rehearsal_of_sequential_collection(cli: Cli, tmp_path: Path) -> None:
    write_three_arms(
        tmp_path,
        queries=3,
        votes=6,
        collection={"rule": "sequential", "posterior": 0.85, "least": 2},
    )
    options = ["--speed", "300", "--at-once", "3", "--leave", "0", "--careless", "0", "--seed", "2"]
    done = cli("annotate", "simulate", "study.yaml", *options, "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["sound"]
    assert (found["cells"], found["full"]) == (9, 9)
    rehearsed = found["collection"]["rehearsed"]
    assert rehearsed["fixed"] == 54
    assert rehearsed["saved"] == 1 - rehearsed["votes"] / 54
    assert rehearsed["saved"] > 0
    assert 0 <= rehearsed["changed"] <= rehearsed["labels"] <= 9
    assert 0 <= rehearsed["share_error"] < 0.5
    assert {one["fixed"] for one in found["collection"]["simulated"]} == {54}


@pytest.mark.parametrize(
    "platform", [Platform.PROLIFIC, pytest.param(Platform.MTURK, marks=pytest.mark.slow)]
)
def test_simulated_people_come_with_ids_in_the_platforms_form(
    cli: Cli, tmp_path: Path, platform: Platform
) -> None:
    write_three_arms(tmp_path, queries=3, votes=1, recruitment=Recruitment(platform=platform))
    options = ["--speed", "200", "--leave", "0", "--careless", "0", "--format", "json"]
    done = cli("annotate", "simulate", "study.yaml", *options)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["outcomes"]["completed"] == 3
    assert (found["full"], found["lost"], found["foreign"]) == (9, 0, 0)


def test_what_can_not_be_rehearsed(cli: Cli, tmp_path: Path) -> None:
    write_three_arms(tmp_path)
    many = cli("annotate", "simulate", "study.yaml", "--careless", ".7", "--biased", ".4")
    assert many.returncode == 2
    assert "more than everybody" in many.stderr
    absent = cli("annotate", "simulate", "absent.yaml")
    assert absent.returncode == 2
    assert "absent.yaml" in absent.stderr
    away = cli("annotate", "simulate", "study.yaml", "--database", "mysql://nowhere/x")
    assert away.returncode == 2
    assert "Traceback" not in away.stderr
    assert away.stderr.count("error:") == 1
