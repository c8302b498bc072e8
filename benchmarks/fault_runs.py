"""Run commands against a failing server, and hold what they leave to what was asked."""

# ruff: noqa: ARG001 - each fault is given what any may need

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from faulty import KINDS, FaultyServer
from support.fault_runs import write_questions
from support.secret import KEY

from casewise.judgements import read_paths
from casewise.logs import read_header, runs_of

Command = Callable[..., CompletedProcess[str]]
"""``casewise`` with arguments and ``env``."""

SILENT = ("hang", "drip")
"""Faults that nothing but the patience with an attempt ends."""

PATIENCE_S, UNHURRIED_S = 4, 120
"""Patience with an attempt: shorter than a hang, and longer than the slowest machine takes. With
the short one a loaded machine gives attempts up before it reads what the server failed them with,
and counts timeouts instead of that fault."""

STOPS = ("expired-key",)
"""Faults that end a run: no later request would do better."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one model's fault did to one command under one protocol."""

    command: str
    protocol: str
    model: str
    cases: int
    failed: int
    """Requests that the server failed."""
    counted: Mapping[str, int]
    """Faults in the summary, by kind; of all protocols of the model."""
    judged: int
    refused: int
    """Stopped by the provider's filter."""
    errors: Mapping[str, int]
    lost: int
    """Cases without a row, or with one that says neither a verdict nor why there is none."""
    doubled: int
    invented: int
    """Verdicts that no answer gave."""

    @property
    def fault(self) -> str:
        return self.model.removeprefix("grader-").split(".")[0].rpartition("-")[0]

    @property
    def how(self) -> str:
        return self.model.split(".")[0].rpartition("-")[2]

    @property
    def problems(self) -> list[str]:
        """What must not be; empty where all is well."""
        found = [f"{n} {what}" for n, what in self._bad if n]
        kind = KINDS[self.fault]
        if self.failed and not self.counted.get(kind):
            found.append(f"{self.failed} faults, none counted as {kind}: {self.counted}")
        if other := self.counted.get("other"):
            found.append(f"{other} told as other")
        return [f"{self.command} {self.protocol} {self.model}: {one}" for one in found]

    @property
    def _bad(self) -> tuple[tuple[int, str], ...]:
        # A turn without choices is an empty answer, and no lost case.
        lost = self.lost if self.fault != "no-choices" else 0
        return (lost, "lost"), (self.doubled, "doubled"), (self.invented, "invented")


def by_patience(models: Sequence[str]) -> dict[int, list[str]]:
    """Models by the patience that their faults need: a command has one for all of its attempts."""
    found: dict[int, list[str]] = {}
    for model in models:
        is_silent = model.removeprefix("grader-").startswith(SILENT)
        found.setdefault(PATIENCE_S if is_silent else UNHURRIED_S, []).append(model)
    return found


def environment(server: FaultyServer) -> dict[str, str]:
    # A service for each server: within a process, Inspect opens a model once.
    return {
        f"{service(server).upper()}_API_KEY": KEY,
        f"{service(server).upper()}_BASE_URL": server.url,
    }


def service(server: FaultyServer) -> str:
    return f"fake{server.port}"


def full_name(server: FaultyServer, model: str) -> str:
    return f"openai-api/{service(server)}/{model}"


def run_faults(
    casewise: Command,
    folder: Path,
    server: FaultyServer,
    models: Sequence[str],
    *,
    cases: int,
    protocols: Sequence[str] = ("binary",),
) -> list[Outcome]:
    """``casewise run`` with a model for every fault; then, once all is well, to its end."""
    path = write_questions(folder / "cases.jsonl", cases)
    server.choose_salts(models, cases)
    command: list[str | Path] = ["run", "--cases", path, "--protocol", ",".join(protocols)]
    command += ["--max-connections", "6"]
    found = []
    for patience_s, own in by_patience(models).items():
        named = [part for model in own for part in ("-m", full_name(server, model))]
        logs = folder / f"logs-{patience_s}"
        done = _finish(casewise, [*command, *named], logs, server, patience_s)
        found += _outcomes("run", own, protocols, cases, server, *done)
    return found


def sweep_faults(
    casewise: Command,
    folder: Path,
    server: FaultyServer,
    entries: Sequence[tuple[str, str]],
    *,
    cases: int,
) -> list[Outcome]:
    """A sweep of models and protocols; a model named ``grader-`` grades another's replies."""
    path = write_questions(folder / "cases.jsonl", cases)
    models = list(dict.fromkeys(model for model, _ in entries))
    server.choose_salts(models, cases)
    found = []
    for patience_s, own in by_patience(models).items():
        lines = [(model, protocol) for model, protocol in entries if model in own]
        file = _sweep_file(folder / f"sweep-{patience_s}.yaml", server, path, lines)
        logs = folder / f"logs-{patience_s}"
        done = _finish(casewise, ["run", file], logs, server, patience_s)
        for model, protocol in lines:
            found += _outcomes("sweep", [model], [protocol], cases, server, *done)
    return found


