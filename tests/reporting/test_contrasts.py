"""The card of contrasts: a figure of one model whose every share is known."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from conftest import Cli, cli_in
from support.actors import SAFE, text_of, write_cases
from support.climbers import BOTS
from support.fake_openai import FakeServer
from support.tables import random_table

QUERIES = 4
RUNS = (
    ("--protocol", "binary"),
    ("--protocol", "respond", "--delivery", "none,system,claimed"),
    ("--protocol", "respond", "--evidence", "ladder"),
    ("--protocol", "rank"),
)


def believes(request: dict[str, Any]) -> str:
    """Judges, ranks and replies by the mark of a safe context, wherever it stands."""
    told = text_of(request, "user")
    if "Situation A" in told:
        first = told.index(SAFE) < told.index("Situation B", told.index("Situation A"))
        return json.dumps({"explanation": "So.", "answer": "A" if first else "B"})
    if "judgement" in told:
        return json.dumps({"explanation": "So.", "judgement": "safe" if SAFE in told else "unsafe"})
    return BOTS["believes anything"](request)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("contrasts")
    write_cases(folder / "cases.jsonl", QUERIES)
    with FakeServer(believes) as server:
        env = {"FAKE_API_KEY": "none", "FAKE_BASE_URL": server.url}
        for number, run in enumerate(RUNS):
            command = ("run", "-m", "openai-api/fake/m", "--cases", "cases.jsonl", *run)
            done = cli_in(folder)(*command, "--log-dir", f"logs/{number}", env=env)
            assert done.returncode == 0, done.stderr
    return folder


def drawn(path: Path) -> tuple[list[str], str, int]:
    """Texts of a figure, its method, and its dots."""
    root = ElementTree.fromstring(path.read_text("utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text or "" for one in root.iter(f"{space}text")]
    (method,) = [one.text or "" for one in root.iter(f"{space}desc")]
    return texts, method, len(list(root.iter(f"{space}circle")))


def test_every_contrast_of_a_model(folder: Path) -> None:
    done = cli_in(folder)("report", "logs", "--out", "card.svg")
    assert done.returncode == 0, done.stderr
    texts, method, dots = drawn(folder / "card.svg")
    titles = ["Proof", "Words and deeds", "Trust", "Rank"]
    assert [one for one in texts if one in titles] == titles
    # Of each line its name, then its value. It believes every word: half of the cases are safe,
    # which it says and answers; without a context it refuses all, so in one it is right on these.
    values = {name: value for name, value in pairwise(texts) if value.endswith(" %")}
    assert values["says safe, answers"] == values["says unsafe, refuses"] == "50 %"
    assert values["says safe, refuses"] == values["says unsafe, answers"] == "0 %"
    assert (values["gain, described"], values["gain, claimed"]) == ("50 %", "50 %")
    assert values["gain, made up"] == "100 %"
    assert (values["ranked as labels do"], values["names the first"]) == ("100 %", "50 %")
    assert values["same in both orders"] == "100 %"
    # Seven rungs of two kinds of cases; four, three and three lines.
    assert dots == 2 * 7 + 4 + 3 + 3
    assert "Not measured" not in method
    assert 250 <= len(method.split()) <= 360
    assert "Wilson's score interval" in method
    assert method.split()[-1] in " ".join(texts)


def test_what_is_missing_is_said(cli_inside: Cli, tmp_path: Path) -> None:
    random_table(20, 3).write_parquet(tmp_path / "judge.parquet")
    assert cli_inside("report", "judge.parquet", "--out", "card.svg").returncode == 0
    _, method, dots = drawn(tmp_path / "card.svg")
    assert dots == 0
    assert method.count("Not measured") == 4
    assert "casewise run --protocol respond --evidence ladder" in method


def test_it_is_of_one_model(cli_inside: Cli, tmp_path: Path) -> None:
    models = (random_table(5, 3, model=name, run_id=name) for name in ("a", "b"))
    pl.concat(models).write_parquet(tmp_path / "two.parquet")
    done = cli_inside("report", "two.parquet", "--out", "card.svg")
    assert done.returncode == 2
    assert "is of one model, and these runs are of 2: a, b" in " ".join(done.stderr.split())
    assert not (tmp_path / "card.svg").exists()
