"""How time, memory and logs grow with the judgements; writes the table of docs/how-to/scale.md.

    python benchmarks/scale.py                      # to 1e5 run and 1e6 read: an hour of a core
    python benchmarks/scale.py --runs 1000 4000 --most 40000 --no-docs

Each size is run by ``casewise run --engine ray`` in a process of its own, on a cluster of this
machine's own, against a server that answers after 50 ms; cases are the starter cases again and
again, under ids of their own. Then ``casewise score`` reads and scores each folder in a process of
its own; and a folder of a million, in which the logs of a run stand again and again for ten models,
each time under other cases, but for their samples' texts, which scoring doesn't read.

Times hold start-up. Memory is the most that any one process held at a time, and the most that all
of a run held together, Ray's own among them; a page that several share counts for each.
"""

import argparse
import json
import math
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import psutil

# Teaches zipfile the compression that Inspect's logs have.
from inspect_ai._util.zipfile import zipfile_compress_kwargs
from remote import environment, print_method, serving

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/how-to/scale.md"
BEGIN, END = "<!-- growth: begin -->", "<!-- growth: end -->"
MODEL = "openai-api/local/fake"
MODELS = 10
LATENCY_S = 0.05
CONNECTIONS = 40
LIMIT_GB = 2.0
LINEAR = 1.1
"""Above this exponent, growth is called worse than linear: times vary with what else runs."""
POLL_S = 0.5
KEPT = ("header.json", "summaries.json")


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of one size."""

    engine: str
    judgements: int
    seconds: float
    cpu_ms: float
    """Of the processor, over all processes, a judgement."""
    largest_gb: float
    """The most of one process."""
    together_gb: float
    log_mb: float


@dataclass(frozen=True, slots=True)
class Scored:
    """A folder that was read and scored."""

    judgements: int
    logs: int
    seconds: float
    peak_gb: float


class ProcessWatch:
    """What a process and its children use, looked at twice a second."""

    def __init__(self, pid: int) -> None:
        self.largest = self.together = 0
        self._used: dict[tuple[int, float], float] = {}
        self._root = psutil.Process(pid)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    @property
    def cpu_seconds(self) -> float:
        return sum(self._used.values())

    def _watch(self) -> None:
        while not self._ended.wait(POLL_S):
            held = []
            try:
                family = [self._root, *self._root.children(recursive=True)]
            except psutil.Error:
                return
            for one in family:
                try:
                    times = one.cpu_times()
                    held.append(one.memory_info().rss)
                    self._used[one.pid, one.create_time()] = times.user + times.system
                except psutil.Error:
                    continue
            self.largest = max([self.largest, *held])
            self.together = max(self.together, sum(held))

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000, 100_000])
    parser.add_argument("--alone", type=int, nargs="*", default=[1000, 10_000], help="one process")
    parser.add_argument("--most", type=int, default=1_000_000, help="judgements that are scored")
    parser.add_argument("--source", type=int, help="the run that is copied; default: the largest")
    parser.add_argument("--folder", type=Path, help="where logs are kept, and found again")
    parser.add_argument("--no-docs", action="store_true", help="leave docs/how-to/scale.md alone")
    parser.add_argument("--json", type=Path, default=HERE / "scale.json")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        ran = list(run_all(folder, options.runs, options.alone))
        source = options.source or max(options.runs)
        scored = list(score_all(folder, options.runs, options.most, source))
    record = {
        "measured": date.today().isoformat(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "ran": [asdict(one) for one in ran],
        "scored": [asdict(one) for one in scored],
    }
    options.json.write_text(json.dumps(record, indent=1) + "\n")
    table = growth_table(ran, scored)
    print(table)
    print_method(__doc__)
    if not options.no_docs:
        write_between(PAGE, table)
        print(f"written to {PAGE} and {options.json}")
    if failing := verdicts(ran, scored):
        sys.exit("\n".join(failing))


def run_all(folder: Path, runs: Sequence[int], alone: Sequence[int]) -> Iterator[Ran]:
    with serving(LATENCY_S) as url:
        for engine, sizes in (("process", alone), ("ray", runs)):
            for size in sizes:
                logs = folder / f"{engine}-{size}"
                kept = logs.with_suffix(".json")
                if not kept.is_file():
                    found = run_one(folder, logs, url, engine, size)
                    kept.write_text(json.dumps(asdict(found)))
                found = Ran(**json.loads(kept.read_text()))
                print(found, file=sys.stderr, flush=True)
                yield found


def many_cases(folder: Path, limit: int) -> str:
    """The starter pairs again and again, every time as queries of their own."""
    from casewise.cases import STARTER, open_cases

    found = [json.loads(one.model_dump_json()) for one in open_cases(STARTER).cases]
    path = folder / f"cases-{limit}.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for number in range(limit):
            case = found[number % len(found)]
            query = f"{case['query']} ({number // len(found)})"
            new = {"id": f"case-{number}", "query": query, "query_id": None}
            file.write(json.dumps(case | new) + "\n")
    return str(path)


def run_one(folder: Path, logs: Path, url: str, engine: str, size: int) -> Ran:
    shutil.rmtree(logs, ignore_errors=True)
    cases = many_cases(folder, size)
    command = [sys.executable, "-m", "casewise", "run", "-m", MODEL, "--cases", cases]
    command += ["--protocol", "binary", "--max-connections", str(CONNECTIONS)]
    command += ["--log-dir", str(logs), "--engine", engine]
    started = time.perf_counter()
    env = environment() | {"LOCAL_BASE_URL": url}
    with (folder / f"{engine}-{size}.err").open("w") as errors:
        process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=errors)
        watch = ProcessWatch(process.pid)
        status = process.wait()
    seconds = time.perf_counter() - started
    watch.stop()
    if status:
        sys.exit(f"casewise run failed: see {errors.name}")
    size_mb = sum(one.stat().st_size for one in logs.rglob("*.eval")) / 1e6
    cpu_ms = 1000 * watch.cpu_seconds / size
    return Ran(engine, size, seconds, cpu_ms, watch.largest / 1e9, watch.together / 1e9, size_mb)


def score_all(folder: Path, runs: Sequence[int], most: int, source: int) -> Iterator[Scored]:
    for size in runs:
        yield score_one(folder / f"ray-{size}", size)
    logs = folder / f"many-{most}"
    kept = logs.with_suffix(".json")
    if not kept.is_file():
        shutil.rmtree(logs, ignore_errors=True)
        for model in range(MODELS):
            for copy in range(most // MODELS // source):
                copy_logs(folder / f"ray-{source}", logs, model, copy, most // MODELS)
        kept.write_text(json.dumps(asdict(score_one(logs, most))))
        shutil.rmtree(logs)
    yield Scored(**json.loads(kept.read_text()))


def copy_logs(source: Path, target: Path, model: int, copy: int, of: int) -> None:
    """A run's logs as another model's, on other cases, and without its samples' texts.

    Scoring reads what sums them up.
    """
    for path in sorted(source.rglob("*.eval")):
        made = target / str(model) / str(copy) / path.relative_to(source)
        made.parent.mkdir(parents=True)
        with zipfile.ZipFile(path) as old:
            header, summaries = (json.loads(old.read(name)) for name in KEPT)
        size = header["eval"]["metadata"]["shard"]["of"]
        header = json.loads(json.dumps(header).replace(MODEL, f"{MODEL}-{model}"))
        part = header["eval"]["metadata"]["shard"]
        part["places"] = [copy * size + place for place in part["places"]]
        part["of"] = of
        data = header["eval"]["dataset"]
        data["sample_ids"] = [f"{copy}-{one}" for one in data["sample_ids"]]
        for one in summaries:
            one["id"] = f"{copy}-{one['id']}"
            one["metadata"]["query_id"] = f"{copy}-{one['metadata']['query_id']}"
        with zipfile.ZipFile(made, "w", **zipfile_compress_kwargs) as new:
            for name, content in zip(KEPT, (header, summaries), strict=True):
                new.writestr(name, json.dumps(content))


def score_one(logs: Path, judgements: int) -> Scored:
    command = [sys.executable, "-m", "casewise", "score", str(logs), "--format", "json"]
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    rows: list[dict[str, Any]] = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    assert not status
    assert sum(one["n"] for one in rows if one["protocol"] == "binary") == judgements
    # Linux counts in kB, macOS in bytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    found = Scored(judgements, len(list(logs.rglob("*.eval"))), seconds, usage.ru_maxrss / unit)
    print(found, file=sys.stderr, flush=True)
    return found


def exponent(one: Ran | Scored, other: Ran | Scored, name: str) -> float:
    """The slope between two sizes, both axes logarithmic; 1 is linear."""
    grown = getattr(other, name) / getattr(one, name)
    return math.log(grown) / math.log(other.judgements / one.judgements)


def steps(found: Sequence[Ran | Scored], name: str) -> list[str]:
    """The exponent of each step; none of the first size."""
    slopes = [f"{exponent(one, other, name):.2f}" for one, other in pairwise(found)]
    return ["–", *slopes]


def growth_table(ran: Sequence[Ran], scored: Sequence[Scored]) -> str:
    """Markdown; behind each figure the exponent of its growth since the line above."""
    lines = [f"Measured on {date.today().isoformat()}, {os.cpu_count()} cores, shared.", ""]
    lines += ["| run | judgements | seconds | CPU ms each | GB, one | GB, all | log MB |"]
    lines += ["|---|---:|---:|---:|---:|---:|---:|"]
    for engine in ("process", "ray"):
        own = [one for one in ran if one.engine == engine]
        marks = [steps(own, name) for name in ("seconds", "largest_gb", "together_gb", "log_mb")]
        for one, seconds, largest, together, size in zip(own, *marks, strict=False):
            lines.append(
                f"| `--engine {engine}` | {one.judgements:,} | {one.seconds:,.0f} ({seconds}) | "
                f"{one.cpu_ms:.1f} | {one.largest_gb:.2f} ({largest}) | "
                f"{one.together_gb:.2f} ({together}) | {one.log_mb:,.1f} ({size}) |"
            )
    lines += ["", "| `casewise score` | logs | seconds | peak GB |", "|---:|---:|---:|---:|"]
    marks = [steps(scored, name) for name in ("seconds", "peak_gb")]
    for one, seconds, peak in zip(scored, *marks, strict=True):
        lines.append(
            f"| {one.judgements:,} | {one.logs:,} | {one.seconds:,.1f} ({seconds}) | "
            f"{one.peak_gb:.2f} ({peak}) |"
        )
    held = verdicts(ran, scored) or [
        f"No step is worse than linear (exponent {LINEAR:g} at most)"
        f", and reading and scoring stays within {LIMIT_GB:g} GB."
    ]
    return "\n".join([*lines, "", *held])


def verdicts(ran: Sequence[Ran], scored: Sequence[Scored]) -> list[str]:
    """What of the bounds does not hold."""
    failing = []
    for engine in ("process", "ray"):
        own = [one for one in ran if one.engine == engine]
        for name in ("seconds", "largest_gb", "together_gb", "log_mb"):
            failing += _worse(own, f"{engine}, {name}", name)
    for name in ("seconds", "peak_gb"):
        failing += _worse(scored, f"score, {name}", name)
    most = max((one.peak_gb for one in scored), default=0.0)
    failing += [f"MISSED: scoring took {most:.2f} GB"] if most > LIMIT_GB else []
    return failing


def _worse(found: Sequence[Ran | Scored], told: str, name: str) -> list[str]:
    slopes = [exponent(one, other, name) for one, other in pairwise(found)]
    return [f"MISSED: {told} grew with exponent {one:.2f}" for one in slopes if one > LINEAR]


def write_between(page: Path, table: str) -> None:
    """Put the table between the page's marks."""
    text = page.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{after}", "utf-8")


if __name__ == "__main__":
    main()
