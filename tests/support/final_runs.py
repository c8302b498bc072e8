"""Runs whose provider says something final, or answers oddly to the creation of a batch."""

import json
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.fake_batches import BatchServer, End, cancel
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import Command, write_questions
from support.secret import KEY
from support.starts import PATIENCE_S, Start

from casewise.scores import read_paths

JSON = {"Content-Type": "application/json"}
SAFE = '{"judgement": "safe"}'


def told(status: int, code: str, message: str = "no") -> Raw:
    body = {"error": {"message": message, "type": code, "code": code}}
    return Raw(status, json.dumps(body).encode(), JSON)


FINAL = {
    "quota (429 insufficient_quota)": told(429, "insufficient_quota"),
    "401, a revoked key": told(401, "invalid_api_key"),
    "402, no credit": told(402, "insufficient_credits"),
    "403, no access": told(403, "permission_denied"),
    "404, no such model": told(404, "model_not_found"),
    "400, a gateway's budget": told(400, "budget_exceeded"),
    "200 with an error of 402 within": Raw(
        200, b'{"error": {"code": 402, "message": "Insufficient credits"}}', JSON
    ),
}
"""Answers after which no other request of a run does better."""


@dataclass
class Ending:
    """Answers of a model that has so many, and then a final one."""

    final: Raw
    answers: int
    answered: int = 0
    failed: int = 0
    healed: bool = False

    def __call__(self, request: dict[str, Any]) -> Answer:
        if not self.healed and self.answered >= self.answers:
            self.failed += 1
            return self.final
        self.answered += 1
        return SAFE


class OneByOne(FakeServer):
    """A server that counts its answers exactly."""

    def __init__(self, ending: Ending) -> None:
        super().__init__(self._counted)
        self._ending = ending

    def _counted(self, request: dict[str, Any]) -> Answer:
        with self.lock:
            return self._ending(request)


@dataclass(frozen=True, slots=True)
class FinalOutcome:
    """What one final answer did to a run, and to the same command afterwards."""

    said: str
    cases: int
    answered: int
    further: int
    """Requests after the last answer."""
    connections: int
    status: int
    """Exit status."""
    scored: int
    """Cases judged at the end of the first start."""
    judged: int
    """Cases judged at the end of the second."""
    asked_twice: int
    """Cases answered more than once."""

    @property
    def problems(self) -> list[str]:
        wrong = {
            "more than one further request a connection": self.further > self.connections,
            f"exit status {self.status}": self.status != 1,
            "answers that were not scored": self.scored != self.answered,
            "cases that are not judged once": self.judged != self.cases or self.asked_twice,
        }
        return [f"provider: {self.said}: {what}" for what, is_so in wrong.items() if is_so]


def run_final(
    casewise: Command, folder: Path, said: str, *, cases: int, answers: int, connections: int
) -> FinalOutcome:
    """A run that meets a final answer after some, and the same command once all is well."""
    ending = Ending(FINAL[said], answers)
    path = write_questions(folder / "cases.jsonl", cases)
    with OneByOne(ending) as server:
        name = f"fake{server.port}"
        command = ["run", "-m", f"openai-api/{name}/m", "--cases", path, "--protocol", "binary"]
        command += ["--max-connections", str(connections), "--log-dir", folder / "logs"]
        env = {f"{name.upper()}_API_KEY": KEY, f"{name.upper()}_BASE_URL": server.url}
        first = casewise(*command, env=env)
        assert "Traceback" not in first.stderr, first.stderr
        assert first.stderr.count("not finished: ") == 1, first.stderr
        assert "To go on:" in first.stderr
        scored = _judged(folder)
        ending.healed = True
        second = casewise(*command, env=env)
        assert second.returncode == 0, second.stderr
        further = ending.failed
        answered = ending.answered
    return FinalOutcome(
        said,
        cases,
        answers,
        further,
        connections,
        first.returncode,
        scored,
        _judged(folder),
        answered - cases,
    )


def _judged(folder: Path) -> int:
    table = read_paths([folder / "logs"]).table
    return int((table["status"] == "ok").sum())


CREATED = {
    "HTTP 500": told(500, "server_error"),
    "HTTP 503, not JSON": Raw(503, b"<html>"),
    "HTTP 404": told(404, "not_found"),
    "HTTP 429": told(429, "rate_limit_exceeded"),
    "HTTP 401": told(401, "invalid_api_key"),
    "HTTP 200 with a page": Raw(200, b"<html>", {"Content-Type": "text/html"}),
    "a cut connection": Raw(None),
}
"""Answers to the creation of a batch that the provider took."""

KILLED, CANCELLED = "kill -9 as it is created", "cancelled by somebody, then --resume-cancelled"
ENDS = (*CREATED, KILLED, CANCELLED)


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What became of a run in batches."""

    happened: str
    cases: int
    created: int
    """Batches that were created."""
    sent: int
    """Requests in all of them."""
    judged: int

    @property
    def problems(self) -> list[str]:
        # Half of what was cancelled had its answer; the rest goes as it comes.
        again = self.happened == CANCELLED
        sent = self.cases + (self.cases // 2 if again else 0)
        is_fine = (self.sent, self.judged) == (sent, self.cases) and (again or self.created == 1)
        return [] if is_fine else [f"batches: {self.happened}: {self}"]


def run_batched(
    casewise: Command, folder: Path, happened: str, env: Mapping[str, str], *, cases: int
) -> BatchOutcome:
    """A run in batches to its end, whatever happens to the first batch."""
    path = write_questions(folder / "cases.jsonl", cases)
    wrong = {"POST /v1/batches": CREATED[happened]} if happened in CREATED else {}
    ends: list[End] = [cancel] if happened == CANCELLED else []
    with BatchServer(lambda _: SAFE, misanswered=wrong, ends=ends) as server:
        own = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        own |= {"CASEWISE_BATCH_TICK": "0.2"}
        command = ["run", "-m", "openai/gpt-4o", "--cases", str(path), "--protocol", "binary"]
        command += ["--batch", "--log-dir", str(folder / "logs")]
        if happened == KILLED:
            _kill_at("POST /v1/batches", command, folder, dict(env) | own, server)
        done = casewise(*command, env=own)
        if happened == CANCELLED:
            assert done.returncode == 1, done.stderr
            assert len(server.batches) == 1
            done = casewise(*command, "--resume-cancelled", env=own)
        assert done.returncode == 0, done.stderr
        assert server.requests == []
        created, sent = len(server.batches), len(server.sent)
    return BatchOutcome(happened, cases, created, sent, _judged(folder))


def _kill_at(
    call: str, command: list[str], folder: Path, env: Mapping[str, str], server: BatchServer
) -> None:
    process = Start(command, folder, env)
    latest = time.monotonic() + PATIENCE_S
    while call not in server.calls and time.monotonic() < latest:
        time.sleep(0.002)
    process.kill()
    assert process.wait(PATIENCE_S) == -signal.SIGKILL
