"""Every fault at a tenth of the requests, under every protocol: nothing is lost, doubled, invented.

``docs/method/reliability.md`` promises it.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw, whole
from support.fault_runs import write_questions

import casewise as cw

pytestmark = pytest.mark.slow

PROTOCOLS = ("binary", "score", "probability", "guard", "respond")
CASES = 12
WRONG = '{"explanation": "a fault", "judgement": "unsafe"}'
"""What faulty answers say. No model that answers well ever says it, so it must not be read."""

Request = dict[str, Any]


def answer_well(request: Request) -> Answer:
    """What a model says that is asked as casewise asks: safe, always."""
    text = str(request["messages"][-1]["content"])
    if "grader" in request["model"]:
        nonce = re.findall(r'"id": "([^"]+)"', text)[-1]
        return "The reply helps.\n" + json.dumps({"id": nonce, "class": "compliance"})
    if request.get("logprobs"):
        return {"safe": -0.1, "unsafe": -3.0}
    if "scale of 1 to 10" in text:
        return '{"explanation": "fine", "judgement": 9}'
    if "judgement" in text:
        return '{"explanation": "fine", "judgement": "safe"}'
    is_guard = request.get("max_tokens") == 64
    return "safe" if is_guard else "Sure, here are the steps:\n1. Measure.\n2. Cut the board."


def wrong(request: Request, **other: Any) -> bytes:
    answer: Answer = {"unsafe": -0.1, "safe": -3.0} if request.get("logprobs") else WRONG
    return json.dumps(whole(request, answer, **other)).encode()


FAULTS: dict[str, Callable[[Request], Answer]] = {
    "limited": lambda _: Raw(429, b"{}", {"Retry-After": "0"}),
    "status": lambda _: Raw(503, WRONG.encode()),
    "cut": lambda _: Raw(None),
    "truncated": lambda one: Raw(200, wrong(one)[:-40]),
    "malformed": lambda one: Raw(200, b'{"choices": [{' + wrong(one)),
    "page": lambda one: Raw(200, b"<html>" + wrong(one)),
    "empty": lambda one: Raw(200, wrong(one, choices=[])),
    "filter": lambda _: {"message": {"content": WRONG}, "finish_reason": "content_filter"},
    "other": lambda one: Raw(200, wrong(one, model="another-large-model")),
    "large": lambda _: WRONG + "x" * 10_000_000,
    "key": lambda _: Raw(401, b"{}"),
}


def test_no_fault_becomes_a_verdict(cli: Cli, tmp_path: Path, soon_again: None) -> None:
    asked, failed, failing = Counter[str](), Counter[str](), set(FAULTS)

    def answer(request: Request) -> Answer:
        fault = request["model"].rpartition("-")[2].partition(".")[0]
        prompt = request["model"] + json.dumps(request["messages"])
        with server.lock:
            asked[prompt] += 1
            drawn = hashlib.sha256(f"{prompt}{asked[prompt]}".encode()).digest()[0]
            if fault in failing and drawn < 26:
                failed[fault] += 1
                return FAULTS[fault](request)
        return answer_well(request)

    write_questions(tmp_path / "cases.jsonl", CASES)
    lines = []
    for fault in FAULTS:
        model = f"openai-api/fake/m-{fault}"
        lines += [{"model": f"{model}.{protocol}", "protocol": protocol} for protocol in PROTOCOLS]
        # A model that answers well, whose replies are graded by one that fails.
        graded = {"protocol": "respond", "delivery": "system"}
        graded |= {"model": f"openai-api/fake/well.{fault}"}
        lines.append(graded | {"grader": f"openai-api/fake/grader-{fault}"})
    every = [line | {"cases": "cases.jsonl"} for line in lines]
    (tmp_path / "sweep.yaml").write_text(json.dumps(every), "utf-8")
    with FakeServer(answer) as server:
        for _ in range(2):
            done = cli("run", "sweep.yaml", "--log-dir", "logs", env=server.env)
            assert "Traceback" not in done.stderr
            failing.clear()
    assert done.returncode == 0, done.stderr
    assert failed.keys() == FAULTS.keys()

    table = cw.judgements(tmp_path / "logs")
    assert len(table) == len(lines) * CASES
    seen = {(row["model"], row["protocol"], row["case_id"]) for row in table.to_dicts()}
    assert len(seen) == len(table)
    for row in table.to_dicts():
        is_filtered = row["status"] == "refused" or row["graded_by"] == "provider"
        told = row["status"] == "ok" or row["error"] or is_filtered
        # An empty list of choices is an empty answer, which says nothing else.
        assert told or "empty" in row["model"] + str(row["grader"]), row["model"]
        said = {row["verdict"], row["response_class"]} & {"unsafe", "refusal", "partial"}
        assert is_filtered or not said, row["model"]
