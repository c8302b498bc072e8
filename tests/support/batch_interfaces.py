"""Batches of Anthropic, Google, Together and Grok on loopback, in the form that each client reads.

What the clients send is read, and their answers are written, as each provider's own types say. An
answer to the creation of a batch can be wrong or lost, whatever was done.
"""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any, Self

from support.fake_openai import Listening, Raw

ANSWER = '{"judgement": "safe"}'


@dataclass
class Job:
    """One batch, as its provider has it."""

    name: str
    mark: str
    """The name or the file that was given."""
    numbers: list[str]
    began: str
    state: str = "in_progress"

    @property
    def answered(self) -> list[str]:
        """Requests with an answer: half of them where it was cancelled."""
        return self.numbers[:: 2 if self.state == "cancelled" else 1]


@dataclass
class Provider(Listening):
    """A provider of batches; a subclass speaks its interface."""

    wrong: Raw | None = None
    """Answer to every creation, which was done all the same."""
    refuses: int = 0
    """Creations that are refused at first, with ``wrong``, and not done."""
    ends: list[str] = field(default_factory=list)
    """States in which the batches end, the first one first; those after them are completed."""
    jobs: dict[str, Job] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    creations: int = 0
    calls: list[str] = field(default_factory=list)
    open: threading.Event = field(default_factory=threading.Event)
    """Batches end only while it is set."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    port: int = 0

    def __post_init__(self) -> None:
        self.open.set()

    @property
    def sent(self) -> int:
        """Requests in all batches."""
        return sum(len(job.numbers) for job in self.jobs.values())

    def create(self, mark: str, numbers: list[str]) -> Job | None:
        """A new batch; None where it is refused."""
        self.creations += 1
        if self.refuses:
            self.refuses -= 1
            return None
        name = f"batch_{len(self.jobs) + 1}"
        began = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        job = self.jobs[name] = Job(name, mark, numbers, began)
        return job

    def look(self, name: str) -> Job | None:
        """A batch, which ends when it is looked at."""
        job = self.jobs.get(name)
        if job is not None and job.state == "in_progress" and self.open.is_set():
            job.state = self.ends.pop(0) if self.ends else "completed"
        return job

    def serve(self, call: str, headers: Any, body: bytes) -> Raw:
        """Answer to a request."""
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        """Variables that lead the client here."""
        raise NotImplementedError

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handler(self) -> type[BaseHTTPRequestHandler]:
        return _handler(self)


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _any(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            call = f"{self.command} {self.path.split('?')[0]}"
            with provider.lock:
                provider.calls.append(call)
                raw = provider.serve(call, self.headers, body)
            if raw.status is None:
                self.close_connection = True
                return
            self.send_response(raw.status)
            for name, value in raw.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw.body)))
            self.end_headers()
            self.wfile.write(raw.body)

        do_GET = do_POST = do_PUT = _any  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


def _json(body: Any, **headers: str) -> Raw:
    told = {"Content-Type": "application/json"} | headers
    return Raw(200, json.dumps(body).encode(), told)


def _jsonl(lines: list[Any]) -> Raw:
    return Raw(200, "\n".join(map(json.dumps, lines)).encode(), {"Content-Type": "text/plain"})


_NO_SUCH = Raw(404, b'{"error": {"type": "not_found_error", "message": "no such thing"}}', {})


def _read(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


@dataclass
class Anthropic(Provider):
    """Anthropic's Message Batches."""

    model = "anthropic/claude-haiku-4-5"

    def environment(self) -> dict[str, str]:
        return {"ANTHROPIC_BASE_URL": self.url}

    def serve(self, call: str, headers: Any, body: bytes) -> Raw:
        place = "/v1/messages/batches"
        if call == f"POST {place}":
            numbers = [request["custom_id"] for request in json.loads(body)["requests"]]
            job = self.create("", numbers)
            return self.wrong or _json(self._told(job))
        if call == f"GET {place}":
            newest = [self._told(job) for job in reversed(self.jobs.values())]
            page = {"first_id": "a", "last_id": "b", "has_more": False}
            return _json({"data": newest} | page)
        name = call.split("/")[4]
        job = self.look(name)
        if job is None:
            return _NO_SUCH
        return _jsonl(self._lines(job)) if call.endswith("/results") else _json(self._told(job))

    def _told(self, job: Job | None) -> dict[str, Any]:
        assert job is not None
        ended = job.state != "in_progress"
        counts = {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
        counts["succeeded" if ended else "processing"] = len(job.answered)
        counts["canceled"] = len(job.numbers) - len(job.answered)
        return {
            "id": job.name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": counts,
            "created_at": job.began,
            "expires_at": job.began,
            "ended_at": job.began if ended else None,
            "archived_at": None,
            "cancel_initiated_at": job.began if job.state == "cancelled" else None,
            "results_url": f"{self.url}/v1/messages/batches/{job.name}/results" if ended else None,
        }

    def _lines(self, job: Job) -> list[Any]:
        message = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": ANSWER}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 5},
        }
        return [
            {
                "custom_id": number,
                "result": {"type": "succeeded", "message": message}
                if number in job.answered
                else {"type": "canceled"},
            }
            for number in job.numbers
        ]


