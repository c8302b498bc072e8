"""The table of faults, over real HTTP: requests sent, cases lost, and the line that is printed.

Forms are those of the providers' documents and of the types of their clients.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY

from casewise.evaluation.models import _standing
from casewise.evaluation.models._fault_table import ROWS, FaultKind, Then, row_of
from casewise.evaluation.models._said import Said, read_error, seconds_of
from casewise.scores import read_paths

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SAFE = '{"explanation": "fine", "judgement": "safe"}'
CASES, BEFORE, AT_ONCE = 60, 20, 4


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


K = FaultKind
FORMS: list[tuple[FaultKind, int, Any]] = [
    (
        K.NO_CREDIT,
        429,
        openai("You exceeded", "insufficient_quota", "insufficient_quota"),
    ),
    (K.NO_CREDIT, 429, openai("Your account is not active", "billing_not_active")),
    (K.NO_CREDIT, 400, openai("Billing hard limit", "billing_hard_limit_reached")),
    (K.NO_CREDIT, 400, anthropic("invalid_request_error", "Your credit balance is too low to ...")),
    (K.NO_CREDIT, 402, anthropic("billing_error", "There's an issue with your billing")),
    (K.NO_CREDIT, 429, google(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.")),
    (K.NO_CREDIT, 402, router(402, "Insufficient credits. Add more using ...")),
    (K.NO_CREDIT, 200, router(402, "Insufficient credits. Add more using ...")),
    (K.NO_CREDIT, 402, {"error": {"message": "Insufficient Balance"}}),
    (K.BUDGET, 400, openai("Budget has been exceeded!", "400", "budget_exceeded")),
    (K.BUDGET, 403, router(403, "Key limit exceeded (total limit).")),
    (K.AUTHENTICATION, 401, openai("Incorrect API key provided: sk-1", "invalid_api_key")),
    (K.AUTHENTICATION, 401, anthropic("authentication_error", "invalid x-api-key")),
    (K.AUTHENTICATION, 200, anthropic("authentication_error", "invalid x-api-key")),
    (
        K.AUTHENTICATION,
        400,
        google(400, "INVALID_ARGUMENT", "API key not valid.", {"reason": "API_KEY_INVALID"}),
    ),
    (K.AUTHENTICATION, 403, amazon("UnrecognizedClientException", "The security token is invalid")),
    (K.AUTHENTICATION, 401, {"error": {"code": "401", "message": "Access denied due to ..."}}),
    (K.AUTHENTICATION, 401, {"error": "Unauthorized"}),
    (K.AUTHENTICATION, 401, router(401, "No auth credentials found")),
    (K.NO_ACCESS, 403, openai("Project does not have access", None)),
    (K.NO_ACCESS, 403, anthropic("permission_error", "Your API key does not have permission")),
    (K.NO_ACCESS, 403, google(403, "PERMISSION_DENIED", "The caller does not have permission")),
    (K.NO_ACCESS, 400, google(400, "FAILED_PRECONDITION", "User location is not supported ...")),
    (K.NO_ACCESS, 403, amazon("AccessDeniedException", "You don't have access to the model")),
    (K.NO_MODEL, 404, openai("The model `m` does not exist", "model_not_found")),
    (K.NO_MODEL, 404, anthropic("not_found_error", "model: m")),
    (K.NO_MODEL, 404, google(404, "NOT_FOUND", "models/m is not found")),
    (
        K.NO_MODEL,
        404,
        {"error": {"code": "DeploymentNotFound", "message": "The API"}},
    ),
    (K.NO_MODEL, 400, amazon("ValidationException", "The provided model identifier is invalid.")),
    (K.NO_MODEL, 404, vllm(404, "NotFoundError", "The model `m` does not exist.")),
    (K.NO_MODEL, 404, {"error": "model 'm' not found"}),
    (K.NO_MODEL, 400, router(400, "m is not a valid model ID")),
    (K.QUOTA, 429, router(429, "Rate limit exceeded: free-models-per-day")),
    (K.QUOTA, 429, amazon("ThrottlingException", "Too many tokens per day, please wait")),
    (K.CONTENT_FILTER, 400, openai("Your request was rejected", "content_policy_violation")),
    (
        K.CONTENT_FILTER,
        400,
        {
            "error": {
                "code": "content_filter",
                "message": "The response was filtered",
                "innererror": {"code": "ResponsibleAIPolicyViolation"},
            }
        },
    ),
    (
        K.CONTENT_FILTER,
        400,
        anthropic("invalid_request_error", "blocked by content filtering policy"),
    ),
    (K.CONTENT_FILTER, 403, router(403, "Your input was flagged", reasons=["violence"])),
    (K.CONTEXT_TOO_LONG, 400, openai("Maximum context length", "context_length_exceeded")),
    (
        K.CONTEXT_TOO_LONG,
        400,
        anthropic("invalid_request_error", "prompt is too long: 9"),
    ),
    (K.CONTEXT_TOO_LONG, 413, anthropic("request_too_large", "Request exceeds the maximum size")),
    (
        K.CONTEXT_TOO_LONG,
        400,
        google(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum"),
    ),
    (
        K.CONTEXT_TOO_LONG,
        400,
        amazon("ValidationException", "Input is too long for requested model."),
    ),
    (
        K.CONTEXT_TOO_LONG,
        400,
        vllm(400, "BadRequestError", "The maximum context length is 9"),
    ),
    (K.RATE_LIMITED, 429, openai("Rate limit reached", "rate_limit_exceeded", "tokens")),
    (K.RATE_LIMITED, 429, anthropic("rate_limit_error", "This request would exceed")),
    (K.RATE_LIMITED, 429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted")),
    (K.RATE_LIMITED, 429, amazon("ThrottlingException", "Too many requests, please wait")),
    (K.RATE_LIMITED, 200, router(429, "Provider returned error", raw="rate-limited upstream")),
    (K.SERVER_ERROR, 529, anthropic("overloaded_error", "Overloaded")),
    (K.SERVER_ERROR, 200, anthropic("overloaded_error", "Overloaded")),
    (K.SERVER_ERROR, 503, google(503, "UNAVAILABLE", "The model is overloaded.")),
    (K.SERVER_ERROR, 500, vllm(500, "InternalServerError", "EngineCore encountered an issue.")),
    (K.SERVER_ERROR, 502, router(502, "Provider returned error")),
    (K.TIMEOUT, 504, google(504, "DEADLINE_EXCEEDED", "Deadline expired")),
    (K.REDIRECTED, 307, {"code": 302}),
    (K.CONFLICT, 409, {"error": "busy"}),
    (K.REFUSED, 400, openai("Unsupported value: 'temperature'", "unsupported_value")),
    (K.REFUSED, 422, {"detail": [{"loc": ["body"], "msg": "field required"}]}),
    (K.REFUSED, 418, {"strange": "form"}),
]
"""Kind, status and body of a form."""


@pytest.mark.parametrize(("kind", "status", "body"), FORMS)
def test_a_form_is_known(kind: FaultKind, status: int, body: Any) -> None:
    assert row_of(read_error(status, {}, json.dumps(body).encode())).kind is kind


@dataclass
class Failing:
    """Answers of a model that fails after some."""

    raw: Raw
    times: float
    answered: int = 0
    failed: int = 0

    def __call__(self, request: dict[str, Any]) -> Answer:
        if self.answered >= BEFORE and self.failed < self.times:
            self.failed += 1
            return self.raw
        self.answered += 1
        return SAFE


def run(cli: Cli, folder: Path, server: FakeServer, *more: str) -> Any:
    cases = write_questions(folder / "cases.jsonl", CASES)
    return cli(
        *("run", "-m", f"openai-api/fake{server.port}/m", "--cases", cases),
        *("--protocol", "binary", "--max-connections", str(AT_ONCE), "--log-dir", "logs", *more),
        env={f"FAKE{server.port}_API_KEY": KEY, f"FAKE{server.port}_BASE_URL": server.url},
    )


FIRST = list({kind: form for form in reversed(FORMS) for kind in form[:1]}.values())
"""A form of each row."""


@pytest.mark.parametrize("form", FIRST)
def test_what_a_row_does(
    cli_inside: Cli, tmp_path: Path, form: tuple[FaultKind, int, Any], soon_again: None
) -> None:
    """Final: at most one further request per connection. Passing: one more. Else: that case."""
    kind, status, body = form
    row = ROWS[kind]
    raw = Raw(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
    # A body under a 200 says its own.
    status = read_error(status, {}, raw.body).status or status
    failing = Failing(raw, float("inf") if row.is_final else 1)
    with FakeServer(failing) as server:
        done = run(cli_inside, tmp_path, server)
    said = " ".join(done.stderr.split())
    table = read_paths([tmp_path / "logs"]).table
    found = Counter(table["status"])
    # Of what Inspect itself makes an outcome, the status is not known.
    told = "" if row.then is Then.CASE and kind is not K.REFUSED else f"HTTP {status} "
    assert f"{told}({kind.words})" in said if told else kind.words in said
    if row.is_final:
        assert failing.failed <= AT_ONCE
        assert done.returncode == 1
        assert said.count("not finished: ") == 1
        assert f"HTTP {status} ({kind.words}): {row.advice}" in said
        assert "To go on:" in said
        # What was judged is scored.
        assert found["ok"] == BEFORE
        assert len(table) == BEFORE + failing.failed
        return
    passes = row.then in (Then.AGAIN, Then.WAIT)
    assert len(server.requests) == CASES + passes
    assert done.returncode == 0
    lost = {K.CONTENT_FILTER: "refused", K.CONTEXT_TOO_LONG: "unparsed", K.REFUSED: "error"}
    assert found == Counter({"ok": CASES} if passes else {"ok": CASES - 1, lost[kind]: 1})
    assert f"1 {kind.words}" in said


REPEATED = {
    K.UNREADABLE: Raw(200, b"{", {"Content-Type": "application/json"}),
    K.CONFLICT: Raw(409, b"{}", {"Content-Type": "application/json"}),
    K.TIMEOUT: Raw(504, b"{}", {"Content-Type": "application/json"}),
    K.SERVER_ERROR: Raw(500, b"{}", {"Content-Type": "application/json"}),
    K.CONNECTION: Raw(None),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_request_is_asked_again_as_often_as_the_table_says(
    cli_inside: Cli, tmp_path: Path, kind: FaultKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing asks its case again."""
    monkeypatch.setattr(_standing, "MOST_S", 0.01)
    failing = Failing(REPEATED[kind], float("inf"))
    wrong = "question 7"

    def answer(request: dict[str, Any]) -> Answer:
        return failing(request) if wrong in str(request["messages"][-1]["content"]) else SAFE

    failing.answered = BEFORE
    write_questions(tmp_path / "cases.jsonl", 40)
    with FakeServer(answer) as server:
        done = cli_inside(
            *("run", "-m", f"openai-api/fake{server.port}/m", "--cases", "cases.jsonl"),
            *("--protocol", "binary", "--log-dir", "logs"),
            env={f"FAKE{server.port}_API_KEY": KEY, f"FAKE{server.port}_BASE_URL": server.url},
        )
        assert failing.failed == 1 + ROWS[kind].times
        assert len(server.requests) == 40 + ROWS[kind].times
    assert f"{failing.failed} {kind.words}" in " ".join(done.stderr.split())
    table = read_paths([tmp_path / "logs"]).table
    assert Counter(table["status"]) == {"ok": 39, "error": 1}


