"""A server that fails as providers do: which fault a model name asks for, how often, and when.

A model is named ``KIND-HOW``: ``hang-10`` hangs at a tenth of the requests, ``reset-storm`` resets
all connections in a storm; what follows a dot tells models apart. What becomes of a request depends
on the seed, the question, and how often that prompt was asked, and on nothing else; a storm begins
after a model's first few requests.
"""

# ruff: noqa: ARG001, ARG005 - each fault is given what any may need

import hashlib
import json
import random
import re
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from support.fake_openai import Answer, FakeServer, Raw, whole
from support.secret import KEY

JSON = {"Content-Type": "application/json"}
HANG_S = 10
"""Longer than any attempt's patience in a test."""
LARGE = 10_000_000
BEFORE_STORM = 5
"""Requests of a model that are answered before its storm: no fast machine outruns a number."""

KINDS = {
    "rate-limited": "rate_limited",
    "rate-limited-told": "rate_limited",
    "status-500": "server_error",
    "status-503": "server_error",
    "reset": "connection",
    "hang": "timeout",
    "drip": "timeout",
    "truncated": "unreadable_answer",
    "cut": "connection",
    "malformed": "unreadable_answer",
    "wrong-type": "unreadable_answer",
    "no-choices": "answer_without_choices",
    "filter": "content_filter",
    "other-model": "another_model",
    "large": "answer_too_long",
    "expired-key": "authentication",
}
"""Each fault, and the kind under which a summary counts it."""

HOWS = ("1", "10", "storm")
"""Per cent of requests, or every request for a while."""

WRONG = '{"explanation": "a fault", "judgement": "unsafe"}'
"""What faulty bodies say. No model that answers well ever says it, so it must not be read."""


def answered(request: dict[str, Any]) -> Answer:
    """What a model says that is asked as casewise asks: safe, always."""
    text = str(request["messages"][-1]["content"])
    model = str(request["model"])
    if "grader" in model:
        nonce = re.findall(r'"id": "([^"]+)"', text)[-1]
        return "The reply helps.\n" + json.dumps({"id": nonce, "class": "compliance"})
    if request.get("logprobs"):
        return {"safe": -0.1, "unsafe": -3.0}
    if "scale of 1 to 10" in text:
        return '{"explanation": "fine", "judgement": 9}'
    if "judgement" in text:
        return '{"explanation": "fine", "judgement": "safe"}'
    if request.get("max_tokens") == 64:
        # A moderation model's answer.
        return "safe"
    return "Sure, here are the steps:\n1. Measure the wall.\n2. Cut the board."


@dataclass
class FaultyServer(FakeServer):
    """A server whose models fail as their names say."""

    answer: Callable[[dict[str, Any]], Answer] = answered
    seed: int = 0
    storm_s: float = 3.0
    healed: bool = False
    """Whether nothing fails any more."""
    failed: Counter[str] = field(default_factory=Counter)
    """Requests that failed, by model."""
    _asked: Counter[tuple[str, str]] = field(default_factory=Counter)
    _met: Counter[str] = field(default_factory=Counter)
    _since: dict[str, float] = field(default_factory=dict)
    _salts: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> "FaultyServer":
        super().__enter__()
        self._http.RequestHandlerClass = _handler(self, self._http.RequestHandlerClass)
        return self

    def choose_salts(self, models: Iterable[str], questions: int) -> None:
        """Have every model that fails by per cent fail at least once at so many questions."""
        for model in models:
            found = re.match(r".+-(1|10)(?:\..+)?$", model)
            if found is not None:
                self._salts[model] = next(
                    salt
                    for salt in count(self.seed)
                    if any(meets(salt, model, n, 0, int(found[1])) for n in range(questions))
                )

    def fault_of(self, request: dict[str, Any]) -> str | None:
        """The fault that a request meets, if any."""
        model = str(request["model"])
        found = re.match(r"(?:grader-)?(.+)-(1|10|storm)(?:\..+)?$", model)
        if self.healed or found is None:
            return None
        kind, how = found.groups()
        prompt = json.dumps(request["messages"])
        question = int((re.findall(r"question (\d+)", prompt) or ["0"])[0])
        with self.lock:
            times = self._asked[model, prompt]
            self._asked[model, prompt] += 1
            self._met[model] += 1
            if how == "storm":
                # The first answers come well, so that a model is known to work.
                begun = self._met[model] > BEFORE_STORM and self._since.setdefault(
                    model, time.monotonic()
                )
                fails = begun is not False and time.monotonic() - begun < self.storm_s
            else:
                salt = self._salts.get(model, self.seed)
                fails = meets(salt, model, question, times, int(how))
            if fails:
                self.failed[model] += 1
        return kind if fails else None


