"""A key that a server repeats, in every kind of answer and every place of it, is found nowhere.

Each place is a case of its own: its server puts the planted key there, whatever the status. All
that the run has written and printed is searched, also inside what is compressed and encoded.
"""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import Cli
from inspect_ai.model._providers.util import batch
from support.fake_batches import BatchServer
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.faulty import whole
from support.secret import KEY, found_in

pytestmark = [
    # Of Inspect's and of what it stands on: it runs elsewhere in processes of its own.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

JSON = {"Content-Type": "application/json"}
SAFE = '{"judgement": "safe"}'
TOLD = f"Incorrect API key provided: {KEY}. Find yours at ..."
BASE64 = base64.b64encode(f"user:{KEY}".encode()).decode()


def raw(status: int, body: Any, **headers: str) -> Raw:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Raw(status, content, JSON | {n.replace("_", "-"): v for n, v in headers.items()})


def error(status: int, **more: Any) -> Raw:
    return raw(status, {"error": {"message": TOLD, "type": "fake", "code": "busy"} | more})


def page(status: int) -> Raw:
    body = f"<html><body>Bearer {KEY}</body></html>"
    return Raw(status, body.encode(), {"Content-Type": "text/html"})


def events(*pieces: dict[str, Any] | str) -> bytes:
    lines = [one if isinstance(one, str) else json.dumps(one) for one in pieces]
    return "".join(f"data: {line}\n\n" for line in lines).encode()


def chunk(text: str, end: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}, "finish_reason": end}
    kind = "chat.completion.chunk"
    return {"id": "x", "object": kind, "created": 1, "model": "m", "choices": [choice]}


def said(**message: Any) -> dict[str, Any]:
    """A completion that says the key beside its verdict."""
    message = {"role": "assistant", "content": SAFE} | message
    return whole({"model": "m"}, {"message": message})


PASSING: dict[str, Raw] = {
    **{f"{status}: message": error(status) for status in (400, 408, 409, 422, 429)},
    **{f"{status}: message": error(status) for status in (500, 502, 503, 529)},
    **{f"{status}: page": page(status) for status in (200, 400, 429, 500)},
    "400: code": error(400, code=KEY),
    "400: type": error(400, type=KEY),
    "400: a text for an error": raw(400, {"error": TOLD}),
    "400: a detail": raw(400, {"detail": [{"input": {"authorization": f"Bearer {KEY}"}}]}),
    "400: a list": raw(400, [KEY]),
    "400: no JSON": raw(400, f"key {KEY}".encode()),
    "400: other bytes": raw(400, b"\xff\xfe" + KEY.encode()),
    "400: escaped": raw(400, {"error": {"message": quote(f"/v1?key={KEY}&", safe="")}}),
    "400: base64": raw(400, {"error": {"message": f"Basic {BASE64}"}}),
    "400: hexadecimal": raw(400, {"error": {"message": KEY.encode().hex()}}),
    "400: a filter's words": error(400, code="content_filter"),
    "400: a window's words": error(400, code="context_length_exceeded"),
    "429: header": raw(429, {}, Retry_After="0", X_Debug=KEY, Set_Cookie=f"key={KEY}"),
    "429: a wait that is a key": raw(429, {}, Retry_After=KEY),
    "200: header": raw(200, said(), X_Request_Id=KEY, X_Api_Key=KEY),
    "200: error within": raw(200, {"error": {"message": TOLD, "code": 500}}),
    "200: reply": raw(200, said(content=f"{SAFE} {KEY}")),
    "200: reasoning": raw(200, said(reasoning_content=KEY)),
    "200: refusal": raw(200, said(content=None, refusal=f"{KEY} may not ask this")),
    "200: id": raw(200, said() | {"id": KEY}),
    "200: model": raw(200, said() | {"model": f"m-{KEY}"}),
    "200: unknown member": raw(200, said() | {"debug": {"authorization": f"Bearer {KEY}"}}),
    "200: half a body": raw(200, json.dumps(said(content=KEY)).encode()[:-30]),
    "200: no choices": raw(200, said() | {"choices": [], "note": KEY}),
}
"""Answers that end no run: each comes once to its case, and is followed by a good one."""

FINAL = {
    "401: message": error(401, code="invalid_api_key"),
    "401: page": page(401),
    "402: message": error(402),
    "403: message": error(403),
    "404: message": error(404),
    "404: page": page(404),
    "429: no credit": error(429, code="insufficient_quota"),
    "200: a refused key within": raw(200, {"error": {"message": TOLD, "code": "invalid_api_key"}}),
}

