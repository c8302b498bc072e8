"""How fast casewise judges through a remote model, beside what is possible and what is usual.

    python benchmarks/remote.py                        # about ten minutes; writes remote.json
    python benchmarks/remote.py --limit 200 --repeats 1

A server on this machine answers every request after a fixed time. Each way to ask it runs in a
process of its own, in turns with the others, so that what else the machine does meets all alike;
a few requests go first and are not counted. A time runs from the first request that the server
sees until every answer is read (and, for casewise, scored and written to its log). Ratios are
taken within a turn; the table gives the best turn, by which bounds are judged, as other work on
the machine can only slow the busier side down, and the median and worst.

``bare`` is the asynchronous client of ``openai`` behind a semaphore: the practical limit of its
library. ``runner`` is the same judge in Inspect's own runner, as ``inspect eval`` runs it.
``sequential`` is the blocking client of ``openai`` in a loop, as published scripts ask; a few of
its requests stand for all. ``aiohttp`` is given for information. Without any latency the number of
judgements a second shows what one process can do.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CASEBENCH = Path("shared/data/casebench/CASEBench_data.json")
IMPORTS = (
    "from inspect_ai import Task; import inspect_ai.model, inspect_ai.scorer, "
    "inspect_ai.solver, inspect_ai.dataset, inspect_ai.log"
)
Results = list[dict[str, dict[str, float]]]
"""One entry a turn: what each contender measured."""


@dataclass(frozen=True, slots=True)
class Setting:
    latency_s: float
    connections: int


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table."""

    what: str
    setting: str
    best: float
    median: float
    worst: float
    bound: str
    holds: bool | None
    """None where nothing is asked."""
    unit: str = "x"


SETTINGS = {
    Setting(0.1, 50): ("bare", "casewise", "runner", "aiohttp"),
    Setting(0.1, 200): ("bare", "casewise", "runner", "aiohttp"),
    Setting(1.0, 50): ("bare", "casewise", "runner", "aiohttp"),
    Setting(1.0, 200): ("sequential", "bare", "casewise", "runner", "aiohttp"),
    Setting(0.0, 50): ("bare", "casewise", "runner"),
}
"""What is measured, and which contenders."""

MOST = {
    Setting(0.1, 50): 1.2,
    Setting(0.1, 200): 1.3,
    Setting(1.0, 50): 1.0,
    Setting(1.0, 200): 1.05,
}
"""What casewise may take of the time that the bare client takes."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=900, help="cases a run")
    parser.add_argument("--sequential", type=int, default=20, help="cases of the blocking loop")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--protocol", default="binary")
    parser.add_argument("--cases", type=Path, help="a file of cases; default: CASE-Bench's")
    parser.add_argument("--json", type=Path, default=HERE / "remote.json")
    options = parser.parse_args()
    cases, told = find_cases(options.cases, options.limit)
    print(f"{told}; protocol {options.protocol}; {options.repeats} turns", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        measured = measure_all(options, cases, Path(folder))
    rows = list(make_rows(measured))
    print_rows(rows)
    options.json.write_text(json.dumps(record(told, options, rows, measured), indent=1) + "\n")
    print_method(__doc__)
    print(f"\nwritten to {options.json}")


def find_cases(given: Path | None, limit: int) -> tuple[str, str]:
    """Where the cases are, and in words what they are."""
    root = HERE.parent.parent
    default = Path(os.environ.get("CASEWISE_CASEBENCH", root / CASEBENCH.parent)) / CASEBENCH.name
    path = given or default
    if path.is_file():
        return str(path.resolve()), f"{limit} cases of {path.name}"
    return "", f"{limit} cases, made of the starter cases again and again (no CASE-Bench here)"


def repeated_starter(folder: Path, limit: int) -> str:
    """The bundled cases until there are enough, each time under other ids."""
    from casewise.cases import STARTER, open_cases

    found = [json.loads(one.model_dump_json()) for one in open_cases(STARTER).cases]
    path = folder / "repeated.jsonl"
    lines = [
        json.dumps(found[number % len(found)] | {"id": f"case-{number}"}) for number in range(limit)
    ]
    path.write_text("\n".join(lines), "utf-8")
    return str(path)


def measure_all(options: argparse.Namespace, cases: str, folder: Path) -> dict[str, Any]:
    cases = cases or repeated_starter(folder, options.limit)
    found: dict[str, Any] = {}
    for setting, contenders in SETTINGS.items():
        with serving(setting.latency_s) as url:
            found[named(setting)] = [
                turn(options, cases, url, setting, contenders, number)
                for number in range(options.repeats)
            ]
    with serving(0.1) as url:
        found["start"] = [start_up(cases, url, folder, number) for number in range(options.repeats)]
    return found


def named(setting: Setting) -> str:
    return f"{setting.latency_s:g} s, {setting.connections} connections"


@contextmanager
def serving(latency: float) -> Iterator[str]:
    command = [sys.executable, str(HERE / "latency_server.py"), "--latency", str(latency)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def turn(
    options: argparse.Namespace,
    cases: str,
    url: str,
    setting: Setting,
    contenders: tuple[str, ...],
    number: int,
) -> dict[str, dict[str, float]]:
    """One measurement of each, in an order that changes with the turn."""
    shift = number % len(contenders)
    measured = {}
    for name in (*contenders[shift:], *contenders[:shift]):
        limit = options.sequential if name == "sequential" else options.limit
        command = [sys.executable, str(HERE / "contender.py"), name, "--url", url]
        command += ["--cases", cases, "--limit", str(limit), "--protocol", options.protocol]
        command += ["--connections", str(setting.connections)]
        done = subprocess.run(command, env=environment(), stdout=subprocess.PIPE, check=True)
        measured[name] = json.loads(done.stdout.splitlines()[-1])
        if name == "sequential":
            measured[name]["seconds"] *= options.limit / limit
        progress(setting, name, measured[name])
    return measured


def progress(setting: Setting, name: str, found: dict[str, float]) -> None:
    seconds, cpu = found["seconds"], found["cpu_ms"]
    print(
        f"  {named(setting)}  {name:<10}  {seconds:7.1f} s  {cpu:5.1f} ms of CPU a case",
        file=sys.stderr,
        flush=True,
    )


def start_up(cases: str, url: str, folder: Path, number: int) -> dict[str, dict[str, float]]:
    """From the command line to the first request, and what importing Inspect takes of it."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    imports = time.monotonic() - started
    command = [sys.executable, "-m", "casewise", "run", "--model", "openai-api/local/fake"]
    command += ["--cases", cases, "--limit", "50", "--protocol", "binary"]
    command += ["--max-connections", "50", "--log-dir", str(folder / f"start-{number}")]
    _seen(url)
    started = time.monotonic()
    env = environment() | {"LOCAL_BASE_URL": url}
    subprocess.run(command, env=env, check=True, capture_output=True)
    ended = time.monotonic()
    found = _seen(url)
    return {
        "casewise run": {
            "import_inspect_s": imports,
            "to_first_request_s": found["first"] - started,
            "on_top_s": found["first"] - started - imports,
            "after_last_answer_s": ended - found["last"],
        }
    }


