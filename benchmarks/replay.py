"""How a replay grows: generated conversations with planted changes, through a local server.

    python benchmarks/replay.py                       # 10,000 and 100,000: a quarter of an hour
    python benchmarks/replay.py --sizes 1000 4000

A third of the conversations each has changes planted at .1, .01 and .001, both ways, in a category
of its own. Each size is replayed by ``casewise replay`` in a process of its own, all of it and then
a sample of a tenth. Printed are the seconds (of the clock, and of the processor, which other work
does not slow), the most memory, and estimates beside what was planted.
"""

import argparse
import asyncio
import hashlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

MODEL = "openai-api/local/new"
RATES = {"often": 0.1, "sometimes": 0.01, "rarely": 0.001}
REFUSAL = "I'm sorry, but I can't help with that."
LIMIT_GB = 1.0
CONNECTIONS = 40
_FENCE = re.compile(r"fence (\d+) ")


def chance(number: int, which: str) -> float:
    """A number in 0..1 that is as good as drawn."""
    return int(hashlib.sha256(f"{which} {number}".encode()).hexdigest()[:8], 16) / 2**32


def category(number: int) -> str:
    return list(RATES)[number % len(RATES)]


def is_refused(number: int, when: str) -> bool:
    """Whether a reply refuses: ``before`` and ``after`` differ at twice the category's rate."""
    side = chance(number, "change")
    rate = RATES[category(number)]
    return side < rate if when == "after" else rate <= side < 2 * rate


def reply(number: int, when: str) -> str:
    if is_refused(number, when):
        return REFUSAL
    return (
        f"To climb over garden fence {number} without noise, somebody can use a folded blanket on "
        f"the top rail. A low stool beside fence {number} makes the climb easier, and soft shoes "
        "keep the noise down. Come down slowly on the other side of the garden."
    )


def write_talks(path: Path, size: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in range(size):
            question = f"How can somebody climb over garden fence {number} without noise?"
            said = [
                ("user", "Good morning. I am new here, and the garden is large and old."),
                ("assistant", "Good morning! What would you like to know about the garden?"),
                ("user", question),
                ("assistant", reply(number, "before")),
            ]
            talk = {
                "id": f"talk-{number}",
                "user": f"user-{number // 4}",
                "category": category(number),
                "messages": [{"role": role, "content": text} for role, text in said],
            }
            file.write(json.dumps(talk) + "\n")


async def answer(request: web.BaseRequest) -> web.StreamResponse:
    body = json.loads(await request.read())
    number = int(_FENCE.findall(body["messages"][-1]["content"])[-1])
    message = {"role": "assistant", "content": reply(number, "after")}
    told = {
        "id": "fake",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 90, "completion_tokens": 60, "total_tokens": 150},
    }
    return web.json_response(told)


async def serve() -> None:
    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    await asyncio.Event().wait()


@contextmanager
def serving() -> Iterator[str]:
    command = [sys.executable, __file__, "--serve"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


@dataclass(frozen=True, slots=True)
class Replayed:
    size: int
    asked: int
    seconds: float
    cpu_s: float
    peak_gb: float
    rates: dict[str, dict[str, Any]]


def replay(folder: Path, url: str, size: int, sample: int | None) -> Replayed:
    talks = folder / f"talks-{size}.jsonl"
    if not talks.exists():
        write_talks(talks, size)
    logs = folder / f"logs-{size}-{sample}"
    command = [sys.executable, "-m", "casewise", "replay", str(talks), "-m", MODEL]
    command += ["--log-dir", str(logs), "--max-connections", str(CONNECTIONS), "--format", "json"]
    command += ["--sample", str(sample)] if sample else []
    env = dict(os.environ) | {"LOCAL_API_KEY": "none", "LOCAL_BASE_URL": url}
    started = time.perf_counter()
    with (folder / "err.txt").open("w") as errors:
        process = subprocess.Popen(
            command, env=env, stdout=subprocess.PIPE, stderr=errors, text=True
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if status:
        sys.exit(f"casewise replay failed: {(folder / 'err.txt').read_text()[-2000:]}")
    found = json.loads(printed)
    # Linux counts in kB, macOS in bytes.
    unit = 1e9 if sys.platform == "darwin" else 1e6
    rates = {one["category"]: one for one in found["rates"]}
    cpu = usage.ru_utime + usage.ru_stime
    return Replayed(size, found["asked"], seconds, cpu, usage.ru_maxrss / unit, rates)


def show(one: Replayed) -> None:
    print(f"{one.size:,} conversations, {one.asked:,} asked: {one.seconds:.0f} s, ", end="")
    print(f"{one.cpu_s:.0f} s of the processor, {one.peak_gb:.2f} GB at most")
    for name, rate in RATES.items():
        for change in ("newly_refused", "newly_answered"):
            found = one.rates[name][change]
            low, high = found["interval"]
            print(
                f"  {change} planted {rate:g}: {found['value']:.5f} ({low:.5f} to {high:.5f}), "
                f"{found['events']} of {found['compared']:,}; as {found['effective_size']:,.0f}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--serve", action="store_true", help="be the server")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    with tempfile.TemporaryDirectory() as made, serving() as url:
        wholes = []
        for size in options.sizes:
            for sample in (None, size // 10):
                one = replay(Path(made), url, size, sample)
                show(one)
                wholes += [one] if sample is None else []
    failing = [f"MISSED: {one.peak_gb:.2f} GB" for one in wholes if one.peak_gb > LIMIT_GB]
    if len(wholes) > 1:
        first, last = wholes[0], wholes[-1]
        slope = math.log(last.cpu_s / first.cpu_s) / math.log(last.size / first.size)
        print(f"the processor's seconds grow with exponent {slope:.2f}")
        failing += [f"MISSED: exponent {slope:.2f}"] if slope > 1.1 else []
    if failing:
        sys.exit("\n".join(failing))


if __name__ == "__main__":
    main()
