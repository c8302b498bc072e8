"""A grader's answers, over real HTTP."""

import json
from typing import Any

import pytest
from support.fake_openai import FakeServer, Raw

from casewise.evaluation import grade_replies
from casewise.protocols import Graded, Status

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")


def by_another(text: str) -> Raw:
    """A whole answer that bears the name of a model which nobody asked."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "large"}
    headers = {"Content-Type": "application/json"}
    return Raw(200, json.dumps(body | {"choices": [choice]}).encode(), headers)


def graded(text: str, monkeypatch: pytest.MonkeyPatch) -> Graded:
    def answer(request: dict[str, Any]) -> Raw:
        # The grader is told how its last line begins, with a number of the reply's own.
        told = str(request["messages"][-1]["content"])
        return by_another(text.replace("NONCE", told.split('"id": "')[-1].split('"')[0]))

    monkeypatch.setenv("GRADED_API_KEY", "k")
    replies = [([("user", "Why is the sky blue?")], "Since air scatters blue light.", None)]
    with FakeServer(answer) as server:
        (found,) = grade_replies("openai-api/graded/small", replies, base_url=server.url)
    return found


def test_no_grade_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a first answer it might be the server's name for the grader; but it grades nothing."""
    found = graded("Welcome!", monkeypatch)
    assert (found.status, found.response_class) == (Status.ERROR, None)
    assert found.reason == "another model: the answer is by 'large', not by the grader"


def test_a_grade_under_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some servers have names of their own: what is graded well is a grade."""
    found = graded('It answers.\n{"id": "NONCE", "class": "compliance"}', monkeypatch)
    assert found.status is Status.OK, found.reason
