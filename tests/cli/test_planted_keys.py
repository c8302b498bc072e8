"""A key that a server repeats, in every kind of answer and every place of it, is found nowhere.

Each place is a case of its own: its server puts the planted key there, whatever the status. All
that the run has written and printed is searched, also inside what is compressed and encoded.
"""

import base64
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from conftest import Cli
from support.fake_openai import Answer, FakeServer, Raw, whole
from support.fault_runs import write_questions
from support.secret import KEY, found_in

pytestmark = [
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


def said(**message: Any) -> dict[str, Any]:
    """A completion that says the key beside its verdict."""
    message = {"role": "assistant", "content": SAFE} | message
    return whole({"model": "m"}, {"message": message})


PASSING: dict[str, Raw] = {
    **{f"{status}: message": error(status) for status in (400, 429, 500)},
    **{f"{status}: page": page(status) for status in (200, 400)},
    "400: code": error(400, code=KEY),
    "400: a detail": raw(400, {"detail": [{"input": {"authorization": f"Bearer {KEY}"}}]}),
    "400: escaped": raw(400, {"error": {"message": quote(f"/v1?key={KEY}&", safe="")}}),
    "400: base64": raw(400, {"error": {"message": f"Basic {BASE64}"}}),
    "400: hexadecimal": raw(400, {"error": {"message": KEY.encode().hex()}}),
    "429: header": raw(429, {}, Retry_After="0", X_Debug=KEY, Set_Cookie=f"key={KEY}"),
    "200: error within": raw(200, {"error": {"message": TOLD, "code": 500}}),
    "200: reply": raw(200, said(content=f"{SAFE} {KEY}")),
    "200: reasoning": raw(200, said(reasoning_content=KEY)),
    "200: refusal": raw(200, said(content=None, refusal=f"{KEY} may not ask this")),
    "200: tool": raw(
        200,
        said(tool_calls=[{"id": KEY, "type": "function", "function": {"name": KEY}}]),
    ),
    "200: id": raw(200, said() | {"id": KEY, "model": f"m-{KEY}"}, X_Request_Id=KEY),
    "200: unknown member": raw(200, said() | {"debug": {"authorization": f"Bearer {KEY}"}}),
    "200: no choices": raw(200, said() | {"choices": [], "note": KEY}),
}
"""Answers that end no run: each comes once to its case, and is followed by a good one."""

FINAL = {
    "401": error(401, code="invalid_api_key"),
    "404": page(404),
    "200": raw(200, {"error": {"message": TOLD, "code": "invalid_api_key"}}),
}


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


def test_in_answers(cli_inside: Cli, tmp_path: Path, soon_again: None) -> None:
    left = dict(enumerate(PASSING.values()))

    def answer(request: dict[str, Any]) -> Answer:
        number = re.findall(r"question (\d+)", str(request["messages"]))[-1]
        return left.pop(int(number), SAFE)

    with FakeServer(answer) as server:
        # Cases that are refused are few beside all others, so that the run goes on.
        shown = ask(cli_inside, tmp_path, server, 10 * len(PASSING))
    assert not left
    check(tmp_path, shown)


@pytest.mark.parametrize("place", FINAL)
def test_in_final_answers(cli_inside: Cli, tmp_path: Path, place: str) -> None:
    with FakeServer(lambda _: FINAL[place]) as server:
        check(tmp_path, ask(cli_inside, tmp_path, server, 1))


OF_TARGET = {
    "reply": raw(200, {"reply": f"Your key is {KEY}.", "id": "1"}),
    "session": raw(200, {"reply": "Hello.", "id": KEY}),
    "elsewhere": Raw(302, b"", {"Location": f"http://{KEY}.example/?key={KEY}"}),
}


@pytest.mark.parametrize("place", OF_TARGET)
def test_in_answers_of_a_target(
    cli_inside: Cli, tmp_path: Path, place: str, soon_again: None
) -> None:
    answers = iter([OF_TARGET[place]])
    good = raw(200, {"reply": "Hello.", "id": "1"})
    with FakeServer(lambda _: next(answers, good)) as server:
        (tmp_path / "target.yaml").write_text(
            f"name: bot\nurl: {server.url}/chat\nheaders: {{X-Key: '{{env:BOT_API_KEY}}'}}\n"
            "body: {messages: '{messages}', session: '{session}'}\nreply: reply\nsession: id\n"
        )
        cases = write_questions(tmp_path / "cases.jsonl", 1)
        done = cli_inside(
            *("run", "--model", "target.yaml", "--cases", cases, "--protocol", "respond"),
            *("--log-dir", "logs"),
            env={"BOT_API_KEY": KEY},
        )
    assert "Traceback" not in done.stderr
    check(tmp_path, done.stdout + done.stderr)


def test_in_an_error_of_a_bot(cli_inside: Cli, tmp_path: Path, soon_again: None) -> None:
    """Neither the key nor the query is printed."""
    (tmp_path / "bot.py").write_text(
        "import os\ndef answer(messages):\n"
        "    raise ZeroDivisionError(f\"{messages[-1]['content']} {os.environ['MY_API_KEY']}\")\n"
    )
    done = cli_inside(
        *("run", "--model", "bot:answer", "--protocol", "respond", "--log-dir", "logs"),
        *("--cases", write_questions(tmp_path / "cases.jsonl", 1)),
        env={"MY_API_KEY": KEY},
    )
    assert done.returncode == 1, done.stderr
    assert "question 0" not in done.stdout + done.stderr
    assert found_in(tmp_path) == []
