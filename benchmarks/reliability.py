"""Every fault of a provider, how often, under every protocol, and kills: ``make reliability``.

    python benchmarks/reliability.py               # all
    python benchmarks/reliability.py --storm 5     # a first look

A server on this machine fails as providers do: a model named ``KIND-HOW`` meets that fault at 1 or
10 per cent of its requests, or at every request for a while (``storm``). Ends with 1 if a case is
lost or doubled, a fault became a verdict, a fault is not counted under its kind, or a kill made
more be asked again than was in flight.
"""

import argparse
import hashlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from conftest import clean_env  # noqa: E402
from support.fake_openai import Answer, FakeServer, Raw, whole  # noqa: E402
from support.fault_runs import write_questions  # noqa: E402
from support.secret import KEY  # noqa: E402
from support.starts import killed_starts  # noqa: E402

from casewise.judgements import read_paths  # noqa: E402

PROTOCOLS = ("binary", "score", "probability", "guard", "respond")
HOWS = ("1", "10", "storm")
CASES, KILLED_CASES, CONNECTIONS = 30, 400, 8
BEFORE_STORM = 5
"""Requests of a model that are answered before its storm, so that it is known to work."""
HANG_S, PATIENCE_S, UNHURRIED_S = 10, 4, 120
"""A hang, and patience with an attempt: shorter than the hang, or longer than any answer takes."""
WRONG = '{"explanation": "a fault", "judgement": "unsafe"}'
"""What faulty answers say. No model that answers well ever says it, so it must not be read."""

Request = dict[str, Any]
Fault = Callable[[Request], Answer]


def answer_well(request: Request) -> Answer:
    """What a model says that is asked as casewise asks: safe, always."""
    text = str(request["messages"][-1]["content"])
    if "grader" in str(request["model"]):
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


def wrong(request: Request, **other: Any) -> bytes:
    answer: Answer = {"unsafe": -0.1, "safe": -3.0} if request.get("logprobs") else WRONG
    return json.dumps(whole(request, answer, **other)).encode()


def body(make: Callable[[Request], bytes], kind: str = "application/json") -> Fault:
    return lambda request: Raw(200, make(request), {"Content-Type": kind})


def status(number: int, code: str, **headers: str) -> Fault:
    error = {"message": f"no ({KEY})", "type": code, "code": code}
    return lambda _: Raw(number, json.dumps({"error": error}).encode(), headers)


def hang(_: Request) -> Answer:
    time.sleep(HANG_S)
    return Raw(None)


FAULTS: dict[str, tuple[str, Fault]] = {
    "rate-limited": ("rate_limited", status(429, "rate_limit", **{"Retry-After": "1"})),
    "status-500": ("server_error", status(500, "server_error")),
    "status-503": ("server_error", status(503, "overloaded")),
    "cut": ("connection", lambda _: Raw(None)),
    "hang": ("timeout", hang),
    "truncated": ("unreadable_answer", body(lambda one: wrong(one)[:-40])),
    "malformed": ("unreadable_answer", body(lambda one: b'{"choices": [{' + wrong(one))),
    "web-page": ("unreadable_answer", body(lambda one: b"<html>" + wrong(one), "text/html")),
    "no-choices": ("answer_without_choices", body(lambda one: wrong(one, choices=[]))),
    "filter": (
        "content_filter",
        lambda _: {"message": {"content": WRONG}, "finish_reason": "content_filter"},
    ),
    "other-model": ("another_model", body(lambda one: wrong(one, model="another-large-model"))),
    "large": ("answer_too_long", lambda _: WRONG + "x" * 10_000_000),
    "expired-key": ("authentication", status(401, "invalid_api_key")),
}
"""Each fault: the kind under which a summary counts it, and what the server answers."""