def _seen(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/seen") as response:
        found: dict[str, Any] = json.load(response)
    return found


def environment() -> dict[str, str]:
    return dict(os.environ) | {"LOCAL_API_KEY": "benchmark"}


def make_rows(measured: dict[str, Any]) -> Iterator[Row]:
    for setting, contenders in SETTINGS.items():
        turns, where = measured[named(setting)], named(setting)
        bound = MOST.get(setting)
        if bound is not None:
            yield table_row("casewise / bare", where, _ratios(turns, "casewise", "bare"), bound)
        for other in contenders:
            if bound is not None and other not in ("bare", "casewise", "sequential"):
                yield table_row(f"{other} / bare", where, _ratios(turns, other, "bare"))
    wide, quick, at_once = (named(Setting(*one)) for one in ((1.0, 200), (0.1, 50), (0.0, 50)))
    speedups = _ratios(measured[wide], "sequential", "casewise")
    yield table_row("sequential / casewise", wide, speedups, 45.0, at_least=True)
    for name, most in (("casewise", 4.0), ("runner", None), ("bare", None)):
        values = [one[name]["cpu_ms"] for one in measured[quick]]
        yield table_row(f"CPU a case: {name}", quick, values, most, unit=" ms")
    for name, least in (("casewise", 300.0), ("runner", None), ("bare", None)):
        rates = [one[name]["requests"] / one[name]["seconds"] for one in measured[at_once]]
        yield table_row(f"a second: {name}", at_once, rates, least, at_least=True, unit="")
    starts = [one["casewise run"]["on_top_s"] for one in measured["start"]]
    yield table_row("start-up beyond Inspect", "0.1 s, CLI", starts, 1.2, unit=" s")


def _ratios(turns: Results, one: str, other: str) -> list[float]:
    return [found[one]["seconds"] / found[other]["seconds"] for found in turns]


def table_row(
    what: str,
    setting: str,
    values: list[float],
    bound: float | None = None,
    *,
    at_least: bool = False,
    by_median: bool = False,
    unit: str = "x",
) -> Row:
    best, *_, worst = sorted(values, reverse=at_least) if len(values) > 1 else values * 2
    holds = None
    told = "–"
    if bound is not None:
        judged = statistics.median(values) if by_median else best
        holds = judged >= bound if at_least else judged <= bound
        told = f"{'>=' if at_least else '<='} {bound:g}{unit}"
    return Row(what, setting, best, statistics.median(values), worst, told, holds, unit)


def print_method(told: str) -> None:
    """What a benchmark's text says of how it measures: all below its commands."""
    print("\nHow it is measured:\n\n" + "\n\n".join(told.strip().split("\n\n")[2:]))


def print_rows(rows: list[Row], settings: str = "latency, at once") -> None:
    print(f"\n{'':24} {settings:22} {'best':>8} {'median':>7} {'worst':>7}  bound")
    for row in rows:
        best = f"{row.best:.2f}{row.unit}"
        verdict = {None: "", True: ", holds", False: ", MISSED"}[row.holds]
        print(
            f"{row.what:24} {row.setting:22} {best:>8} {row.median:>7.2f} {row.worst:>7.2f}"
            f"  {row.bound}{verdict}"
        )


def record(
    told: str, options: argparse.Namespace, rows: list[Row], measured: dict[str, Any]
) -> dict[str, Any]:
    return {
        "cases": told,
        "protocol": options.protocol,
        "repeats": options.repeats,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "rows": [asdict(row) for row in rows],
        "measured": measured,
    }


if __name__ == "__main__":
    main()