def _sweep_file(
    file: Path, server: FaultyServer, cases: Path, entries: Sequence[tuple[str, str]]
) -> Path:
    lines: list[dict[str, Any]] = []
    for model, protocol in entries:
        line: dict[str, Any] = {"cases": cases.name, "protocol": protocol}
        if model.startswith("grader-"):
            line |= {"delivery": "system", "grader": full_name(server, model)}
            model = "well"
        lines.append(line | {"model": full_name(server, model)})
    file.write_text(json.dumps(lines), "utf-8")
    return file


def _finish(
    casewise: Command,
    arguments: Sequence[str | Path],
    logs: Path,
    server: FaultyServer,
    patience_s: int,
) -> tuple[list[dict[str, Any]], dict[str, Any], dict[str, Any]]:
    """Rows of the table, and the summary's counts of faults and of errors, over two starts."""
    server.healed = False
    command = [*arguments, "--attempt-timeout", str(patience_s), "--log-dir", logs]
    env = environment(server)
    done = casewise(*command, env=env)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (0, 1), done.stderr
    if done.returncode:
        assert "To go on:" in done.stderr
        server.healed = True
        again = casewise(*command, env=env)
        assert again.returncode == 0, again.stderr
        assert KEY not in again.stdout + again.stderr
    assert KEY not in done.stdout + done.stderr
    graders = {
        run.run_id: run.first.metadata.get("grader")
        for run in runs_of(map(read_header, sorted(logs.glob("*.eval"))))
    }
    rows = read_paths([logs]).table.to_dicts()
    rows = [row | {"grader": graders[row["run_id"]] or "rules"} for row in rows]
    return rows, _counts(done.stderr, "met on the way"), _counts(done.stderr, "cases in error")


def _counts(stderr: str, what: str) -> dict[str, dict[str, int]]:
    """The summary's counts: "met on the way: openai-api/fake/m: 2 timeout, 1 server error"."""
    counts = {}
    for line in re.findall(rf"{what}: (.*)", stderr):
        model, _, kinds = line.rpartition(": ")
        parts = [one.split(" ", 1) for one in kinds.split(", ")]
        counts[model] = {kind.replace(" ", "_"): int(n.replace(",", "")) for n, kind in parts}
    return counts


def _outcomes(
    command: str,
    models: Sequence[str],
    protocols: Sequence[str],
    cases: int,
    server: FaultyServer,
    rows: Sequence[Mapping[str, Any]],
    faults: Mapping[str, Mapping[str, int]],
    errors: Mapping[str, Mapping[str, int]],
) -> list[Outcome]:
    found = []
    for model in models:
        for protocol in protocols:
            own = [row for row in rows if _is_of(row, full_name(server, model), protocol)]
            times = Counter(row["case_id"] for row in own)
            by_kind = Counter(
                row["error"].split(":")[0] for row in own if row["error"] and not _declined(row)
            )
            declined = sum(map(_declined, own))
            ok = [row for row in own if row["status"] == "ok" and not _declined(row)]
            found.append(
                Outcome(
                    command="grade" if model.startswith("grader-") else command,
                    protocol=protocol,
                    model=model,
                    cases=cases,
                    failed=server.failed[model],
                    counted=faults.get(full_name(server, model), {}),
                    judged=len(ok),
                    refused=declined,
                    errors=dict(by_kind),
                    lost=cases - len(times) + len(own) - len(ok) - declined - by_kind.total(),
                    doubled=sum(number - 1 for number in times.values()),
                    invented=sum(_invented(row) for row in own),
                )
            )
    return found


def _is_of(row: Mapping[str, Any], model: str, protocol: str) -> bool:
    if "/grader-" in model:
        return bool(row["grader"] == model)
    return bool(row["model"] == model and row["protocol"] == protocol)


def _declined(row: Mapping[str, Any]) -> bool:
    """What a filter stopped; of a grader, that it gave no grade."""
    by_grader = row["grader"] != "rules" and row["error"] == "the grader declined"
    return bool(row["status"] == "refused" or row["graded_by"] == "provider" or by_grader)


def _invented(row: Mapping[str, Any]) -> bool:
    if row["graded_by"] == "provider":
        return False
    return bool(row["verdict"] == "unsafe" or row["response_class"] in ("refusal", "partial"))
