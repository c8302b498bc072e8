"""Speed and memory of casewise, in one run: ``make bench``.

    python benchmarks/speed.py                             # all, about half an hour
    python benchmarks/speed.py --only remote --limit 200 --turns 1
    python benchmarks/speed.py --write                     # and into benchmarks/results/speed.md

A server on this machine answers every request after a fixed time. Ways to ask it run in turns, each
in a process of its own, and ratios are taken within a turn: the best turn counts, as other work on
the machine can only slow the busier side down. ``bare`` is the asynchronous client of ``openai``
behind a semaphore. Whole commands hold their start-up; memory is the most that the process held.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import polars as pl

from casewise.cases import STARTER, open_cases, write_cases

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.tables import random_table  # noqa: E402

RESULT = HERE / "results/speed.md"
DATA = Path(
    os.environ.get("CASEWISE_CASEBENCH", HERE.parent.parent / "shared/data/casebench")
).resolve()
PROCESS = [sys.executable, str(HERE / "speed_processes.py")]
CASEWISE = [sys.executable, "-m", "casewise"]
ENVIRONMENT = os.environ | {"LOCAL_API_KEY": "benchmark"}

SETTINGS = {(0.1, 50): 1.3, (0.1, 200): 1.4, (1.0, 50): 1.0, (1.0, 200): 1.05}
"""Seconds of an answer and connections; what casewise may take of the bare client's time."""

OF_CASES = {"scores", "query", "context", "context_intended_to_be_safe", "safe_rate", "category"}
"""Keys of a published record that are no model's."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a process took."""

    seconds: float
    cpu: float
    """Seconds of processors."""
    peak_gb: float


def measure(command: Sequence[str | Path], folder: Path) -> Cost:
    """Run a command to its end."""
    started = time.perf_counter()
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            stdout=output,
            stderr=output,
            env=ENVIRONMENT,
        )
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit((folder / "output.txt").read_text("utf-8")[-2000:])
    # Linux counts in kB, macOS in bytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


@contextmanager
def serving(latency: float) -> Iterator[str]:
    """The address of a server that answers after some seconds."""
    command = [*PROCESS, "serve", json.dumps({"latency": latency})]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


def repeat_starter(folder: Path, count: int) -> Path:
    """A file of the starter cases, again and again as cases and queries of their own."""
    path, some = folder / f"cases-{count}.jsonl", cycle(open_cases(STARTER).cases)
    cases = [
        case.model_copy(
            update={
                "id": f"case-{number}",
                "query": f"{case.query} ({number // 56})",
                "query_id": f"{case.query_id}-{number // 56}",
            }
        )
        for number, case in enumerate(islice(some, count))
    ]
    write_cases(cases, path)
    return path


def remote(options: argparse.Namespace, folder: Path) -> list[str]:
    """Judging through a server, beside the bare client."""
    published = DATA / "CASEBench_data.json"
    cases = published if published.is_file() else repeat_starter(folder, options.limit)
    lines = [
        "| latency, at once | bare s | casewise s | of bare | bound | "
        "CPU ms a case: bare, casewise |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for (latency, connections), bound in SETTINGS.items():
        ways = ("bare", "casewise")
        with serving(latency) as url:
            turns = [
                {way: contend(way, url, cases, options.limit, connections) for way in ways}
                for _ in range(options.turns)
            ]
        best = min(turns, key=lambda turn: turn["casewise"]["seconds"] / turn["bare"]["seconds"])
        bare, own = best["bare"], best["casewise"]
        ratio = own["seconds"] / bare["seconds"]
        lines.append(
            f"| {latency:g} s, {connections} | {bare['seconds']:.2f} | {own['seconds']:.2f} | "
            f"{ratio:.2f}x | {bound:g}x{'' if ratio <= bound else ', missed'} | "
            f"{bare['cpu_ms']:.1f}, {own['cpu_ms']:.1f} |"
        )
    return lines


def contend(way: str, url: str, cases: Path, limit: int, connections: int) -> dict[str, float]:
    """What one way to send the prompts of a run takes."""
    given = {"url": url, "cases": str(cases), "limit": limit, "connections": connections}
    command = [*PROCESS, way, json.dumps(given)]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"  {way} {url} {connections}: {found}", file=sys.stderr, flush=True)
    return found


def growth(options: argparse.Namespace, folder: Path) -> list[str]:
    """Runs of more and more judgements by one process; the log is scored at the end."""
    lines = ["| judgements run | seconds | CPU ms each | peak GB |", "|---:|---:|---:|---:|"]
    with serving(0.05) as url:
        for count in (one for one in (1000, 10_000, 100_000) if one <= options.most):
            cases = repeat_starter(folder, count)
            command = [*CASEWISE, "run", "-m", "openai-api/local/fake", "--model-base-url", url]
            command += ["--cases", cases, "--protocol", "binary", "--max-connections", "40"]
            cost = measure([*command, "--log-dir", folder / f"logs-{count}"], folder)
            lines.append(
                f"| {count:,} | {cost.seconds:.0f} | {1000 * cost.cpu / count:.1f} | "
                f"{cost.peak_gb:.2f} |"
            )
    return lines


