"""The client of OpenAI repeats nothing: each request is one of casewise's."""

from collections import Counter
from pathlib import Path

import pytest
from conftest import Cli
from support.fake_openai import FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY

import casewise as cw

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = 4
TEXT = '{"judgement": "safe"}'
JSON = {"Content-Type": "application/json"}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "cut"])
def test_each_request_is_told(cli: Cli, tmp_path: Path, fault: str, soon_again: None) -> None:
    raw = Raw(None) if fault == "cut" else Raw(int(fault), b'{"message": "no"}', JSON)
    cases = write_questions(tmp_path / "cases.jsonl", CASES)
    fails = iter([raw] * 2)
    with FakeServer(lambda _: next(fails, TEXT)) as server:
        done = cli(
            *("run", "-m", "openai/gpt-4o", "--model-base-url", server.url, "--cases", str(cases)),
            *("--protocol", "binary", "--max-connections", "1", "--log-dir", "logs"),
            env={"OPENAI_API_KEY": KEY},
        )
        said = " ".join(done.stderr.split())
        assert done.returncode == 0, said
        assert len(server.requests) == CASES + 2
    kind = "connection" if fault == "cut" else "server error"
    assert f"2 {kind}" in said
    assert Counter(cw.judgements(tmp_path / "logs")["status"]) == {"ok": CASES}