STREAMED: dict[str, bytes] = {
    "a piece": events(chunk(f"{SAFE} {KEY}"), chunk("", "stop"), "[DONE]"),
    "two pieces": events(chunk(f"{SAFE} {KEY[:12]}"), chunk(KEY[12:]), chunk("", "stop"), "[DONE]"),
    "an event": events(chunk(SAFE[:5]), {"error": {"message": TOLD, "code": 500}}),
    "no JSON": events(chunk(SAFE[:5]), f"key {KEY}"),
    "a member": events(chunk(SAFE) | {"id": KEY, "note": KEY}, chunk("", "stop"), "[DONE]"),
    "cut": events(chunk(f"{SAFE} {KEY}")),
}


def served(places: dict[str, Raw], request: dict[str, Any], met: set[int]) -> Answer:
    """The answer of a case's place at first, then a good one."""
    number = int(str(request["messages"]).split("question ")[1].split("\\n")[0])
    if number in met or number >= len(places):
        return SAFE
    met.add(number)
    return list(places.values())[number]


def check(folder: Path, shown: str) -> None:
    assert KEY not in shown
    assert BASE64 not in shown
    assert list((folder / "logs").glob("*.eval")), shown
    assert found_in(folder) == []


def ask(cli: Cli, folder: Path, server: FakeServer, count: int, *more: str) -> str:
    cases = write_questions(folder / "cases.jsonl", count)
    name = f"fake{server.port}"
    done = cli(
        *("run", "-m", f"openai-api/{name}/m", "--cases", cases, "--protocol", "binary"),
        *("--log-dir", "logs", *more),
        env={f"{name.upper()}_API_KEY": KEY, f"{name.upper()}_BASE_URL": server.url},
    )
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("client", ["auto", "inspect"])
def test_in_answers(cli_inside: Cli, tmp_path: Path, client: str, soon_again: None) -> None:
    met: set[int] = set()
    with FakeServer(lambda request: served(PASSING, request, met)) as server:
        # Cases that are refused are few beside all others, so that the run goes on.
        shown = ask(cli_inside, tmp_path, server, 10 * len(PASSING), "--client", client)
    assert len(met) == len(PASSING) >= 30
    check(tmp_path, shown)


@pytest.mark.parametrize("place", FINAL)
def test_in_final_answers(cli_inside: Cli, tmp_path: Path, place: str) -> None:
    with FakeServer(lambda _: FINAL[place]) as server:
        check(tmp_path, ask(cli_inside, tmp_path, server, 1))


def test_in_streams(cli_inside: Cli, tmp_path: Path, soon_again: None) -> None:
    places = {
        name: Raw(200, body, {"Content-Type": "text/event-stream"})
        for name, body in STREAMED.items()
    }
    met: set[int] = set()
    good = Raw(200, events(chunk(SAFE, "stop"), "[DONE]"), {"Content-Type": "text/event-stream"})

    def answer(request: dict[str, Any]) -> Answer:
        assert request["stream"]
        found = served(places, request, met)
        return good if found == SAFE else found

    with FakeServer(answer) as server:
        shown = ask(cli_inside, tmp_path, server, 20 * len(places), "-M", "stream=true")
    assert len(met) == len(places)
    check(tmp_path, shown)


def of_target() -> Iterator[tuple[str, Raw]]:
    yield "reply", raw(200, {"reply": f"Your key is {KEY}.", "id": "1"})
    yield "session", raw(200, {"reply": "Hello.", "id": KEY})
    yield "no reply", raw(200, {"note": KEY})
    yield "page", page(200)
    yield "400", error(400)
    yield "500", error(500)
    yield "header", raw(429, {}, Retry_After="0", X_Debug=KEY)
    yield "elsewhere", Raw(302, b"", {"Location": f"http://{KEY}.example/?key={KEY}"})
    yield "another port", Raw(307, b"", {"Location": f"http://127.0.0.1:9/{KEY}"})


