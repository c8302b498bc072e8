"""An OpenAI-compatible server on loopback: real HTTP, answers that the test decides."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from support.secret import KEY


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer byte for byte; without a status, the connection is cut instead."""

    status: int | None
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


_USAGE = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105}

Answer = str | dict[str, float] | dict[str, Any] | int | Raw
"""A text; or the first token's {token: logprob}; or a whole choice (with "message", and "usage");
or an HTTP status to fail with; or anything else that a server may send."""


class Listening:
    """HTTP on loopback while it is entered; a subclass gives what answers."""

    port: int
    """Where it listens; 0 is any that is free."""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """What answers each connection."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._http = _QuietServer(("127.0.0.1", self.port), self.handler())
        self.port = self._http.server_address[1]
        self._thread = serving_thread(self._http)
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@dataclass
class FakeServer(Listening):
    """Requests received, and the address to send them to."""

    answer: Callable[[dict[str, Any]], Answer]
    requests: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def env(self) -> dict[str, str]:
        """What a command needs to ask ``openai-api/fake/...`` here."""
        return {"FAKE_API_KEY": KEY, "FAKE_BASE_URL": self.url}

    @property
    def prompts(self) -> list[str]:
        """The last message of each request."""
        return [str(request["messages"][-1]["content"]) for request in self.requests]

    def handler(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)

    def completion(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Status and body of the answer to a request."""
        return _response(self.answer(request), request)


class HeldServer(FakeServer):
    """A server that answers so many requests, and holds all later ones until it is freed.

    What a process has done by then is final: it can be read, stopped or killed at leisure.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Answer], answers: int) -> None:
        super().__init__(self._answer_or_hold)
        self.answers = answers
        self.free = threading.Event()
        self._answer = answer
        self._left = answers

    def _answer_or_hold(self, request: dict[str, Any]) -> Answer:
        with self.lock:
            self._left -= 1
            is_held = self._left < 0
        if is_held:
            self.free.wait(_LONGEST_S)
        return self._answer(request)

    def __exit__(self, *told: object) -> None:
        self.free.set()
        super().__exit__(*told)


_LONGEST_S = 300


def serving_thread(http: ThreadingHTTPServer) -> threading.Thread:
    """Start to serve, in a thread that ends soon after the server is told to shut down.

    It looks whether it was told at each interval, which is half a second if none is given.
    """
    thread = threading.Thread(target=http.serve_forever, args=[0.02], daemon=True)
    thread.start()
    return thread


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was stopped leaves broken connections: nothing to say about them."""


def _response(answer: Answer, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    if isinstance(answer, Raw):
        return answer.status or 500, json.loads(answer.body)
    if isinstance(answer, int):
        return answer, {"error": {"message": f"status {answer}", "type": "fake"}}
    return 200, whole(request, answer)


def whole(request: dict[str, Any], answer: Answer, **other: Any) -> dict[str, Any]:
    """A completion as it should be, but for what is given."""
    choice = _choice(answer, request)
    return {
        "id": "fake",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "usage": choice.pop("usage", _USAGE),
        "choices": [choice],
    } | other


def _choice(answer: Answer, request: dict[str, Any]) -> dict[str, Any]:
    if isinstance(answer, str):
        return _text(answer)
    assert isinstance(answer, dict)
    if "message" in answer:
        return {"index": 0, "finish_reason": "stop", "logprobs": None} | answer
    best = max(answer, key=lambda token: answer[token])
    choice = _text(best)
    if request.get("logprobs"):
        tops = [_token(token, logprob) for token, logprob in answer.items()]
        choice["logprobs"] = {"content": [_token(best, answer[best]) | {"top_logprobs": tops}]}
    return choice


def _token(token: str, logprob: float) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "bytes": list(token.encode())}


def _text(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}


def _handler(server: FakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body are sent apart: else the body waits 40 ms, until the head is acknowledged.
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            request = json.loads(body)
            with server.lock:
                server.requests.append(request)
            answer = server.answer(request)
            if isinstance(answer, Raw):
                self._send_raw(answer)
                return
            self._send(*_response(answer, request))

        def _send_raw(self, raw: Raw) -> None:
            self.close_connection = True
            if raw.status is None:
                return
            self.send_response(raw.status)
            for name, value in raw.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw.body)))
            # Told, or the next attempt may be sent into a connection that is being closed.
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(raw.body)

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