@dataclass
class Together(Provider):
    """Together's files and batches."""

    model = "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"

    def environment(self) -> dict[str, str]:
        return {"TOGETHER_BASE_URL": f"{self.url}/v1"}

    def serve(self, call: str, headers: Any, body: bytes) -> Raw:
        path = call.split(" ")[1]
        if call == "POST /v1/files":
            name = f"file-{len(self.files) + 1}"
            self.files[name] = b""
            to = {"Location": f"{self.url}/upload/{name}", "X-Together-File-Id": name}
            return Raw(302, b"", to)
        if call.startswith("PUT /upload/"):
            self.files[path.split("/")[-1]] = body
            return Raw(200)
        if path.endswith("/preprocess"):
            told = {"FileType": "jsonl", "Processed": True, "bytes": 1, "created_at": 0}
            told |= {"filename": "requests.jsonl", "object": "file", "purpose": "batch-api"}
            return _json({"id": path.split("/")[3]} | told)
        if call == "POST /v1/batches":
            given = json.loads(body)
            lines = _read(self.files[given["input_file_id"]])
            job = self.create(given["input_file_id"], [line["custom_id"] for line in lines])
            return self.wrong or _json({"job": self._told(job)})
        if call == "GET /v1/batches":
            return _json([self._told(job) for job in self.jobs.values()])
        if path.endswith("/content"):
            return _jsonl(self._lines(self.jobs[path.split("/")[3].removesuffix("-out")]))
        job = self.look(path.split("/")[3])
        return _NO_SUCH if job is None else _json(self._told(job))

    def _told(self, job: Job | None) -> dict[str, Any]:
        assert job is not None
        ended = job.state != "in_progress"
        return {
            "id": job.name,
            "status": job.state.upper(),
            "input_file_id": job.mark,
            "endpoint": "/v1/chat/completions",
            "created_at": job.began,
            "output_file_id": f"{job.name}-out" if ended else None,
        }

    def _lines(self, job: Job) -> list[Any]:
        body = {
            "id": "fake",
            "object": "chat.completion",
            "created": 0,
            "model": self.model.removeprefix("together/"),
            "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": ANSWER},
                }
            ],
        }
        answer = {"status_code": 200, "body": body}
        return [{"custom_id": number, "response": answer} for number in job.answered]


@dataclass
class Google(Provider):
    """Gemini's files and batches."""

    model = "google/gemini-2.5-flash"

    def environment(self) -> dict[str, str]:
        return {"GOOGLE_BASE_URL": self.url}

    def serve(self, call: str, headers: Any, body: bytes) -> Raw:
        path = call.split(" ")[1]
        if call.startswith("POST /upload/"):
            return _json({}, **{"x-goog-upload-url": f"{self.url}/put"})
        if path == "/put":
            name = f"files/f{len(self.files) + 1}"
            self.files[name] = body
            told = {"X-Goog-Upload-Status": "final"}
            return _json({"file": {"name": name, "mimeType": "application/jsonl"}}, **told)
        if path.endswith(":batchGenerateContent"):
            given = json.loads(body)["batch"]
            lines = _read(self.files[given["inputConfig"]["fileName"]])
            job = self.create(given["displayName"], [line["key"] for line in lines])
            return self.wrong or _json(self._told(job))
        if path.endswith("/batches"):
            return _json({"operations": [self._told(job) for job in self.jobs.values()]})
        if path.endswith(":download"):
            name = path.split("/")[-1].split("-out")[0]
            return _jsonl(self._lines(self.jobs[name]))
        job = self.look(path.split("/")[-1])
        return _NO_SUCH if job is None else _json(self._told(job))

    def _told(self, job: Job | None) -> dict[str, Any]:
        assert job is not None
        state = {
            "in_progress": "RUNNING",
            "completed": "SUCCEEDED",
            "cancelled": "CANCELLED",
            "expired": "EXPIRED",
            "failed": "FAILED",
        }[job.state]
        metadata: dict[str, Any] = {
            "displayName": job.mark,
            "state": f"BATCH_STATE_{state}",
            "createTime": job.began,
            "model": "models/gemini-2.5-flash",
        }
        if job.state == "completed":
            metadata["output"] = {"responsesFile": f"files/{job.name}-out"}
        return {"name": f"batches/{job.name}", "metadata": metadata}

    def _lines(self, job: Job) -> list[Any]:
        response = {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [{"text": ANSWER}]},
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "modelVersion": "gemini-2.5-flash",
            "usageMetadata": {
                "promptTokenCount": 100,
                "candidatesTokenCount": 5,
                "totalTokenCount": 105,
            },
        }
        return [{"key": number, "response": response} for number in job.answered]


