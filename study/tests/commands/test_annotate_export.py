"""``casewise annotate export`` as a person runs it."""

import json
from pathlib import Path

import pytest
from conftest import Cli
from support.studied import World, a_study, simulate

from casewise_study.study.schema import Arm, Study
from casewise_study.votes.collected import Collected
from casewise_study.votes.collected_csv import write_collected


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return a_study(tmp_path, queries=12, arms=tuple(Arm), votes=5, size=6, checks=2)


@pytest.fixture
def collected(study: Study, tmp_path: Path) -> Collected:
    found = simulate(study, World(panels=(0.0, 0.0)), seed=5).collected
    write_collected(tmp_path / "plain", found)
    return found


def test_from_votes_to_labels(cli: Cli, tmp_path: Path, collected: Collected) -> None:
    done = cli(
        "annotate",
        "export",
        "study.yaml",
        "--votes",
        "plain",
        "--out",
        "out",
        env={"COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for said in ("180 counted votes of 30 people", "24 of 36 cells", "without flagged", "alpha"):
        assert said in " ".join(done.stdout.split())
    assert "cases.jsonl holds the votes that count, without those of flagged people" in done.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "cases.jsonl",
        "checks.csv",
        "data-card.md",
        "people.csv",
        "summary.json",
        "votes.csv",
        "votes.parquet",
    ]
    described = cli("describe", "out/cases.jsonl", "--format", "json")
    assert described.returncode == 0, described.stderr
    record = json.loads(described.stdout)
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert record["context_effect"]["votes_by_arm"] == [56, 56]
    contrast = summary["contrasts"][0]
    assert record["context_effect"]["mean_difference"] == pytest.approx(
        contrast["difference"]["value"]
    )
    again = cli(
        "annotate", "export", "study.yaml", "--votes", "out", "--out", "again", "--format", "json"
    )
    assert again.stdout == (tmp_path / "out/summary.json").read_text()


def test_choices_are_named(cli: Cli, tmp_path: Path, collected: Collected) -> None:
    base = ["annotate", "export", "study.yaml", "--votes", "plain", "--out", "out"]
    assert cli(*base).returncode == 0
    refused = cli(*base)
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    done = cli(*base, "--force", "--with-flagged", "--with-reasons")
    assert done.returncode == 0
    assert "all votes that count" in done.stderr
    assert "reason" in (tmp_path / "out/votes.csv").read_text().splitlines()[0]


def test_mistakes(cli: Cli, tmp_path: Path, collected: Collected) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    (tmp_path / "odd.csv").write_text("a,b\n1,2\n")
    (tmp_path / "head.csv").write_text("rater,case_id,verdict\n")
    base = ["annotate", "export", "study.yaml", "--out"]
    for arguments, said in (
        ([*base, "out"], "give --database URL, or --votes PATH"),
        ([*base, "out", "--votes", "plain", "--database", "sqlite:///x.db"], "give one of them"),
        ([*base, "mine", "--votes", "plain", "--force"], "notes.txt"),
        ([*base, "odd.csv", "--votes", "plain", "--force"], "is no folder"),
        ([*base, "plain", "--votes", "plain", "--force"], "would overwrite the votes"),
        ([*base, "plain", "--votes", "odd.csv", "--force"], "is no export"),
        ([*base, "out", "--votes", "odd.csv"], "no table of this kind"),
        ([*base, "out", "--votes", "head.csv"], "no vote that counts"),
        ([*base, "out", "--votes", "nowhere"], "no such file"),
        (["annotate", "export", "none.yaml", "--out", "out", "--votes", "plain"], "no such study"),
    ):
        done = cli(*arguments)
        assert done.returncode == 2, arguments
        assert said in " ".join(done.stderr.split()), (arguments, done.stderr)
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "out").exists()
    assert (tmp_path / "mine/notes.txt").read_text() == "keep"
    assert len(list((tmp_path / "plain").iterdir())) == 3


def test_help(cli: Cli) -> None:
    done = cli("annotate", "export", "--help", env={"COLUMNS": "80"})
    assert done.returncode == 0
    for word in ("--with-flagged", "--votes", "Examples", "data-card.md"):
        assert word in done.stdout