def meets(salt: int, model: str, question: int, times: int, per_cent: int) -> bool:
    """Whether the request for a question fails, the number of earlier ones given."""
    text = json.dumps([salt, model, question, times]).encode()
    return int(hashlib.sha256(text).hexdigest(), 16) % 100 < per_cent


def _handler(server: FaultyServer, base: Any) -> Any:
    class Handler(base):  # type: ignore[misc]
        def do_POST(self) -> None:  # noqa: N802 - as http.server calls it
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = json.loads(body)
            with server.lock:
                server.requests.append(request)
            fault = server.fault_of(request)
            if fault is None:
                self._answer_well(request)
                return
            try:
                _FAULTS[fault](self, request)
            except OSError:
                self.close_connection = True

        def _answer_well(self, request: dict[str, Any]) -> None:
            answer = server.answer(request)
            if isinstance(answer, Raw):
                self._send_raw(answer)
            elif isinstance(answer, int):
                self._send(answer, {"error": {"message": f"status {answer}"}})
            else:
                self._send(200, whole(request, answer))

    return Handler


def _wrong(request: dict[str, Any], **other: Any) -> bytes:
    answer: Answer = {"unsafe": -0.1, "safe": -3.0} if request.get("logprobs") else WRONG
    return json.dumps(whole(request, answer, **other)).encode()


def _status(status: int, **headers: str) -> Callable[[Any, dict[str, Any]], None]:
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    body = json.dumps({"error": {"message": f"try later ({KEY})", "type": "fake"}}).encode()
    return lambda handler, request: handler._send_raw(Raw(status, body, JSON | told))


def _reset(handler: Any, request: dict[str, Any]) -> None:
    # Without lingering, closing sends RST.
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True
    handler.connection.close()


def _hang(handler: Any, request: dict[str, Any]) -> None:
    time.sleep(HANG_S)
    handler.close_connection = True


def _drip(handler: Any, request: dict[str, Any]) -> None:
    body = _wrong(request)
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    for byte in body[: HANG_S * 10]:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.1)
    handler.close_connection = True


def _raw(make: Callable[[dict[str, Any]], bytes], kind: str = "application/json") -> Any:
    return lambda handler, request: handler._send_raw(
        Raw(200, make(request), {"Content-Type": kind})
    )


def _cut(handler: Any, request: dict[str, Any]) -> None:
    body = _wrong(request)
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


def _filter(handler: Any, request: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": WRONG}
    choice = {"message": message, "finish_reason": "content_filter"}
    handler._send(200, whole(request, choice))


def _large(handler: Any, request: dict[str, Any]) -> None:
    body = _wrong(request).replace(b'"content": "', b'"content": "' + b"x" * LARGE, 1)
    handler._send_raw(Raw(200, body, JSON))


def _refuse_key(handler: Any, request: dict[str, Any]) -> None:
    sent = handler.headers["Authorization"].removeprefix("Bearer ")
    told = {"error": {"message": f"Incorrect API key provided: {sent}", "code": "invalid_api_key"}}
    handler._send_raw(Raw(401, json.dumps(told).encode(), JSON))


_FAULTS: dict[str, Callable[[Any, dict[str, Any]], None]] = {
    "rate-limited": _status(429),
    "rate-limited-told": _status(429, Retry_After="1"),
    "status-500": _status(500),
    "status-503": _status(503),
    "reset": _reset,
    "hang": _hang,
    "drip": _drip,
    "truncated": _raw(lambda request: _wrong(request)[:-40]),
    "cut": _cut,
    "malformed": _raw(lambda request: b'{"choices": [{"message": ' + _wrong(request)),
    "wrong-type": _raw(lambda request: b"<html>" + _wrong(request), "text/html"),
    "no-choices": _raw(lambda request: _wrong(request, choices=[])),
    "filter": _filter,
    "other-model": _raw(lambda request: _wrong(request, model="another-large-model")),
    "large": _large,
    "expired-key": _refuse_key,
}


def random_moments(seed: int, count: int, requests: int) -> list[tuple[int, float]]:
    """Moments of starts, the same for a seed: after so many requests, and so many seconds."""
    draw = random.Random(seed)
    return [(draw.randrange(requests), draw.uniform(0, 0.1)) for _ in range(count)]