@dataclass
class Grok(Provider):
    """Grok's batches, over gRPC; ``wrong`` is a status whose name says the code."""

    model = "grok/grok-4"
    adds_wrong: int = 0
    """Requests whose adding is answered with an error, though it was done."""

    def environment(self) -> dict[str, str]:
        return {"XAI_BASE_URL": f"127.0.0.1:{self.port}"}

    def __enter__(self) -> Self:
        import grpc
        from xai_sdk.proto import batch_pb2_grpc

        self._grpc = grpc.server(ThreadPoolExecutor(8))
        batch_pb2_grpc.add_BatchMgmtServicer_to_server(_servicer(self), self._grpc)
        self.port = self._grpc.add_insecure_port("127.0.0.1:0")
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._grpc.stop(None).wait()


def _servicer(provider: Grok) -> Any:
    import grpc
    from xai_sdk.proto import batch_pb2, batch_pb2_grpc, chat_pb2

    def fail(context: Any, raw: Raw) -> None:
        codes = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        name = codes.get(raw.status or 503, "INTERNAL")
        context.abort(getattr(grpc.StatusCode, name), "no")

    def told(job: Job) -> Any:
        done = 0 if job.state == "in_progress" else len(job.answered)
        cancelled = len(job.numbers) - len(job.answered)
        state = batch_pb2.BatchState(
            num_requests=len(job.numbers),
            num_pending=len(job.numbers) - done - cancelled,
            num_success=done,
            num_cancelled=cancelled,
        )
        batch = batch_pb2.Batch(batch_id=job.name, name=job.mark, state=state)
        batch.create_time.FromJsonString(job.began)
        if job.state == "cancelled":
            batch.cancel_time.FromJsonString(job.began)
        return batch

    class Servicer(batch_pb2_grpc.BatchMgmtServicer):  # type: ignore[misc]
        def CreateBatch(self, request: Any, context: Any) -> Any:  # noqa: N802
            with provider.lock:
                job = provider.create(request.name, [])
            if provider.wrong is not None:
                fail(context, provider.wrong)
            return told(job) if job is not None else None

        def AddBatchRequests(self, request: Any, context: Any) -> Any:  # noqa: N802
            with provider.lock:
                provider.calls.append("add")
                numbers = [one.batch_request_id for one in request.batch_requests]
                provider.jobs[request.batch_id].numbers.extend(numbers)
                provider.adds_wrong -= 1
                is_wrong = provider.adds_wrong >= 0
            if is_wrong:
                fail(context, Raw(503))
            return batch_pb2_grpc.google_dot_protobuf_dot_empty__pb2.Empty()

        def GetBatch(self, request: Any, context: Any) -> Any:  # noqa: N802
            with provider.lock:
                provider.calls.append("get")
                job = provider.look(request.batch_id)
            assert job is not None
            return told(job)

        def ListBatches(self, request: Any, context: Any) -> Any:  # noqa: N802
            return batch_pb2.ListBatchesResponse(batches=[*map(told, provider.jobs.values())])

        def ListBatchRequestMetadata(self, request: Any, context: Any) -> Any:  # noqa: N802
            held = [
                batch_pb2.BatchRequestMetadata(batch_request_id=number)
                for number in provider.jobs[request.batch_id].numbers
            ]
            return batch_pb2.ListBatchRequestMetadataResponse(batch_request_metadata=held)

        def ListBatchResults(self, request: Any, context: Any) -> Any:  # noqa: N802
            job, results = provider.jobs[request.batch_id], []
            for number in job.numbers:
                result = batch_pb2.BatchResult(batch_request_id=number)
                if number in job.answered:
                    message = chat_pb2.CompletionMessage(content=ANSWER, role=2)
                    output = chat_pb2.CompletionOutput(message=message, finish_reason=1)
                    response = chat_pb2.GetChatCompletionResponse(model="grok-4", outputs=[output])
                    result.response.completion_response.CopyFrom(response)
                else:
                    result.error.code, result.error.message = 1, "cancelled"
                results.append(result)
            return batch_pb2.ListBatchResultsResponse(results=results)

    return Servicer()


PROVIDERS: dict[str, Callable[..., Provider]] = {
    "anthropic": Anthropic,
    "google": Google,
    "grok": Grok,
    "together": Together,
}
"""Interfaces by provider."""
