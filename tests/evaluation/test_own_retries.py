"""Clients of OpenAI and Anthropic repeat nothing: each request is one of casewise's."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import FakeServer, Raw
from support.fault_runs import write_questions
from support.sdks import of_sdk
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
MESSAGE = {"role": "assistant", "content": TEXT}
ANSWERS: dict[str, dict[str, Any]] = {
    "openai/gpt-4o": {
        "id": "x",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop", "message": MESSAGE}],
    },
    "anthropic/claude-haiku-4-5": {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5",
        "content": [{"type": "text", "text": TEXT}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
"""Answer by model."""
MODELS = [of_sdk(model.split("/")[0], model) for model in ANSWERS]


KEYS = {f"{name}_API_KEY": KEY for name in ("OPENAI", "ANTHROPIC")}


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["500", "cut"])
@pytest.mark.parametrize("model", MODELS)
def test_each_request_is_told(
    cli: Cli, tmp_path: Path, model: str, fault: str, soon_again: None
) -> None:
    raw = Raw(None) if fault == "cut" else Raw(int(fault), b'{"message": "no"}', JSON)
    cases = write_questions(tmp_path / "cases.jsonl", CASES)
    fails = iter([raw] * 2)
    answer = Raw(200, json.dumps(ANSWERS[model]).encode(), JSON)
    with FakeServer(lambda _: next(fails, answer)) as server:
        place = server.url if model.startswith("openai/") else server.url.removesuffix("/v1")
        done = cli(
            *("run", "-m", model, "--model-base-url", place, "--cases", str(cases)),
            *("--protocol", "binary", "--max-connections", "1", "--log-dir", "logs"),
            env=KEYS,
        )
        said = " ".join(done.stderr.split())
        assert done.returncode == 0, said
        assert len(server.requests) == CASES + 2
    kind = "connection" if fault == "cut" else "server error"
    assert f"2 {kind}" in said
    assert Counter(cw.judgements(tmp_path / "logs")["status"]) == {"ok": CASES}
