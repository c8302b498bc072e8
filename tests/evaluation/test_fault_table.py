"""The table of faults, over real HTTP: requests sent, cases lost, and the line that is printed.

Forms are those of the providers' documents and of the types of their clients.
"""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw, whole
from support.fault_runs import write_questions
from support.secret import KEY

import casewise as cw

JSON = {"Content-Type": "application/json"}
SAFE = '{"explanation": "fine", "judgement": "safe"}'
CASES, BEFORE, AT_ONCE = 24, 8, 4
STANDING = "casewise.models.patience"


def openai(message: str, code: str | None = None, type: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": type, "param": None, "code": code}}


def anthropic(type: str, message: str) -> Any:
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, message: str, *details: dict[str, Any]) -> Any:
    return {"error": {"code": code, "message": message, "status": status, "details": [*details]}}


def amazon(type: str, message: str) -> Any:
    return {"__type": f"com.amazon.coral.service#{type}", "code": type, "message": message}


def vllm(code: int, type: str, message: str) -> Any:
    return {"object": "error", "message": message, "type": type, "param": None, "code": code}


def router(code: int, message: str, **metadata: Any) -> Any:
    return {"error": {"code": code, "message": message, "metadata": metadata}}


FORMS: list[tuple[str, int, Any]] = [
    ("no_credit", 429, openai("You exceeded", "insufficient_quota", "insufficient_quota")),
    ("no_credit", 400, openai("Billing hard limit", "billing_hard_limit_reached")),
    ("no_credit", 400, anthropic("invalid_request_error", "Your credit balance is too low to ...")),
    ("no_credit", 402, anthropic("billing_error", "There's an issue with your billing")),
    ("no_credit", 200, router(402, "Insufficient credits. Add more using ...")),
    ("no_credit", 400, openai("Budget has been exceeded!", "400", "budget_exceeded")),
    ("no_credit", 403, router(403, "Key limit exceeded (total limit).")),
    ("authentication", 401, openai(f"Incorrect API key provided: {KEY}", "invalid_api_key")),
    ("authentication", 200, anthropic("authentication_error", "invalid x-api-key")),
    (
        "authentication",
        400,
        google(400, "", "API key not valid.", {"reason": "API_KEY_INVALID"}),
    ),
    ("authentication", 403, amazon("UnrecognizedClientException", "The security token is invalid")),
    ("authentication", 401, {"error": {"code": "401", "message": "Access denied due to ..."}}),
    ("no_access", 403, google(403, "PERMISSION_DENIED", "The caller does not have permission")),
    ("no_access", 400, google(400, "FAILED_PRECONDITION", "User location is not supported ...")),
    ("not_found", 404, openai("The model `m` does not exist", "model_not_found")),
    (
        "not_found",
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API"}},
    ),
    (
        "not_found",
        400,
        amazon("ValidationException", "The model identifier is invalid."),
    ),
    ("not_found", 404, {"error": "model 'm' not found"}),
    ("not_found", 400, router(400, "m is not a valid model ID")),
    ("quota_used_up", 429, router(429, "Rate limit exceeded: free-models-per-day")),
    ("quota_used_up", 429, amazon("ThrottlingException", "Too many tokens per day, please wait")),
    ("content_filter", 400, openai("Your request was rejected", "content_policy_violation")),
    (
        "content_filter",
        400,
        {
            "error": {
                "code": "content_filter",
                "message": "The response was filtered",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    ),
    ("content_filter", 403, router(403, "Your input was flagged", reasons=["violence"])),
    ("context_too_long", 400, openai("Maximum context length", "context_length_exceeded")),
    ("context_too_long", 413, anthropic("request_too_large", "Request exceeds the maximum size")),
    (
        "context_too_long",
        400,
        google(400, "", "The input token count (9) exceeds the maximum"),
    ),
    ("context_too_long", 400, vllm(400, "BadRequestError", "The maximum context length is 9")),
    ("rate_limited", 429, openai("Rate limit reached", "rate_limit_exceeded", "tokens")),
    ("rate_limited", 429, amazon("ThrottlingException", "Too many requests, please wait")),
    ("rate_limited", 200, router(429, "Provider returned error", raw="rate-limited upstream")),
    ("server_error", 200, anthropic("overloaded_error", "Overloaded")),
    ("server_error", 503, google(503, "UNAVAILABLE", "The model is overloaded.")),
    ("timeout", 504, google(504, "DEADLINE_EXCEEDED", "Deadline expired")),
    ("redirected", 307, {"code": 302}),
    ("conflict", 409, {"error": "busy"}),
    ("request_refused", 400, openai("Unsupported value: 'temperature'", "unsupported_value")),
    ("request_refused", 422, {"detail": [{"loc": ["body"], "msg": "field required"}]}),
]
"""Kind, status and body of a form."""


def sent(status: int, body: Any, **headers: str) -> Raw:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Raw(status, json.dumps(body).encode(), JSON | named)


def kinds(cli: Cli, folder: Path, faults: list[Raw]) -> list[str]:
    """Under which kind each is counted: every service meets its own once, and answers then."""
    left = dict(enumerate(faults))

    def answer(request: dict[str, Any]) -> Answer:
        return left.pop(int(request["model"]), SAFE)

    write_questions(folder / "cases.jsonl", 1)
    command = ["run", "--cases", "cases.jsonl", "--protocol", "binary", "--log-dir", "logs"]
    with FakeServer(answer) as server:
        env: dict[str, str] = {}
        for number in left:
            command += ["-m", f"openai-api/s{number}/{number}"]
            env |= {f"S{number}_API_KEY": KEY, f"S{number}_BASE_URL": server.url}
        done = cli(*command, env=env)
    assert "Traceback" not in done.stderr
    assert left == {}
    # A line a model: "met on the way: openai-api/s3/3: 1 server error".
    met = re.findall(r"met on the way: openai-api/s(\d+)/\d+: \d+ ([a-z ,]+)$", done.stderr, re.M)
    found = {int(number): kind.replace(" ", "_") for number, kind in met}
    return [found[number] for number in range(len(faults))]


def test_every_form_is_known(cli: Cli, tmp_path: Path, soon_again: None) -> None:
    found = kinds(cli, tmp_path, [sent(status, body) for _, status, body in FORMS])
    assert found == [kind for kind, _, _ in FORMS]


FAR = datetime.now(UTC) + timedelta(hours=9)
NAMED_WAITS = [
    sent(429, {}, Retry_After="32400"),
    sent(429, {}, Retry_After=format_datetime(FAR, usegmt=True)),
    sent(429, {}, retry_after_ms="32400000", Retry_After="1"),
    sent(429, google(429, "RESOURCE_EXHAUSTED", "", {"retryDelay": "32400.07s"})),
    sent(429, {"detail": "slow", "retry_after": 32400}),
]
SHORT_OR_NONE = [
    sent(429, {}, Retry_After="soon"),
    sent(429, {}, Retry_After="inf"),
    sent(429, {}, retry_after_ms="20", Retry_After="9"),
]


def test_a_wait_beyond_an_hour_is_final_however_it_is_told(
    cli: Cli, tmp_path: Path, soon_again: None
) -> None:
    found = kinds(cli, tmp_path, NAMED_WAITS + SHORT_OR_NONE)
    assert found == ["quota_used_up"] * len(NAMED_WAITS) + ["rate_limited"] * len(SHORT_OR_NONE)


@dataclass
class Failing:
    """Answers of a model that fails after some."""

    raw: Raw
    times: float
    answered: int = 0
    failed: int = 0
    lock: Lock = field(default_factory=Lock)

    def __call__(self, request: dict[str, Any]) -> Answer:
        # Each connection has a thread of the server's.
        with self.lock:
            if self.answered >= BEFORE and self.failed < self.times:
                self.failed += 1
                return self.raw
            self.answered += 1
            return SAFE


def run(cli: Cli, folder: Path, server: FakeServer, *more: str) -> Any:
    cases = write_questions(folder / "cases.jsonl", CASES)
    options = ("--max-connections", str(AT_ONCE), "--log-dir", "logs", *more)
    model = () if "target.yaml" in more else ("-m", "openai-api/fake/m")
    protocol = () if "--protocol" in more else ("--protocol", "binary")
    return cli("run", *model, *protocol, "--cases", cases, *options, env=server.env)


def statuses(folder: Path) -> Counter[str]:
    return Counter(cw.judgements(folder / "logs")["status"])


PASSING = {"rate_limited", "conflict", "timeout", "server_error"}
LOST = {"content_filter": "refused", "context_too_long": "unparsed", "request_refused": "error"}
REACTED = {"no_credit", "authentication", "redirected", *PASSING, *LOST}
FIRST = list({form[0]: form for form in reversed(FORMS) if form[0] in REACTED}.values())
"""A form of each kind of reaction."""


@pytest.mark.parametrize("form", FIRST, ids=lambda form: form[0])
def test_what_a_kind_does(
    cli: Cli, tmp_path: Path, form: tuple[str, int, Any], soon_again: None
) -> None:
    """Final: at most one further request per connection. Passing: one more. Else: that case."""
    kind, status, body = form
    is_final = kind not in PASSING | LOST.keys()
    failing = Failing(sent(status, body), float("inf") if is_final else 1)
    with FakeServer(failing) as server:
        done = run(cli, tmp_path, server)
    said = " ".join(done.stderr.split())
    if is_final:
        assert failing.failed <= AT_ONCE
        assert done.returncode == 1
        assert said.count("not finished: ") == 1
        assert "To go on:" in said
        # What was judged is scored.
        assert statuses(tmp_path)["ok"] == BEFORE
        assert statuses(tmp_path).total() == BEFORE + failing.failed
        return
    assert len(server.requests) == CASES + (kind in PASSING)
    assert done.returncode == 0
    expected = {"ok": CASES} if kind in PASSING else {"ok": CASES - 1, LOST[kind]: 1}
    assert statuses(tmp_path) == expected
    assert f"1 {kind.replace('_', ' ')}" in said


REPEATED = {
    "unreadable answer": (Raw(200, b"{", JSON), 3),
    "conflict": (Raw(409, b"{}", JSON), 8),
    "connection": (Raw(None), 14),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_request_is_asked_again_so_often(
    cli: Cli, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing asks its case again."""
    monkeypatch.setattr(f"{STANDING}.MOST_S", 0.01)
    raw, times = REPEATED[kind]
    failing = Failing(raw, float("inf"), answered=BEFORE)

    def answer(request: dict[str, Any]) -> Answer:
        return failing(request) if "question 7" in str(request["messages"]) else SAFE

    with FakeServer(answer) as server:
        done = run(cli, tmp_path, server)
    assert failing.failed == 1 + times
    assert len(server.requests) == CASES + times
    assert f"{failing.failed} {kind}" in " ".join(done.stderr.split())
    assert statuses(tmp_path) == {"ok": CASES - 1, "error": 1}


def test_nothing_is_sent_before_the_time_that_is_named(cli: Cli, tmp_path: Path) -> None:
    """And the wait is printed once."""
    limits = list[float]()

    def answer(_: dict[str, Any]) -> Answer:
        if limits and time.monotonic() > limits[0] + 0.9:
            return SAFE
        limits.append(time.monotonic())
        return sent(429, {}, retry_after="1")

    with FakeServer(answer) as server:
        done = run(cli, tmp_path, server)
    assert done.returncode == 0
    assert len(limits) <= AT_ONCE
    assert " ".join(done.stderr.split()).count("which asks to wait 1 s") == 1


def test_a_grader_without_credit_is_left(cli: Cli, tmp_path: Path) -> None:
    """The replies that it should grade are asked no more."""
    failing = Failing(sent(402, {"error": "no credit"}), float("inf"))

    def answer(request: dict[str, Any]) -> Answer:
        if request["model"] != "grader":
            return "Sure, here are the steps."
        graded = failing(request)
        nonce = re.findall(r'"id": "([^"]+)"', str(request["messages"][-1]["content"]))[-1]
        return graded if graded != SAFE else json.dumps({"id": nonce, "class": "compliance"})

    with FakeServer(answer) as server:
        grader = ("--protocol", "respond", "--grader", "openai-api/fake/grader")
        done = run(cli, tmp_path, server, *grader)
        # A grader has its own connections: as many as cases are under way.
        assert failing.failed <= 2 * AT_ONCE
        assert len(server.requests) <= 2 * (BEFORE + 2 * AT_ONCE)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1, said
    assert "not finished: openai-api/fake/grader: HTTP 402 (" in said
    assert statuses(tmp_path)["ok"] == BEFORE


def test_a_long_answer_is_asked_for_once(cli: Cli, tmp_path: Path) -> None:
    """Read whole or not, it would be as long, and as dear, again."""
    failing = Failing(sent(200, whole({"model": "m"}, "x" * 9_000_000)), 1)
    with FakeServer(failing) as server:
        done = run(cli, tmp_path, server)
        assert len(server.requests) == CASES
    said = " ".join(done.stderr.split())
    assert "cases in error: openai-api/fake/m: 1 answer too long" in said
    assert statuses(tmp_path) == {"ok": CASES - 1, "error": 1}
