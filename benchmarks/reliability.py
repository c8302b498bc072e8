"""Every fault, how often, in every command and protocol, and kills: ``make reliability``.

    python benchmarks/reliability.py               # all, some six minutes
    python benchmarks/reliability.py --storm 5     # a first look
    python benchmarks/reliability.py --write       # and into benchmarks/results/

A server on the same machine fails as providers do. Ends with 1 if a case is lost or doubled, a
fault became a verdict, a kind is not counted or told as "other", a kill made more be asked than was
in flight, or a final answer was followed by more than a request a connection.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from fault_runs import (  # noqa: E402
    Outcome,
    environment,
    run_faults,
    sweep_faults,
)
from faulty import HOWS, KINDS, FaultyServer, random_moments  # noqa: E402
from final_runs import FINAL, FinalOutcome, run_final  # noqa: E402
from support.fault_runs import write_questions  # noqa: E402
from support.starts import killed_starts  # noqa: E402

from casewise.judgements import read_paths  # noqa: E402

PROTOCOLS = ("binary", "score", "probability", "guard", "respond")
RESULT = ROOT / "benchmarks/results/reliability.md"
AT_ONCE = 3
"""Batches side by side: they wait most of the time."""

KILLS, KILLED_CASES, CONNECTIONS = 20, 400, 8
FINAL_CASES, ANSWERS = 900, 100


def casewise(*arguments: str | Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "casewise", *map(str, arguments)],
        env=clean() | env,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )


def clean() -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.endswith(("_API_KEY", "_BASE_URL"))}
    return kept | {"NO_COLOR": "1", "TERM": "dumb"}


COMMANDS = ["run", "sweep", "grade", "provider"]
Batch = Callable[[FaultyServer, Path], list[Outcome]]


def batches(cases: int) -> dict[str, Batch]:
    """Each runs many models at once, a fault each; longest first."""
    found: dict[str, Batch] = {}
    few = max(6, cases // 5)
    for how in reversed(HOWS):
        every = [
            (f"{fault}-{how}.{protocol}", protocol) for fault in KINDS for protocol in PROTOCOLS
        ]
        graders = [(f"grader-{fault}-{how}", "respond") for fault in KINDS]
        names = [f"{fault}-{how}" for fault in KINDS]
        found[f"sweep {how}"] = lambda s, f, e=every: sweep_faults(casewise, f, s, e, cases=few)
        found[f"run {how}"] = lambda s, f, n=names: run_faults(casewise, f, s, n, cases=cases)
        found[f"grade {how}"] = lambda s, f, e=graders: sweep_faults(casewise, f, s, e, cases=few)
    return found


def run_batch(name: str, work: Batch, storm_s: float) -> list[Outcome]:
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, FaultyServer(storm_s=storm_s) as server:
        found = work(server, Path(folder))
    print(f"{name}: {len(found)} cells in {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return found


def kill(count: int) -> dict[str, int | bool]:
    """``kill -9`` at random moments of one run; what it cost, and whether all was judged once."""

    def slow(_request: dict[str, object]) -> str:
        time.sleep(0.1)
        return '{"judgement": "safe"}'

    moments = random_moments(11, count, KILLED_CASES // count)
    with tempfile.TemporaryDirectory() as folder, FaultyServer(answer=slow) as server:
        cases = write_questions(Path(folder) / "cases.jsonl", KILLED_CASES)
        model = f"openai-api/fake{server.port}/well"
        command = ["run", "-m", model, "--cases", cases, "--protocol", "binary"]
        command += ["--max-connections", str(CONNECTIONS), "--log-dir", "logs"]
        env = clean() | environment(server)
        ended = killed_starts(command, moments, server, Path(folder), env)
        table = read_paths([Path(folder) / "logs"]).table
    return {
        "kills": ended.count(-signal.SIGKILL),
        "cases": KILLED_CASES,
        "requests": len(server.requests),
        "asked again": len(server.requests) - KILLED_CASES,
        "in flight at most": ended.count(-signal.SIGKILL) * CONNECTIONS,
        "rows": len(table),
        "cases in the table": table["case_id"].n_unique(),
        "judged": int((table["status"] == "ok").sum()),
    }


def final() -> list[FinalOutcome]:
    """Final answers after some of many."""
    found = []
    for said in FINAL:
        with tempfile.TemporaryDirectory() as folder:
            found.append(
                run_final(
                    casewise,
                    Path(folder),
                    said,
                    cases=FINAL_CASES,
                    answers=ANSWERS,
                    connections=CONNECTIONS,
                )
            )
    return found


def of_provider(finals: Sequence[FinalOutcome]) -> str:
    """A line for each final answer."""
    lines = [
        f"After {ANSWERS} of {FINAL_CASES} answers, {CONNECTIONS} connections:",
        "",
        "| the provider says | further requests | exit status | scored | judged after the same "
        "command again | asked twice |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for one in finals:
        numbers = (one.further, one.status, one.scored, one.judged, one.asked_twice)
        lines.append(f"| {one.said} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def matrix(outcomes: Sequence[Outcome]) -> str:
    """A line for each fault: requests that failed, and what became of the cases."""
    lines = ["| fault | counted as | cells | cases | failed requests | judged | refused |"]
    lines[0] += " in error | lost | doubled | invented |"
    lines.append("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for fault, kind in KINDS.items():
        own = [one for one in outcomes if one.fault == fault]
        sums = [
            sum(getattr(one, name) for one in own)
            for name in ("cases", "failed", "judged", "refused")
        ]
        sums += [sum(sum(one.errors.values()) for one in own)]
        sums += [sum(getattr(one, name) for one in own) for name in ("lost", "doubled", "invented")]
        numbers = " | ".join(f"{number:,}" for number in [len(own), *sums])
        lines.append(f"| {fault} | {kind.replace('_', ' ')} | {numbers} |")
    return "\n".join(lines)


def by_command(outcomes: Sequence[Outcome]) -> str:
    """A line for each command and protocol."""
    lines = ["| command | protocol | cells | cases | failed requests | problems |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    keys = dict.fromkeys((one.command, one.protocol) for one in outcomes)
    for key in keys:
        own = [one for one in outcomes if (one.command, one.protocol) == key]
        numbers = [len(own), sum(one.cases for one in own), sum(one.failed for one in own)]
        numbers.append(sum(len(one.problems) for one in own))
        lines.append(f"| {' | '.join(key)} | {' | '.join(f'{n:,}' for n in numbers)} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--storm", type=float, default=20, help="seconds that a storm lasts")
    parser.add_argument("--cases", type=int, default=30, help="of each model in a run")
    parser.add_argument("--only", nargs="+", default=COMMANDS, choices=COMMANDS)
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="batches side by side")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results")
    options = parser.parse_args()
    if options.write and set(options.only) != set(COMMANDS):
        parser.error("--write: the result holds the whole matrix; leave out --only")
    begun = time.monotonic()
    with ThreadPoolExecutor(options.at_once) as pool:
        work = [
            pool.submit(run_batch, name, batch, options.storm)
            for name, batch in batches(options.cases).items()
            if name.split()[0] in options.only
        ]
        killed = pool.submit(kill, options.kills)
        of_final = [pool.submit(final)] if "provider" in options.only else []
        outcomes = [one for part in work for one in part.result()]
        stopped = killed.result()
        finals = [one for part in of_final for one in part.result()]
    problems = [problem for one in outcomes for problem in one.problems]
    problems += [problem for one in finals for problem in one.problems]
    if stopped["judged"] != KILLED_CASES or stopped["rows"] != KILLED_CASES:
        problems.append("kills: not every case is judged once")
    if stopped["asked again"] > stopped["in flight at most"]:
        problems.append("kills: more was asked again than was in flight")
    failed = sum(one.failed for one in outcomes)
    asked = f"{len(outcomes):,} cells, {failed:,} failed requests, storms of {options.storm:g} s"
    text = "\n\n".join(
        [
            "# Reliability: faults of a provider, and kills",
            f"{asked}; {len(problems)} problems.",
            matrix(outcomes),
            by_command(outcomes),
            of_provider(finals),
            "\n".join(
                ["| kills | |", "|---|---:|", *(f"| {k} | {n:,} |" for k, n in stopped.items())]
            ),
        ]
    )
    print(text)
    print(f"in {time.monotonic() - begun:.0f} s")
    for problem in problems:
        print(f"PROBLEM: {problem}")
    if options.write:
        RESULT.write_text(f"{text}\n", "utf-8")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
