"""OpenAI's Files and Batches interface on loopback: what is sent, and how each batch ends.

A batch's requests are answered as live ones are, when it ends. Live requests are served too, and
stand in ``requests``: a run in batches leaves that list empty.
"""

import email
import email.policy
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from support.fake_openai import FakeServer, Raw


@dataclass
class FakeBatch:
    """One batch, as the provider has it."""

    id: str
    file: str
    endpoint: str
    lines: list[dict[str, Any]]
    status: str = "in_progress"
    results: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    reasons: list[dict[str, str]] = field(default_factory=list)
    """Why it was not taken."""

    def fail(self, line: dict[str, Any], code: str, message: str) -> None:
        """A request that was never answered."""
        error = {"code": code, "message": message}
        found = {"id": "r", "custom_id": line["custom_id"], "response": None, "error": error}
        self.errors.append(json.dumps(found))

    def answer(self, line: dict[str, Any], body: dict[str, Any], status: int = 200) -> None:
        """A request with an answer, or with an HTTP status of an error."""
        response = {"status_code": status, "request_id": "q", "body": body}
        found = {"id": "r", "custom_id": line["custom_id"], "response": response, "error": None}
        (self.results if status < 400 else self.errors).append(json.dumps(found))


End = Callable[["BatchServer", FakeBatch], None]
"""Ends a batch: sets its status and results."""


def complete(server: "BatchServer", batch: FakeBatch) -> None:
    """Answer every request of a batch."""
    for line in batch.lines:
        status, body = server.completion(line["body"])
        batch.answer(line, body, status)
    batch.status = "completed"


def cancel(server: "BatchServer", batch: FakeBatch) -> None:
    """Somebody cancels it when half is answered."""
    for line in batch.lines[::2]:
        status, body = server.completion(line["body"])
        batch.answer(line, body, status)
    batch.status = "cancelled"


@dataclass
class BatchServer(FakeServer):
    """The same server with the interface."""

    ends: list[End] = field(default_factory=list)
    """How the batches end, the first one first; those after them are completed."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, FakeBatch] = field(default_factory=dict)
    looks: int = 1
    """How often a batch is asked for before it ends."""
    open: threading.Event = field(default_factory=threading.Event)
    """Batches end only while it is set."""
    seen: dict[str, int] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    """By method and path, a status to fail with."""
    calls: list[str] = field(default_factory=list)
    swallowed: set[str] = field(default_factory=set)
    """Methods and paths that do what they should, and cut the connection."""
    misanswered: dict[str, Raw] = field(default_factory=dict)
    """By method and path, an answer to what was done all the same."""

    def __post_init__(self) -> None:
        self.open.set()

    @property
    def sent(self) -> list[str]:
        """The prompts of all batches."""
        return [
            line["body"]["messages"][-1]["content"]
            for batch in self.batches.values()
            for line in batch.lines
        ]

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """What answers each connection."""
        return _handler(self, super().handler())


def _handler(
    server: BatchServer, live: type[BaseHTTPRequestHandler]
) -> type[BaseHTTPRequestHandler]:
    class Handler(live):  # type: ignore[misc, valid-type]
        def do_POST(self) -> None:  # noqa: N802
            if not self.path.startswith(("/v1/files", "/v1/batches")):
                super().do_POST()
                return
            self._batched(self.rfile.read(int(self.headers["Content-Length"])))

        def do_GET(self) -> None:  # noqa: N802
            self._batched(b"")

        def _batched(self, body: bytes) -> None:
            call = f"{self.command} {self.path.split('?')[0]}"
            with server.lock:
                server.calls.append(call)
                status = server.statuses.get(call)
                if status is not None:
                    error = {"message": f"status {status}", "type": "fake"}
                    self._send(status, {"error": error})
                    return
                found = _served(server, call, self.headers["Content-Type"] or "", body)
            if call in server.misanswered:
                self._send_raw(server.misanswered[call])
            elif call in server.swallowed:
                self.close_connection = True
            elif isinstance(found, bytes):
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)
            elif found is None:
                self._send(404, {"error": {"message": "no such thing", "type": "fake"}})
            else:
                self._send(200, found)

    return Handler


def _served(
    server: BatchServer, call: str, kind: str, body: bytes
) -> bytes | dict[str, Any] | None:
    path = call.split(" /v1/")[1].split("/")
    if call == "POST /v1/files":
        return _upload(server, kind, body)
    if call == "POST /v1/batches":
        given = json.loads(body)
        lines = [json.loads(line) for line in server.files[given["input_file_id"]].splitlines()]
        name = f"batch_{len(server.batches) + 1}"
        batch = FakeBatch(name, given["input_file_id"], given["endpoint"], lines)
        server.batches[name] = batch
        return _shown(batch)
    if call == "GET /v1/batches":
        newest = [_shown(one) for one in reversed(server.batches.values())]
        return {"object": "list", "data": newest, "has_more": False}
    if path[0] == "batches" and path[1] in server.batches:
        return _looked_at(server, server.batches[path[1]])
    if path[0] == "files" and path[-1] == "content":
        return server.files.get(path[1])
    return None


def _upload(server: BatchServer, kind: str, body: bytes) -> dict[str, Any]:
    whole = f"Content-Type: {kind}\r\n\r\n".encode() + body
    message = email.message_from_bytes(whole, policy=email.policy.HTTP)
    parts = {
        part.get_param("name", header="content-disposition"): part.get_payload(decode=True)
        for part in message.iter_parts()
    }
    assert parts["purpose"] == b"batch"
    name, data = f"file-{len(server.files) + 1}", parts["file"]
    assert isinstance(data, bytes)
    server.files[name] = data
    return {"id": name, "object": "file", "purpose": "batch", "bytes": len(data)} | {
        "created_at": 0,
        "filename": "requests.jsonl",
        "status": "processed",
    }


def _looked_at(server: BatchServer, batch: FakeBatch) -> dict[str, Any]:
    server.seen[batch.id] = server.seen.get(batch.id, 0) + 1
    ripe = server.seen[batch.id] > server.looks and server.open.is_set()
    if ripe and batch.status == "in_progress":
        end = server.ends.pop(0) if server.ends else complete
        end(server, batch)
        for name, lines in (("out", batch.results), ("err", batch.errors)):
            if lines:
                server.files[f"{batch.id}-{name}"] = "\n".join(lines).encode()
    return _shown(batch)


def _shown(batch: FakeBatch) -> dict[str, Any]:
    files = {
        "output_file_id": f"{batch.id}-out" if batch.results else None,
        "error_file_id": f"{batch.id}-err" if batch.errors else None,
    }
    counts = {
        "total": len(batch.lines),
        "completed": len(batch.results),
        "failed": len(batch.errors),
    }
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "input_file_id": batch.file,
        "completion_window": "24h",
        "created_at": 1,
        "status": batch.status,
        "request_counts": counts,
        "errors": {"object": "list", "data": batch.reasons} if batch.reasons else None,
    } | files
