"""Sweeps: a file of models and conditions as one job, whole flows by the command line."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from support.fake_openai import Answer, FakeServer

import casewise as cw

pytestmark = pytest.mark.filterwarnings("ignore:.*the run ended early")

CASES = 8

COMMON = "cases: cases.jsonl, price_in: 1000, price_out: 2000, max_connections: 4"
"""A request of the fake server takes 100 tokens in and 5 out: $0.11."""

A, B, C = (f"openai-api/fake/{name}" for name in "abc")
GRID = f"""
- {{model: {A}, protocol: binary, delivery: [judge, none], ablate: [none, sender], {COMMON}}}
- {{model: {A}, protocol: score, ablate: [none, sender], samples: 1, {COMMON}}}
- {{model: {B}, protocol: binary, ablate: [none, sender], {COMMON}}}
"""


def sweep_file(folder: Path, text: str, count: int = CASES) -> None:
    contexts = {"sender": {"platform_type": "a forum"}, "recipient": {"urgency": "low"}}
    lines = [{"query": f"question {n}", "context": contexts} for n in range(count)]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    (folder / "sweep.yaml").write_text(text, "utf-8")


def answer(request: dict[str, Any]) -> Answer:
    """The one model says safe, the other unsafe; both say 8 when asked for a number.

    The model c does not exist.
    """
    if request["model"] == "c":
        return 404
    prompt = request["messages"][-1]["content"]
    word = "safe" if request["model"] == "a" else "unsafe"
    return "8" if "10" in prompt else f'{{"judgement": "{word}"}}'


def judged(folder: Path) -> dict[tuple[str, str], int]:
    """Judgements by model and the part that was removed."""
    rows = cw.judgements(folder / "logs/sweep").filter(protocol="binary", delivery="judge")
    rows = rows.filter(pl.col("status") != "error")
    return Counter(rows.select("model", pl.col("ablation").fill_null("")).rows())


def test_a_grid_and_what_a_changed_file_asks(cli: Cli, tmp_path: Path) -> None:
    sweep_file(tmp_path, GRID)
    assert f"{7 * CASES} requests; nothing was sent" in cli("run", "sweep.yaml", "--dry-run").stdout
    with FakeServer(answer) as server:
        done = cli.ok("run", "sweep.yaml", env=server.env)
        assert len(server.requests) == 7 * CASES
        assert "56 of 56 are judged already" in cli("run", "sweep.yaml", "--dry-run").stderr
        # One condition goes, one comes; one model is asked more often, and one the same by two
        # records. One model more can't be used.
        changed = GRID.replace("ablate: [none, sender]", "ablate: [none, recipient]")
        changed = changed.replace(f"{{model: {B}, ", f"{{model: {B}, epochs: 2, ")
        changed += f"- {{model: {A}, protocol: binary, {COMMON}}}\n"
        changed += f"- {{model: {C}, protocol: binary, {COMMON}}}\n"
        sweep_file(tmp_path, changed)
        before = len(server.requests)
        done = cli("run", "sweep.yaml", env=server.env)
        assert done.returncode == 1, done.stderr
        # Without the recipient: binary by both models, score by one; a second epoch by both.
        asked = [
            request["model"] for request in server.requests[before:] if request["model"] != "c"
        ]
        assert len(asked) == 3 * CASES + 2 * CASES
    assert "going on: 32 of 80 were judged before" in done.stderr
    assert f"not finished: {C}: " in done.stderr
    once = [(A, ""), (A, "sender"), (A, "recipient"), (B, "sender")]
    twice = [(B, ""), (B, "recipient")]
    assert judged(tmp_path) == dict.fromkeys(once, CASES) | dict.fromkeys(twice, 2 * CASES)


def test_a_cap_on_the_cost(cli: Cli, tmp_path: Path) -> None:
    """An ordinary run stops at its cap; a sweep over the same conditions goes on from there."""
    sweep_file(tmp_path, f"- {{model: [{A}, {B}], protocol: binary, {COMMON}}}", 30)
    options = ("--protocol", "binary", "--cases", "cases.jsonl", "--log-dir", "logs/sweep")
    run = ("run", "-m", A, *options, "--max-connections", "4")
    with FakeServer(answer) as server:
        prices = ("--price-in", "1000", "--price-out", "2000")
        done = cli(*run, *prices, "--max-cost", "1", env=server.env)
        assert done.returncode == 1, done.stderr
        assert "not finished: the cap of $1.00 is reached" in done.stderr
        # The tenth answer reaches the cap; at most three more were in flight.
        first = len(server.requests)
        assert 10 <= first <= 13
        assert judged(tmp_path) == {(A, ""): first}
        same = cli("run", "sweep.yaml", "--max-cost", "1", env=server.env)
        assert same.returncode == 1
        assert len(server.requests) == first
        cli.ok("run", "sweep.yaml", "--max-cost", "100", env=server.env)
        # Nothing that was paid for is paid for again.
        assert len(server.requests) == 60
    assert judged(tmp_path) == {(A, ""): 30, (B, ""): 30}


def test_seeds_where_answers_are_drawn(tmp_path: Path) -> None:
    """A seed makes a condition of its own where it changes something, and is dropped elsewhere."""
    sweep_file(tmp_path, "")
    drawn = {"protocol": ["binary", "probability"], "sampling": ["greedy", "reference"]}
    plan = cw.plan(tmp_path / "cases.jsonl", A, seed=[1, 2], **drawn)
    assert sorted(estimate.condition for estimate in plan.estimates) == [
        *("binary", "binary, draw-seed 1", "binary, draw-seed 2", "probability", "probability"),
    ]


def test_a_larger_limit_asks_only_the_rest(cli: Cli, tmp_path: Path) -> None:
    """So does the same file in another folder: its content is in the key, and not its path."""
    sweep_file(tmp_path, "")
    options = ("run", "-m", A, "--protocol", "binary", "--log-dir", "logs")
    with FakeServer(answer) as server:
        env = server.env
        cli.ok(*options, "--cases", "cases.jsonl", "--limit", "3", env=env)
        (tmp_path / "moved").mkdir()
        (tmp_path / "cases.jsonl").rename(tmp_path / "moved/ours.jsonl")
        done = cli(*options, "--cases", "moved/ours.jsonl", env=env)
        assert f"going on: 3 of {CASES} were judged before" in done.stderr
        assert f"{CASES} requests, " in done.stderr
        assert "tokens out, prices unknown" in done.stderr
        assert len(server.requests) == CASES
        less = cli(*options, "--cases", "moved/ours.jsonl", "--limit", "2", env=env)
        assert "going on: 2 of 2 were judged before" in less.stderr
        assert len(server.requests) == CASES


def test_the_example_of_the_page(cli: Cli, tmp_path: Path) -> None:
    text, *_ = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs/how-to/sweeps.md").read_text("utf-8"), re.DOTALL
    )
    sweep_file(tmp_path, text)
    (tmp_path / "cases.jsonl").rename(tmp_path / "team.jsonl")
    # Over each of two files three ablations, and no context; a score is asked for three times.
    requests = (3 + 1) * (1 + 3) * (56 + CASES) + (2 + 3) * 56
    said = cli("run", "sweep.yaml", "--dry-run").stdout
    assert f"{requests:,} requests; nothing was sent" in said