class FaultyServer(FakeServer):
    """A server whose models fail as their names say, the same way at each start."""

    def __init__(self, storm_s: float) -> None:
        super().__init__(self._answer_or_fail)
        self.failed: Counter[str] = Counter()
        """Requests that failed, by model."""
        self.healed = False
        self._asked: Counter[tuple[str, str]] = Counter()
        self._ends: dict[str, float] = {}
        self._storm_s = storm_s

    def _answer_or_fail(self, request: Request) -> Answer:
        model, prompt = str(request["model"]), json.dumps(request["messages"])
        fault, how = parse_model(model)
        with self.lock:
            self._asked[model, prompt] += 1
            self._asked[model, ""] += 1
            if fault not in FAULTS or self.healed:
                fails = False
            elif how == "storm":
                begins = self._asked[model, ""] > BEFORE_STORM
                end = (
                    self._ends.setdefault(model, time.monotonic() + self._storm_s) if begins else 0
                )
                fails = time.monotonic() < end
            else:
                drawn = hashlib.sha256(f"{model}{prompt}{self._asked[model, prompt]}".encode())
                fails = int(drawn.hexdigest(), 16) % 100 < int(how)
            self.failed[model] += fails
        return FAULTS[fault][1](request) if fails else answer_well(request)


def parse_model(model: str) -> tuple[str, str]:
    """Fault and frequency in a model's name; what follows a dot tells models apart."""
    fault, _, how = model.removeprefix("grader-").split(".")[0].rpartition("-")
    return fault, how or "0"


def environment(server: FakeServer) -> dict[str, str]:
    """Keys of this server alone, under a service of its own."""
    service = f"FAKE{server.port}"
    keys = {f"{service}_API_KEY": KEY, f"{service}_BASE_URL": server.url}
    return clean_env() | keys


def run_faults(how: str, storm_s: float) -> Iterator[tuple[str, dict[str, int]]]:
    """One sweep of models with each fault, under each protocol and as graders of replies.

    Yields:
        A fault, and what became of its requests and cases.
    """
    for faults in ([one for one in FAULTS if one != "hang"], ["hang"]):
        with tempfile.TemporaryDirectory() as name, FaultyServer(storm_s) as server:
            folder = Path(name)
            lines = list(sweep_lines(how, faults, f"openai-api/fake{server.port}"))
            write_questions(folder / "cases.jsonl", CASES)
            (folder / "sweep.yaml").write_text(json.dumps(lines), "utf-8")
            patience = PATIENCE_S if "hang" in faults else UNHURRIED_S
            counted = run_to_end(folder, server, patience)
            table = read_paths([folder / "logs"]).table
            for fault in faults:
                yield fault, count(fault, how, server, table, counted)


def sweep_lines(how: str, faults: list[str], service: str) -> Iterator[dict[str, str]]:
    for fault in faults:
        for protocol in PROTOCOLS:
            model = f"{service}/{fault}-{how}.{protocol}"
            yield {"cases": "cases.jsonl", "protocol": protocol, "model": model}
        # A model that answers well, whose replies are graded by one that fails.
        yield {
            **{"cases": "cases.jsonl", "protocol": "respond", "delivery": "system"},
            **{"model": f"{service}/well.{fault}-{how}"},
            "grader": f"{service}/grader-{fault}-{how}",
        }


def run_to_end(folder: Path, server: FaultyServer, patience: int) -> Counter[tuple[str, str]]:
    """Run the sweep and, if it stopped, again once nothing fails.

    Returns:
        Faults in the first summary, by model and kind.
    """
    command = [sys.executable, "-m", "casewise", "run", "sweep.yaml", "--log-dir", "logs"]
    command += ["--attempt-timeout", str(patience)]
    ended = []
    for server.healed in (False, True):
        env = environment(server)
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        assert KEY not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        ended.append(done)
        if done.returncode == 0:
            break
    assert ended[-1].returncode == 0, ended[-1].stderr
    counted: Counter[tuple[str, str]] = Counter()
    for model, kinds in re.findall(r"met on the way: (\S+): (.*)", ended[0].stderr):
        for number, kind in re.findall(r"([\d,]+) ([a-z ]+)", kinds):
            counted[model.rpartition("/")[2], kind] += int(number.replace(",", ""))
    return counted


