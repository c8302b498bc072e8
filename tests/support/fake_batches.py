"""OpenAI's Files and Batches interface on loopback.

A batch's requests are answered as live ones are, when it ends. Live requests are served too, and
stand in ``requests``: a run in batches leaves that list empty.
"""

import email
import email.policy
import json
import threading
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


@dataclass
class BatchServer(FakeServer):
    """The same server with the interface."""

    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, FakeBatch] = field(default_factory=dict)
    open: threading.Event = field(default_factory=threading.Event)
    """Batches end only while it is set."""
    calls: list[str] = field(default_factory=list)
    misanswered: dict[str, Raw] = field(default_factory=dict)
    """Answers by method and path, to calls that do nothing."""
    once: bool = False
    """Whether each of these is given once."""

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
                if call in server.misanswered:
                    take = server.misanswered.pop if server.once else server.misanswered.get
                    self._send_raw(take(call))
                    return
                found = _served(server, call, self.headers["Content-Type"] or "", body)
            if isinstance(found, bytes):
                self._send_raw(Raw(200, found, {"Content-Type": "application/octet-stream"}))
            else:
                self._send(200, found)

    return Handler


def _served(server: BatchServer, call: str, kind: str, body: bytes) -> bytes | dict[str, Any]:
    if call == "POST /v1/files":
        return _upload(server, kind, body)
    if call == "POST /v1/batches":
        given = json.loads(body)
        lines = [json.loads(line) for line in server.files[given["input_file_id"]].splitlines()]
        name = f"batch_{len(server.batches) + 1}"
        batch = FakeBatch(name, given["input_file_id"], given["endpoint"], lines)
        server.batches[name] = batch
        return _shown(batch)
    name = call.split("/")[3]
    if name in server.batches:
        return _looked_at(server, server.batches[name])
    return server.files[name]


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
    if server.open.is_set() and batch.status == "in_progress":
        batch.status = "completed"
        results = list[str]()
        for line in batch.lines:
            status, body = server.completion(line["body"])
            response = {"status_code": status, "request_id": "q", "body": body}
            found = {"id": "r", "custom_id": line["custom_id"], "response": response, "error": None}
            results.append(json.dumps(found))
        server.files[f"{batch.id}-out"] = "\n".join(results).encode()
    return _shown(batch)


def _shown(batch: FakeBatch) -> dict[str, Any]:
    ended = batch.status == "completed"
    done = len(batch.lines) if ended else 0
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.endpoint,
        "input_file_id": batch.file,
        "output_file_id": f"{batch.id}-out" if ended else None,
        "completion_window": "24h",
        "created_at": 1,
        "status": batch.status,
        "request_counts": {"total": len(batch.lines), "completed": done, "failed": 0},
    }