def test_the_same_command_goes_on(cli_inside: Cli, tmp_path: Path) -> None:
    status, body = 402, router(402, "Insufficient credits")
    raw = Raw(status, json.dumps(body).encode(), {"Content-Type": "application/json"})
    failing = Failing(raw, float("inf"))
    with FakeServer(failing) as server:
        assert run(cli_inside, tmp_path, server).returncode == 1
        failing.times = 0
        assert run(cli_inside, tmp_path, server).returncode == 0
        assert len(server.requests) == CASES + failing.failed
    assert Counter(read_paths([tmp_path / "logs"]).table["status"]) == {"ok": CASES}


@pytest.mark.parametrize(("status", "told"), [(402, "no credit left"), (401, "HTTP 401")])
def test_models_of_one_account(cli_inside: Cli, tmp_path: Path, status: int, told: str) -> None:
    """Each is left within one round of its own requests; all others at the first word of 402."""
    raw = Raw(status, b'{"error": "no"}', {"Content-Type": "application/json"})
    with FakeServer(lambda _: raw) as server:
        more = [one for n in range(8) for one in ("-m", f"openai-api/fake{server.port}/m{n}")]
        done = run(cli_inside, tmp_path, server, *more)
        assert len(server.requests) <= 9 * AT_ONCE
    assert done.returncode == 2
    assert done.stderr.count(told) >= 9