def count(
    fault: str,
    how: str,
    server: FaultyServer,
    table: pl.DataFrame,
    counted: Counter[tuple[str, str]],
) -> dict[str, int]:
    """What became of a fault's requests and cases, over all protocols."""
    of_model = (
        pl.col("model").str.split("/").list.last().str.contains(f"{fault}-{how}", literal=True)
    )
    rows = table.filter(of_model).to_dicts()
    kind = FAULTS[fault][0].replace("_", " ")
    names = [name for name in server.failed if parse_model(name) == (fault, how)]
    failed = {name: server.failed[name] for name in names}
    ok = [row for row in rows if row["status"] == "ok" and row["graded_by"] != "provider"]
    refused = [row for row in rows if row["status"] == "refused" or row["graded_by"] == "provider"]
    told = [row for row in rows if row["error"]]
    seen = Counter((row["model"], row["protocol"], row["case_id"]) for row in rows)
    no_answer = fault == "no-choices"
    silent = [row for row in rows if row not in ok + refused + told] if not no_answer else []
    return {
        "cases": CASES * (len(PROTOCOLS) + 1),
        "failed requests": sum(failed.values()),
        "judged": len(ok),
        "refused": len(refused),
        "in error": len(told),
        "lost": CASES * (len(PROTOCOLS) + 1) - len(seen) + len(silent),
        "doubled": sum(number - 1 for number in seen.values()),
        "invented": sum(
            row["verdict"] == "unsafe" or row["response_class"] in ("refusal", "partial")
            for row in rows
            if row["graded_by"] != "provider"
        ),
        "not counted": sum(bool(n) and not counted[name, kind] for name, n in failed.items()),
    }


def kill(kills: int) -> dict[str, int]:
    """``kill -9`` at random moments of one run: what it cost, and whether all was judged once."""

    def answer_slowly(_: Request) -> str:
        time.sleep(0.1)
        return '{"judgement": "safe"}'

    draw = Random(11)
    moments = [(draw.randrange(KILLED_CASES // kills), draw.uniform(0, 0.1)) for _ in range(kills)]
    with tempfile.TemporaryDirectory() as name, FakeServer(answer_slowly) as server:
        folder = Path(name)
        cases = write_questions(folder / "cases.jsonl", KILLED_CASES)
        command: list[str | Path] = [
            "run",
            "-m",
            f"openai-api/fake{server.port}/well",
            "--cases",
            cases,
        ]
        command += ["--protocol", "binary", "--max-connections", str(CONNECTIONS)]
        command += ["--log-dir", "logs"]
        ended = killed_starts(command, moments, server, folder, environment(server))
        table = read_paths([folder / "logs"]).table
    return {
        "kills": ended.count(-signal.SIGKILL),
        "cases": KILLED_CASES,
        "judged": int((table["status"] == "ok").sum()),
        "rows": len(table),
        "asked again": len(server.requests) - KILLED_CASES,
        "in flight at most": ended.count(-signal.SIGKILL) * CONNECTIONS,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--storm", type=float, default=20, help="seconds that a storm lasts")
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    found: dict[str, Counter[str]] = {fault: Counter() for fault in FAULTS}
    for how in HOWS:
        for fault, counts in run_faults(how, options.storm):
            found[fault].update(counts)
    killed = kill(options.kills)
    columns: tuple[str, ...] = (
        "cases",
        "failed requests",
        "judged",
        "refused",
        "in error",
        "lost",
        "doubled",
    )
    columns += ("invented", "not counted")
    print(f"| fault | counted as | {' | '.join(columns)} |\n|---|---|{'---:|' * len(columns)}")
    for fault, counts in found.items():
        cells = " | ".join(f"{counts[column]:,}" for column in columns)
        print(f"| {fault} | {FAULTS[fault][0].replace('_', ' ')} | {cells} |")
    print(", ".join(f"{name}: {n}" for name, n in killed.items()))
    bad = [
        f"{fault}: {counts[column]} {column}"
        for fault, counts in found.items()
        for column in ("lost", "doubled", "invented", "not counted")
        if counts[column]
    ]
    if not killed["cases"] == killed["judged"] == killed["rows"]:
        bad.append("kills: not every case is judged once")
    if killed["asked again"] > killed["in flight at most"]:
        bad.append("kills: more was asked again than was in flight")
    print(*(f"PROBLEM: {problem}" for problem in bad), sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
