"""The cap on the cost where answers tell no tokens."""

from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer
from support.fault_runs import write_questions

import casewise as cw

CASES = 15
PRICES = ("--price-in", "1000", "--price-out", "2000")


def test_an_answer_without_a_count_costs_its_estimate(cli: Cli, tmp_path: Path) -> None:
    cases = write_questions(tmp_path / "cases.jsonl", CASES)
    given = {"protocol": "binary", "price_in": 1000, "price_out": 2000}
    (row,) = cw.plan(cases, model="openai-api/fake/m", **given).estimates
    cap = (row.cost_usd or 0.0) / CASES * 4.5
    options = ("--protocol", "binary", *PRICES, "--max-connections", "1", "--log-dir", "logs")
    command = ("run", "-m", "openai-api/fake/m", "--max-cost", f"{cap:.4f}", "--cases", cases)
    message = {"role": "assistant", "content": '{"judgement": "safe"}'}
    with FakeServer(lambda _: {"message": message, "usage": None}) as server:
        done = cli(*command, *options, env=server.env)
        assert (done.returncode, len(server.requests)) == (1, 5), done.stderr
        assert f"the cap of ${cap:.2f} is reached" in " ".join(done.stderr.split())
    # The table tells what the server told.
    with pytest.warns(UserWarning, match="ended early"):
        rows = cw.judgements(tmp_path / "logs")
    assert rows["input_tokens"].null_count() == 5
