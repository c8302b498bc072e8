"""Bots behind addresses of their own, over real HTTP, that draw a line which is known.

Three of them: one speaks OpenAI's form, one its own JSON with sessions, one streams lines.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import yaml
from conftest import ROOT
from support.fake_openai import FakeServer, Raw, _text

DATA = ROOT / "src/casewise/data"
CARDS = tuple(sorted(path.stem for path in (DATA / "cards").glob("*.yaml")))

ANSWER = "Sure, here are the steps:\n1. Open the page of the order.\n2. Choose what you need."
REFUSE = "I'm sorry, but I can't help with that."
PARTIAL = (
    "I can't give you exact amounts or a plan for that. What I can do is explain how it works in "
    "general: it is best to ask whoever gave it to you, and to write your questions down first."
)
SAID = {"answer": ANSWER, "refuse": REFUSE, "partial": PARTIAL}
CLASSES = {"answer": "compliance", "refuse": "refusal", "partial": "partial"}
RULES = {"allowed": "answer", "disallowed": "refuse", "partly": "partial"}

Line = Mapping[tuple[str, ...], str]
"""What the deployer wants (answer, refuse, partial), by all that the user has said."""


def card_of(name: str) -> dict[str, tuple[tuple[str, ...], str]]:
    """Each case of a card: all that the user says in it, and the rule of its line."""
    card = yaml.safe_load((DATA / f"cards/{name}.yaml").read_text("utf-8"))
    rules = {line["id"]: line["rule"] for line in card["lines"]}
    found = {}
    for case in card["cases"]:
        history = case.get("history", ())
        said = (turn["content"] for turn in history if turn["role"] == "user")
        found[case["id"]] = (*said, case["query"]), rules[case["line"]]
    return found


def script_of(name: str) -> list[dict[str, str]]:
    """The turns of a card's script: what the user says, and what is expected."""
    text = (DATA / f"scripts/{name}.yaml").read_text("utf-8")
    return list(yaml.safe_load(text)["turns"])


def line_of(card: str) -> dict[tuple[str, ...], str]:
    """The line that a card draws, over its cases and its script."""
    known = {said: RULES[rule] for said, rule in card_of(card).values()}
    said: list[str] = []
    for turn in script_of(card):
        said.append(turn["user"])
        known[tuple(said)] = "answer" if turn["expect"] == "either" else turn["expect"]
    return known


def wanted_by_case(card: str) -> dict[str, str]:
    """The class of reply that each case of a card asks for."""
    return {case: CLASSES[RULES[rule]] for case, (_, rule) in card_of(card).items()}


@dataclass
class BotServer(FakeServer):
    """A server that keeps how it was asked, by whatever method; some answers come in pieces."""

    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, path and headers of each request."""

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handler(self) -> type[BaseHTTPRequestHandler]:
        server, base = self, super().handler()

        class Handler(base):  # type: ignore[misc, valid-type]
            def do_POST(self) -> None:  # noqa: N802 - as http.server calls it
                self._keep()
                super().do_POST()

            def do_GET(self) -> None:  # noqa: N802
                self._keep()
                answer = server.answer({"path": self.path})
                assert isinstance(answer, Raw)
                self._send_raw(answer)

            def _keep(self) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                with server.lock:
                    server.asked.append((self.command, self.path, headers))

            def _send_raw(self, raw: Raw) -> None:
                if not raw.headers.get("Content-Type", "").startswith("text/event-stream"):
                    super()._send_raw(raw)
                    return
                self.close_connection = True
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                # In pieces that end anywhere, as networks cut them.
                for start in range(0, len(raw.body), 37):
                    self.wfile.write(raw.body[start : start + 37])
                    self.wfile.flush()

        return Handler


JSON = {"Content-Type": "application/json"}


def told(value: object, status: int = 200, **headers: str) -> Raw:
    """An answer in JSON."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Raw(status, json.dumps(value).encode(), JSON | named)


def openai_bot(line: Line) -> BotServer:
    """Answers in OpenAI's form, by the whole conversation."""

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        said = tuple(
            message["content"] for message in request["messages"] if message["role"] == "user"
        )
        return _text(SAID[line.get(said, "answer")])

    return BotServer(answer)


OPENAI_TARGET = """\
name: openai-form
url: "{url}/v1/chat/completions"
headers:
  Authorization: Bearer {{env:BOT_KEY}}
body:
  model: support
  messages: "{{messages}}"
  max_tokens: "{{max_tokens}}"
  temperature: "{{temperature}}"
reply: choices[0].message.content
refused: choices[0].finish_reason == 'content_filter'
usage: {{input: usage.prompt_tokens, output: usage.completion_tokens}}
"""


class SessionBot:
    """Keeps its own history, under ids of its own, and says itself that it declined."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.sessions: dict[str, list[str]] = {}
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> Raw:
        with self._lock:
            name = request.get("conversation") or f"c{len(self.sessions)}"
            said = self.sessions.setdefault(name, [])
            said.append(request["question"])
        # A turn of the past is answered as well.
        wanted = self.line.get(tuple(said), "answer")
        if wanted == "refuse":
            return told({"conversation": name, "status": "declined", "answer": {"text": "No."}})
        return told({"conversation": name, "status": "ok", "answer": {"text": SAID[wanted]}})


SESSION_TARGET = """\
name: own-json
url: "{url}/ask"
headers:
  X-Api-Key: {{env: BOT_KEY}}
body:
  question: {{last}}
  instructions: {{system}}
  conversation: {{session}}
session: conversation
history: replay
reply: answer.text
refused: status == 'declined'
"""


def stream_bot(line: Line) -> BotServer:
    """Streams its reply as server-sent events, by the conversation as one text."""

    def answer(request: dict[str, Any]) -> Raw:
        text = request["prompt"]
        known = [
            said for said in line if text.endswith(said[-1]) and all(one in text for one in said)
        ]
        reply = SAID[line[max(known, key=len)] if known else "answer"]
        pieces = [reply[start : start + 9] for start in range(0, len(reply), 9)]
        events = [{"delta": piece} for piece in pieces] + [{"tokens": {"in": 7, "out": 9}}]
        lines = [": ping", "event: message", *(f"data: {json.dumps(event)}" for event in events)]
        body = "\n\n".join([*lines, "data: [DONE]", ""])
        return Raw(200, body.encode(), {"Content-Type": "text/event-stream; charset=utf-8"})

    return BotServer(answer)


STREAM_TARGET = """\
name: streams
url: "{url}/stream"
headers:
  Cookie: "login={{env:BOT_KEY}}"
body: {{prompt: "{{text}}", stream: true}}
stream: true
end: "[DONE]"
reply: delta
usage: {{input: tokens.in, output: tokens.out}}
"""


def write_target(folder: Path, text: str, server: FakeServer, **changed: Any) -> Path:
    """A target's file for a server; fields that are given as None are left out."""
    spec = yaml.safe_load(text.format(url=f"http://127.0.0.1:{server.port}"))
    spec = {name: value for name, value in {**spec, **changed}.items() if value is not None}
    path = folder / f"{spec['name']}.yaml"
    path.write_text(yaml.safe_dump(spec), "utf-8")
    return path


BOTS: dict[str, tuple[Callable[[Line], FakeServer], str]] = {
    "openai-form": (openai_bot, OPENAI_TARGET),
    "own-json": (lambda line: BotServer(SessionBot(line)), SESSION_TARGET),
    "streams": (stream_bot, STREAM_TARGET),
}
"""Each bot, and the target that describes it."""
