"""What a newcomer types on the first day works, or is refused with what to type instead."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer
from support.scores import model_rows
from support.secret import KEY
from support.tables import judgement

from casewise.scores import make_table, read_paths

MODEL = ("-m", "openai-api/fake/m", "--protocol", "binary", "--limit", "4")


def safe(request: dict[str, Any]) -> Answer:
    return '{"judgement": "safe"}'


def environment(server: FakeServer) -> dict[str, str]:
    return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": server.url}


# Ablations.


def offered(stderr: str) -> list[str]:
    """The command that a note offers, as a shell reads it; empty where none is."""
    lines = [line for line in stderr.splitlines() if line.startswith("  casewise ")]
    return shlex.split(lines[0]) if lines else []


def test_an_ablation_alone_says_so_and_offers_the_whole(cli: Cli, tmp_path: Path) -> None:
    with FakeServer(safe) as server:
        env = environment(server)
        alone = cli("run", *MODEL, "--ablate", "recipient", "--log-dir", "my logs", env=env)
        assert alone.returncode == 0, alone.stderr
        assert "only contexts without recipient are judged" in alone.stderr
        command = offered(alone.stderr)
        assert command[-4:] == ["--ablate", "none", "--log-dir", "my logs"]
        both = cli(*command[1:], env=env)
        assert both.returncode == 0, both.stderr
        # The whole is asked besides, and what was judged is not asked again.
        assert len(server.requests) == 8
        assert set(read_paths([tmp_path / "my logs"]).table["ablation"]) == {None, "recipient"}
        # With the whole in the folder, or in the command, nothing is offered.
        again = cli("run", *MODEL, "--ablate", "urgency", "--log-dir", "my logs", env=env)
        assert not offered(both.stderr) + offered(again.stderr)


def test_a_dry_run_and_a_sweep_say_so_too(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", *MODEL, "--ablate", "recipient", "--ablate", "urgency", "--dry-run")
    assert "only contexts without recipient or urgency" in done.stderr
    assert offered(done.stderr)[-2:] == ["--ablate", "none"]
    assert "--log-dir" not in offered(done.stderr)
    (tmp_path / "s.yaml").write_text(
        "model: [openai-api/fake/m]\nprotocol: binary\nablate: [recipient]\n"
    )
    done = cli("run", "s.yaml", "--dry-run")
    assert "only contexts without recipient" in done.stderr
    assert "add none to ablate" in done.stderr


def test_none_is_the_whole(cli: Cli) -> None:
    def conditions(*more: str) -> list[str]:
        done = cli("run", *MODEL, *more, "--dry-run")
        assert done.returncode == 0, done.stderr
        return re.findall(r"openai-api/fake/m +(\S.*?)  ", done.stdout)

    assert conditions("--ablate", "none") == conditions() == ["binary"]
    both = ["binary", "binary, without recipient"]
    assert conditions("--ablate", "none", "--ablate", "recipient") == both
    assert conditions("--ablate", "none", "--ablate", "none") == ["binary"]
    # With nothing removed, contexts may be swapped.
    assert len(conditions("--ablate", "none", "--swap", "recipient")) == 2


# Refused before anything is sent.


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--ablate", ""], ["--ablate ''", "NAME", "none for whole contexts"]),
        (["--ablate", "recipient,none"], ["has 'none'", "recipient"]),
        (["--seed", str(2**32)], ["--seed", "4294967295"]),
        (["-m", "gpt-4o"], ["gpt-4o: which provider?", "openai/gpt-4o"]),
        (["-m", "my-checkpoint"], ["which provider?", "casewise-hf/./my-checkpoint"]),
        (["--protocol", "respond", "--grader", "gpt-4o"], ["gpt-4o: which provider?"]),
        (["--protocol", "respond", "--grader", "rulez"], ["--grader rulez: did you mean 'rules'?"]),
        (
            ["--protocol", "binary,score", "--grader", "openai/gpt-4o"],
            ["--grader openai/gpt-4o: binary, score", "has no replies to grade"],
        ),
    ],
)
@pytest.mark.parametrize("dry", [False, True])
def test_refused(
    cli: Cli, tmp_path: Path, arguments: list[str], parts: list[str], dry: bool
) -> None:
    with FakeServer(safe) as server:
        done = cli("run", *MODEL, *["--dry-run"] * dry, *arguments, env=environment(server))
        assert not server.requests
    assert (done.returncode, done.stdout) == (2, "")
    said = " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())
    for part in parts:
        assert part in said
    assert not list(tmp_path.iterdir())


SEEDED = (
    *("annotate simulate s.yaml", "contexts generate q.txt --out c.jsonl", "replay t.jsonl -m a/b"),
)


@pytest.mark.parametrize("command", SEEDED)
def test_a_huge_seed(cli: Cli, tmp_path: Path, command: str) -> None:
    done = cli(*command.split(), "--seed", "99999999999999999999")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--seed" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


# A label rule of one's own.


def voted(path: Path, model: str = "m") -> None:
    """Verdicts of safe on cases that 5, 6, 7 and 10 of 10 people call safe."""
    rows = [
        judgement(f"q{number}", side, None, votes=(votes, 10 - votes))
        | {"protocol": "binary", "status": "ok", "verdict": "safe", "model": model}
        for number, (side, votes) in enumerate(
            [("safe", 10), ("safe", 7), ("unsafe", 6), ("unsafe", 5)]
        )
    ]
    make_table(rows).write_parquet(path)


def test_a_share_of_votes_is_a_label_rule(cli: Cli, tmp_path: Path) -> None:
    voted(tmp_path / "t.parquet")

    def accuracy(rule: str) -> Any:
        done = cli("score", "t.parquet", "--labels", rule, "--format", "json")
        assert done.returncode == 0, done.stderr
        (row,) = model_rows(done.stdout)
        return row["labels"], row["accuracy"]

    assert accuracy("votes:.6") == ("votes:.6", 0.75)
    assert accuracy("votes:0.60") == ("votes:.6", 0.75)
    assert accuracy("votes:.7") == ("votes:.7", 0.5)
    assert accuracy("votes:1") == ("votes:1", 0.25)
    # At least half, where the rule votes gives a tie half credit.
    assert (accuracy("votes:.5")[1], accuracy("votes")[1]) == (1.0, 0.875)
    assert "(labels: votes:.7; " in cli("score", "t.parquet", "--labels", "votes:.7").stdout


def test_every_command_with_labels_takes_it(cli: Cli, tmp_path: Path) -> None:
    voted(tmp_path / "t.parquet")
    voted(tmp_path / "u.parquet", "other")
    compared = cli("compare", "t.parquet", "u.parquet", "--labels", "votes:.7", "--format", "json")
    assert json.loads(compared.stdout)["comparisons"][0]["labels"] == "votes:.7"
    for name in ("card.md", "page.html"):
        done = cli("report", "t.parquet", "--labels", "votes:.7", "--out", name)
        assert done.returncode == 0, done.stderr
    card = (tmp_path / "card.md").read_text("utf-8")
    assert "Label rule **votes:.7**: a case is safe if at least .70 of the people say so" in card
    (tmp_path / "gate.yaml").write_text(
        "labels: votes:.7\nrules:\n- {measure: accuracy, at_least: .1}\n"
    )
    gated = cli("gate", "t.parquet", "--config", "gate.yaml", "--json")
    assert json.loads(gated.stdout)["rules"][0]["labels"] == "votes:.7"


@pytest.mark.parametrize("rule", ["votes:0", "votes:1.5", "votes:nan", "votes:", "votse"])
@pytest.mark.parametrize(
    "command",
    [
        "score t.parquet",
    ],
)
def test_no_such_rule(cli: Cli, rule: str, command: str) -> None:
    done = cli(*command.split(), "--labels", rule)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--labels '{rule}': choose from published, votes, consensus, intended" in done.stderr
    assert "votes:SHARE" in done.stderr


# Ctrl-C.
