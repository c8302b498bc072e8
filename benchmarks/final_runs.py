"""Runs whose provider says something final."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fault_runs import Command
from support.fake_openai import Answer, FakeServer, Raw
from support.fault_runs import write_questions
from support.secret import KEY

from casewise.judgements import read_paths

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