SOON = datetime.now(UTC) + timedelta(hours=2)


@pytest.mark.parametrize(
    ("headers", "body", "seconds"),
    [
        ({"Retry-After": "7"}, {}, 7),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, {}, 1.5),
        ({"Retry-After": format_datetime(SOON, usegmt=True)}, {}, SOON),
        ({"x-ratelimit-reset-requests": "1m30s"}, {}, 90),
        (
            {
                "x-ratelimit-reset-requests": "23h",
                "x-ratelimit-remaining-requests": "99",
                "x-ratelimit-reset-tokens": "250ms",
                "x-ratelimit-remaining-tokens": "0",
            },
            {},
            0.25,
        ),
        ({"anthropic-ratelimit-tokens-reset": SOON.isoformat()}, {}, SOON),
        ({}, google(429, "RESOURCE_EXHAUSTED", "", {"retryDelay": "34.07s"}), 34.07),
        ({}, openai("Rate limit reached. Please try again in 20s."), 20),
        ({}, openai("Please try again in 250ms."), 0.25),
        ({}, {"detail": "slow", "retry_after": 3}, 3),
        (
            {},
            router(429, "x", headers={"X-RateLimit-Reset": str(int(SOON.timestamp() * 1000))}),
            SOON,
        ),
        ({"Retry-After": "soon"}, {}, None),
        ({"Retry-After": "inf"}, {}, None),
    ],
)
def test_the_wait_that_is_told(
    headers: dict[str, str], body: Any, seconds: float | datetime | None
) -> None:
    if isinstance(seconds, datetime):
        seconds = (seconds - datetime.now(UTC)).total_seconds()
    wait = read_error(429, headers, json.dumps(body).encode()).wait
    assert wait == (None if seconds is None else pytest.approx(seconds, rel=0.01))


