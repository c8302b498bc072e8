"""The cap on the cost where answers tell no tokens, or numbers that can be none."""

from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import FakeServer
from support.fault_runs import write_questions

import casewise as cw

CASES = 15
COUNTS: dict[str, Any] = {
    "none": None,
    "negative": {"prompt_tokens": 100, "completion_tokens": -500, "total_tokens": -400},
}
"""Numbers of tokens that are no answer's."""

PRICES = ("--price-in", "1000", "--price-out", "2000")


def counting(usage: Any, text: str = '{"judgement": "safe"}') -> FakeServer:
    message = {"role": "assistant", "content": text}
    return FakeServer(lambda _: {"message": message, "usage": usage})


def options(folder: Path) -> tuple[str | Path, ...]:
    cases = write_questions(folder / "cases.jsonl", CASES)
    where = ("--log-dir", folder / "logs", "--max-connections", "1")
    return "--cases", cases, "--protocol", "binary", *PRICES, *where


def each(folder: Path) -> float:
    """Dollars of a judgement, as the plan estimates them."""
    cases, model = folder / "cases.jsonl", "openai-api/fake/m"
    plan = cw.plan(cases, model=model, protocol="binary", price_in=1000, price_out=2000)
    (row,) = plan.estimates
    assert row.requests == CASES
    return (round(row.input_tokens / CASES) + 2 * round(row.output_tokens / CASES)) / 1000


@pytest.mark.parametrize("kind", ["none", "negative"])
def test_an_answer_without_a_count_costs_its_estimate(cli: Cli, tmp_path: Path, kind: str) -> None:
    with counting(COUNTS[kind]) as server:
        command = ("run", "-m", "openai-api/fake/m", *options(tmp_path))
        dollars = each(tmp_path)
        # A cap of 4.5 judgements is reached by the fifth; that of 9.5, in a later start, by the
        # tenth: 5 were paid before.
        for asked in (5, 10):
            cap = dollars * (asked - 0.5)
            done = cli(*command, "--max-cost", f"{cap:.4f}", env=server.env)
            assert (done.returncode, len(server.requests)) == (1, asked), done.stderr
            said = " ".join(done.stderr.split())
            assert said.count("an answer without a count of tokens costs the plan's estimate") == 1
            spent = f"the cap of ${cap:.2f} is reached: ${dollars * asked:.2f} were spent"
            assert f"{spent} (${dollars * 5:.2f} of them estimated, as" in said
        assert f"(${dollars * 5:.2f} of it spent before)" in said
        done = cli(*command, "--max-cost", "100", env=server.env)
        assert (done.returncode, len(server.requests)) == (0, CASES), done.stderr
        whole = f"${dollars * CASES:.2f} of $100.00 were spent (${dollars * 5:.2f} of them"
        assert whole in " ".join(done.stderr.split())
    # The table tells what the server told.
    rows = cw.judgements(tmp_path / "logs")
    assert rows["input_tokens"].null_count() == CASES
