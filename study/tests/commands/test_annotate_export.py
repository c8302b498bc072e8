"""``casewise annotate export`` as a person runs it."""

import json
from pathlib import Path

from conftest import Cli
from support.simulated import World, planned, simulate
from support.studies import ARMS


def test_from_votes_to_labels(cli: Cli, tmp_path: Path) -> None:
    study = planned(tmp_path, queries=12, arms=ARMS, votes=5, size=6, checks=2)
    simulate(study, World(), seed=5).write(tmp_path / "plain")
    base = ("annotate", "export", "study.yaml", "--votes")
    done = cli(*base, "plain", "--out", "out")
    assert done.returncode == 0, done.stderr
    complete = "36 of 36 cells complete (5 votes); 24 without flagged people's votes"
    card = (tmp_path / "out/data-card.md").read_text("utf-8")
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    kept = summary["sensitivity"][-1]
    counted = f"180 counted votes of 30 people, {kept['votes']} of {kept['people']} without flagged"
    for said in (counted, complete, "--with-flagged keeps them", "alpha"):
        assert said in " ".join(done.stdout.split())
    assert f"{counted} people. {complete}." in card
    assert "cases.jsonl holds the counted votes, without those of flagged people" in done.stderr
    described = cli("describe", "out/cases.jsonl", "--format", "json")
    effect = json.loads(described.stdout)["context_effect"]
    cells = [
        [cell["safe"] for cell in summary["cells"] if cell["arm"] == arm] for arm in effect["arms"]
    ]
    assert effect["safe_votes"] == [sum(cell) for cell in cells]
    # Votes that differ on fewer than ten of 12 queries give no interval, here and there.
    assert effect["difference_ci"] is None
    assert summary["contrasts"][0]["difference"]["interval"] is None
    again = cli(*base, "out", "--out", "again", "--format", "json")
    assert again.stdout == (tmp_path / "out/summary.json").read_text()
    refused = cli(*base, "plain", "--out", "out")
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    done = cli(*base, "plain", "--out", "out", "--force", "--with-flagged", "--with-reasons")
    assert "all counted votes" in done.stderr
    assert "36 of 36 cells complete (5 votes)\n" in done.stdout
    assert "reason" in (tmp_path / "out/votes.csv").read_text().splitlines()[0]