def test_a_wait_beyond_what_is_sensible_is_final() -> None:
    assert row_of(Said(status=429, wait=30.0)).then is Then.WAIT
    assert row_of(Said(status=429, wait=seconds_of("9h"))).kind is FaultKind.QUOTA


def test_a_wait_is_told(cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since when, until when, and that it is over."""
    monkeypatch.setattr(_standing, "SAID_S", 0.2)
    raw = Raw(429, b"{}", {"Content-Type": "application/json", "Retry-After": "1"})
    limited = Failing(raw, AT_ONCE)
    with FakeServer(limited) as server:
        done = run(cli_inside, tmp_path, server)
    assert done.returncode == 0
    said = " ".join(done.stderr.split())
    model = f"openai-api/fake{server.port}/m"
    clock = r"\d\d:\d\d:\d\d"
    assert re.search(rf"{model}: rate limited since {clock}; its requests wait until {clock}", said)
    assert f"{model}: answers again, after" in said


FINAL = {"402": Raw(402, b'{"error": "no credit"}'), "401": Raw(401, b"{}")}


@pytest.mark.parametrize("status", FINAL)
def test_a_grader_that_is_left(cli_inside: Cli, tmp_path: Path, status: str) -> None:
    """The replies that it should grade are asked no more."""
    failing = Failing(FINAL[status], float("inf"))

    def answer(request: dict[str, Any]) -> Answer:
        if request["model"] != "grader":
            return "Sure, here are the steps."
        text = str(request["messages"][-1]["content"])
        graded = failing(request)
        nonce = re.findall(r'"id": "([^"]+)"', text)[-1]
        return graded if graded != SAFE else json.dumps({"id": nonce, "class": "compliance"})

    with FakeServer(answer) as server:
        grader = f"openai-api/fake{server.port}/grader"
        done = run(cli_inside, tmp_path, server, "--protocol", "respond", "--grader", grader)
        # A grader has its own connections: as many as cases are under way.
        assert failing.failed <= 2 * AT_ONCE
        assert len(server.requests) <= 2 * (BEFORE + 2 * AT_ONCE)
    said = " ".join(done.stderr.split())
    assert done.returncode == 1, said
    # Without credit, the model under the same key is left as well.
    named = grader if status != "402" else f"openai-api/fake{server.port}/m"
    assert f"not finished: {named}: HTTP {status} (" in said
    assert Counter(read_paths([tmp_path / "logs"]).table["status"])["ok"] == BEFORE


@pytest.mark.parametrize("status", FINAL)
def test_a_target_that_is_left(cli_inside: Cli, tmp_path: Path, status: str) -> None:
    failing = Failing(FINAL[status], float("inf"))
    with FakeServer(failing) as server:
        (tmp_path / "target.yaml").write_text(
            f"name: bot\nurl: {server.url}/chat\n"
            "body: {messages: '{messages}', model: '{model}'}\n"
            "reply: choices[0].message.content\n"
        )
        cases = write_questions(tmp_path / "cases.jsonl", CASES)
        done = cli_inside(
            *("run", "--target", "target.yaml", "--cases", cases, "--protocol", "respond"),
            *("--max-connections", str(AT_ONCE), "--log-dir", "logs"),
        )
        assert failing.failed <= AT_ONCE
    said = " ".join(done.stderr.split())
    assert done.returncode == 1, said
    assert f"not finished: casewise-target/bot: HTTP {status} (" in said
    assert Counter(read_paths([tmp_path / "logs"]).table["status"])["ok"] == BEFORE


def test_a_target_names_its_wait(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its body, as some do: one further request, and no case is lost."""
    monkeypatch.setattr(_standing, "FIRST_S", 60.0)
    failing = Failing(Raw(429, b'{"detail": "slow down", "retry_after": 0.1}'), 1)
    with FakeServer(failing) as server:
        (tmp_path / "target.yaml").write_text(
            f"name: bot\nurl: {server.url}/chat\nbody: {{messages: '{{messages}}', model: m}}\n"
            "reply: choices[0].message.content\n"
        )
        cases = write_questions(tmp_path / "cases.jsonl", CASES)
        done = cli_inside(
            *("run", "--target", "target.yaml", "--cases", cases, "--protocol", "respond"),
            *("--max-connections", str(AT_ONCE), "--log-dir", "logs"),
        )
        assert len(server.requests) == CASES + 1
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("letters", [3_000_000, 9_000_000])
@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_a_long_answer_is_asked_for_once(
    cli_inside: Cli, tmp_path: Path, client: str, letters: int
) -> None:
    """Read whole or not, it would be as long, and as dear, again."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "x" * letters}}
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "m"}
    long = json.dumps(body | {"choices": [choice | {"finish_reason": "stop"}]}).encode()
    failing = Failing(Raw(200, long, {"Content-Type": "application/json"}), 1)
    with FakeServer(failing) as server:
        done = run(cli_inside, tmp_path, server)
        assert len(server.requests) == CASES
    said = " ".join(done.stderr.split())
    assert f"cases in error: openai-api/fake{server.port}/m: 1 answer too long" in said
    found = Counter(read_paths([tmp_path / "logs"]).table["status"])
    assert found == {"ok": CASES - 1, "error": 1}