@pytest.mark.parametrize("place", dict(of_target()))
def test_in_answers_of_a_target(
    cli_inside: Cli, tmp_path: Path, place: str, soon_again: None
) -> None:
    answers = iter([dict(of_target())[place]])
    good = raw(200, {"reply": "Hello.", "id": "1"})
    with FakeServer(lambda _: next(answers, good)) as server:
        (tmp_path / "target.yaml").write_text(
            f"name: bot\nurl: {server.url}/chat\nheaders: {{X-Key: '{{env:BOT_API_KEY}}'}}\n"
            "body: {messages: '{messages}', session: '{session}'}\nreply: reply\nsession: id\n"
        )
        cases = write_questions(tmp_path / "cases.jsonl", 1)
        done = cli_inside(
            *("run", "--target", "target.yaml", "--cases", cases, "--protocol", "respond"),
            *("--log-dir", "logs"),
            env={"BOT_API_KEY": KEY},
        )
    assert "Traceback" not in done.stderr
    check(tmp_path, done.stdout + done.stderr)


@pytest.mark.parametrize("place", ["results", "creation"])
def test_in_batches(
    cli_inside: Cli, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "DEFAULT_BATCH_TICK", 0.05)
    monkeypatch.setattr(batch, "DEFAULT_SEND_DELAY", 0.05)
    cases = write_questions(tmp_path / "cases.jsonl", 4)
    wrong = {"POST /v1/batches": error(401)} if place == "creation" else {}
    with BatchServer(lambda _: f"{SAFE} {KEY}", misanswered=wrong) as server:
        done = cli_inside(
            *("run", "-m", "openai/gpt-4o", "--cases", cases, "--protocol", "binary"),
            *("--batch", "--log-dir", "logs"),
            env={"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url},
        )
        assert server.calls
    assert "Traceback" not in done.stderr
    check(tmp_path, done.stdout + done.stderr)


ASKED = "how does one plant a needle of 5151 words"


def plant(folder: Path) -> Path:
    """Cases with a query that no screen may show."""
    record = {"context": {"sender": {"platform_type": "forum"}}, "intended": "safe"}
    lines = [record | {"query": f"{ASKED} {n}"} for n in range(4)]
    path = folder / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    return path


def check_fault(folder: Path, shown: str) -> None:
    """The key is nowhere; the query is on no screen, and in no file but logs and the cases."""
    assert KEY not in shown
    assert ASKED not in shown
    assert found_in(folder) == []
    for file in (folder / "logs").rglob("*"):
        if file.is_file() and file.suffix not in {".eval", ".jsonl"}:
            assert ASKED.encode() not in file.read_bytes(), file


def test_in_an_error_within_a_case(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"{ASKED} {KEY}")

    cases = plant(tmp_path)
    monkeypatch.setattr("casewise.evaluation.executor._shards._messages", fail)
    with FakeServer(lambda _: SAFE) as server:
        done = cli_inside(
            *("run", "-m", f"openai-api/fake{server.port}/m", "--cases", cases),
            *("--protocol", "binary", "--log-dir", "logs"),
            env={f"FAKE{server.port}_API_KEY": KEY, f"FAKE{server.port}_BASE_URL": server.url},
        )
    assert done.returncode == 1, done.stderr
    check_fault(tmp_path, done.stdout + done.stderr)


def test_in_an_error_of_a_bot(cli_inside: Cli, tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "import os\ndef answer(messages):\n"
        "    raise ZeroDivisionError(f\"{messages[-1]['content']} {os.environ['MY_API_KEY']}\")\n"
    )
    done = cli_inside(
        *("run", "--target", "bot.py:answer", "--cases", plant(tmp_path)),
        *("--protocol", "respond", "--log-dir", "logs"),
        env={"MY_API_KEY": KEY},
    )
    assert done.returncode in {1, 2}, done.stderr
    check_fault(tmp_path, done.stdout + done.stderr)


def test_in_an_error_of_a_command(
    cli_inside: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its frames are shown, and the types of all that it was raised from; no message is."""

    def fail(*_: object, **__: object) -> None:
        try:
            raise KeyError(f"{ASKED} {KEY}")
        except KeyError as error:
            raise ZeroDivisionError(f"{ASKED} {KEY}") from error

    monkeypatch.setattr("casewise.evaluation.plan._plan.make_plan", fail)
    monkeypatch.setattr("casewise.evaluation.make_plan", fail)
    done = cli_inside("run", "--cases", plant(tmp_path), "--dry-run", env={"MY_API_KEY": KEY})
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.index("KeyError") < done.stderr.index("ZeroDivisionError")
    check_fault(tmp_path, done.stdout + done.stderr)
