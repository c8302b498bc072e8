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
        self._asked: Counter[str] = Counter()
        self._ends: dict[str, float] = {}
        self._storm_s = storm_s

    def _answer_or_fail(self, request: Request) -> Answer:
        model = str(request["model"])
        prompt = model + json.dumps(request["messages"])
        fault, how = parse_model(model)
        with self.lock:
            self._asked.update((model, prompt))
            if (
                fault not in FAULTS
                or self.healed
                or self._asked[model] <= BEFORE_STORM * (how == "storm")
            ):
                fails = False
            elif how == "storm":
                end = self._ends.setdefault(model, time.monotonic() + self._storm_s)
                fails = time.monotonic() < end
            else:
                drawn = hashlib.sha256(f"{prompt}{self._asked[prompt]}".encode())
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
    return clean_env() | {f"{service}_API_KEY": KEY, f"{service}_BASE_URL": server.url}


def run_faults(how: str, storm_s: float) -> Iterator[tuple[str, Counter[str]]]:
    """One sweep of models with each fault, under each protocol and as graders of replies.

    Yields:
        A fault, and what became of its requests and cases.
    """
    hurried = {PATIENCE_S: ["hang"], UNHURRIED_S: [one for one in FAULTS if one != "hang"]}
    for patience, faults in hurried.items():
        with tempfile.TemporaryDirectory() as name, FaultyServer(storm_s) as server:
            folder = Path(name)
            lines = [
                one | {"cases": "cases.jsonl", "attempt_timeout": patience}
                for one in sweep_lines(how, faults, f"openai-api/fake{server.port}")
            ]
            write_questions(folder / "cases.jsonl", CASES)
            (folder / "sweep.yaml").write_text(json.dumps(lines), "utf-8")
            counted = run_to_end(folder, server)
            rows = read_paths([folder / "logs"]).table.to_dicts()
            for fault in faults:
                yield fault, count(fault, how, server.failed, rows, counted)


def sweep_lines(how: str, faults: list[str], service: str) -> Iterator[dict[str, str]]:
    for fault in faults:
        for protocol in PROTOCOLS:
            model = f"{service}/{fault}-{how}.{protocol}"
            yield {"protocol": protocol, "model": model}
        # A model that answers well, whose replies are graded by one that fails.
        yield {
            **{"protocol": "respond", "delivery": "system"},
            "model": f"{service}/well.{fault}-{how}",
            "grader": f"{service}/grader-{fault}-{how}",
        }


def run_to_end(folder: Path, server: FaultyServer) -> set[tuple[str, str]]:
    """Run the sweep and, if it stopped, again once nothing fails.

    Returns:
        Models and kinds of faults in the first summary.
    """
    command = [sys.executable, "-m", "casewise", "run", "sweep.yaml", "--log-dir", "logs"]
    first, status = "", 1
    for server.healed in (False, True):
        if status:
            env = environment(server)
            done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
            assert KEY not in done.stdout + done.stderr
            assert "Traceback" not in done.stderr, done.stderr
            first, status = first or done.stderr, done.returncode
    assert status == 0, done.stderr
    return {
        (model.rpartition("/")[2], kind)
        for model, kinds in re.findall(r"met on the way: (\S+): (.*)", first)
        for kind in re.findall(r"[\d,]+ ([a-z ]+)", kinds)
    }


def count(
    fault: str,
    how: str,
    failed: Counter[str],
    rows: list[dict[str, Any]],
    counted: set[tuple[str, str]],
) -> Counter[str]:
    """What became of a fault's requests and cases, over all protocols."""
    found, seen = Counter[str](), Counter[tuple[str, ...]]()
    found["cases"] = CASES * (len(PROTOCOLS) + 1)
    for name, number in failed.items():
        if parse_model(name) == (fault, how):
            found["failed requests"] += number
            found["not counted"] += bool(number) and (name, kind_of(fault)) not in counted
    for row in rows:
        if f"{fault}-{how}" not in row["model"]:
            continue
        seen[row["model"], row["protocol"], row["case_id"]] += 1
        is_filtered = row["graded_by"] == "provider"
        if row["status"] == "refused" or is_filtered:
            found["refused"] += 1
        elif row["status"] == "ok":
            found["judged"] += 1
        elif row["error"]:
            found["in error"] += 1
        else:
            # An empty list of choices is an empty answer, which says nothing else.
            found["lost"] += fault != "no-choices"
        wrongly = row["verdict"] == "unsafe" or row["response_class"] in ("refusal", "partial")
        found["invented"] += wrongly and not is_filtered
    found["lost"] += found["cases"] - len(seen)
    found["doubled"] = seen.total() - len(seen)
    return found


def kind_of(fault: str) -> str:
    return FAULTS[fault][0].replace("_", " ")


def kill(kills: int) -> tuple[dict[str, int], list[str]]:
    """``kill -9`` at random moments of one run: what it cost, and what must not be."""

    def answer_slowly(_: Request) -> str:
        time.sleep(0.1)
        return '{"judgement": "safe"}'

    draw = Random(11)
    moments = [(draw.randrange(KILLED_CASES // kills), draw.uniform(0, 0.1)) for _ in range(kills)]
    with tempfile.TemporaryDirectory() as name, FakeServer(answer_slowly) as server:
        folder = Path(name)
        cases = write_questions(folder / "cases.jsonl", KILLED_CASES)
        command = ["run", "-m", f"openai-api/fake{server.port}/well", "--cases", str(cases)]
        command += ["--protocol", "binary", "--max-connections", str(CONNECTIONS)]
        command += ["--log-dir", "logs"]
        ended = killed_starts(command, moments, server, folder, environment(server))
        status = read_paths([folder / "logs"]).table["status"]
    killed = ended.count(-signal.SIGKILL)
    found = {
        **{"kills": killed, "cases": KILLED_CASES, "rows": len(status)},
        "judged": int((status == "ok").sum()),
        "asked again": len(server.requests) - KILLED_CASES,
    }
    bad = []
    if not found["cases"] == found["judged"] == found["rows"]:
        bad.append("kills: not every case is judged once")
    if found["asked again"] > killed * CONNECTIONS:
        bad.append("kills: more was asked again than was in flight")
    return found, bad


NONE_OF = ("lost", "doubled", "invented", "not counted")
COLUMNS = ("cases", "failed requests", "judged", "refused", "in error", *NONE_OF)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--storm", type=float, default=20, help="seconds that a storm lasts")
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    found: dict[str, Counter[str]] = {fault: Counter() for fault in FAULTS}
    for how in HOWS:
        for fault, counts in run_faults(how, options.storm):
            found[fault].update(counts)
    killed, bad = kill(options.kills)
    print(f"| fault | counted as | {' | '.join(COLUMNS)} |\n|---|---|{'---:|' * len(COLUMNS)}")
    for fault, counts in found.items():
        cells = " | ".join(f"{counts[column]:,}" for column in COLUMNS)
        print(f"| {fault} | {kind_of(fault)} | {cells} |")
        bad += [f"{fault}: {counts[one]} {one}" for one in NONE_OF if counts[one]]
    print(", ".join(f"{name}: {n}" for name, n in killed.items()))
    print(*(f"PROBLEM: {problem}" for problem in bad), sep="\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