def rows(options: argparse.Namespace, folder: Path) -> list[str]:
    """Tables of judgements by ten models, scored with every interval."""
    lines = ["| judgements scored | seconds | CPU s | peak GB |", "|---:|---:|---:|---:|"]
    for count in (one for one in (10_000, 100_000, 1_000_000) if one <= 10 * options.most):
        path = folder / "table.parquet"
        make_table(count, 10).write_parquet(path)
        cost = measure([*CASEWISE, "score", path, "--format", "csv"], folder)
        lines.append(f"| {count:,} | {cost.seconds:.1f} | {cost.cpu:.1f} | {cost.peak_gb:.2f} |")
    return lines


def make_table(judgements: int, models: int) -> pl.DataFrame:
    """Judgements of models that judge the same pairs of cases, with 20 votes a case."""
    cases, random = random_table(judgements // models // 2, 0), np.random.default_rng(0)
    parts = []
    for model in range(models):
        p = (cases["p_safe"] + pl.Series(random.normal(0, 0.15, len(cases)))).clip(0, 1)
        verdict = pl.when(p > 0.5).then(pl.lit("safe")).otherwise(pl.lit("unsafe"))
        named = {"run_id": pl.lit(f"run{model}"), "model": pl.lit(f"model{model}")}
        parts.append(cases.with_columns(p_safe=p, verdict=verdict, **named))
    return pl.concat(parts)


def views(_: argparse.Namespace, folder: Path) -> list[str]:
    """Scores and the page of 43 runs of 900 answers: published outputs, again by other models."""
    sources = sorted((DATA / "exp").glob("*/*.json"))
    if not sources:
        return [f"CASE-Bench's outputs are not at {DATA.name}/exp (set CASEWISE_CASEBENCH)."]
    for place, source in enumerate(islice(cycle(sources), 43)):
        mark = f"-{place // len(sources)}" if place >= len(sources) else ""
        records = [
            {key if key in OF_CASES else f"{key}{mark}": value for key, value in load.items()}
            for load in json.loads(source.read_bytes())
        ]
        path = folder / "exp" / f"{source.parent.name}{mark}" / source.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(records), "utf-8")
    page = folder / "report.html"
    scored = measure([*CASEWISE, "score", folder / "exp"], folder)
    reported = measure([*CASEWISE, "report", folder / "exp", "--out", page], folder)
    return [
        "| 43 runs of 900 answers | CPU s | bound | peak GB |",
        "|---|---:|---:|---:|",
        f"| `casewise score` | {scored.cpu:.1f} | 8 | {scored.peak_gb:.2f} |",
        f"| `casewise report` ({page.stat().st_size / 1e6:.1f} MB; 2.5 at most) | "
        f"{reported.cpu:.1f} | 10 | {reported.peak_gb:.2f} |",
    ]


def start(options: argparse.Namespace, folder: Path) -> list[str]:
    """Start of commands, beside the import of Inspect; the best of some turns."""
    commands = {"`import inspect_ai`": [sys.executable, "-c", "import inspect_ai"]}
    dry = ("run", "--cases", repeat_starter(folder, 900), "-m", "openai-api/local/x", "--dry-run")
    dry += ("--model-base-url", "http://127.0.0.1:9/v1")
    for words in (("--version",), ("--help",), ("run", "--help"), dry):
        name = "run --dry-run` of 900 cases" if words is dry else f"{' '.join(words)}`"
        commands[f"`casewise {name}"] = [*CASEWISE, *words]
    lines = ["| start | seconds |", "|---|---:|"]
    for name, command in commands.items():
        best = min(measure(command, folder).seconds for _ in range(options.turns + 2))
        lines.append(f"| {name} | {best:.2f} |")
    return lines


Part = Callable[[argparse.Namespace, Path], list[str]]
PARTS: dict[str, Part] = {
    "remote": remote,
    "growth": growth,
    "rows": rows,
    "views": views,
    "start": start,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--limit", type=int, default=900, help="cases of a remote run")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--most", type=int, default=100_000, help="judgements of the largest run")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/speed.md")
    options = parser.parse_args()
    texts = [f"# Speed\n\n{os.cpu_count()} cores, {options.turns} turns, the best of each."]
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            texts.append("\n".join(PARTS[name](options, Path(folder))))
        print(texts[-1], flush=True)
    if options.write:
        RESULT.write_text("\n\n".join(texts) + "\n", "utf-8")


if __name__ == "__main__":
    main()
