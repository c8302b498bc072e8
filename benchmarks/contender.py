"""One way to send the prompts of a run to a server, timed in a process of its own.

Started by ``speed.py``; prints one line of JSON. All send the same requests: the messages that
casewise makes of the cases, at temperature 0. A few requests go first and are not counted.
"""

import argparse
import asyncio
import json
import tempfile
import threading
import time
import urllib.request
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "openai-api/local/fake"
KEY = "benchmark"
WARM = 20
TICK_S = 0.02


@dataclass(frozen=True, slots=True)
class Work:
    url: str
    cases: str
    limit: int
    connections: int
    protocol: str

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/v1")


class ProcessorClock:
    """The processor time of this process and its children, kept over time.

    The first request of a run goes out deep inside of it; what had been used by then is looked up
    afterwards by the time at which the server saw it.
    """

    def __init__(self) -> None:
        self._times: list[float] = []
        self._used: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        while not self._done.wait(TICK_S):
            self._times.append(time.monotonic())
            self._used.append(time.process_time())

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def since(self, moment: float) -> float:
        """Processor seconds from a moment until now."""
        place = min(bisect_left(self._times, moment), len(self._used) - 1)
        return time.process_time() - self._used[place]


def seen(work: Work) -> dict[str, Any]:
    """What the server saw since it was last asked."""
    with urllib.request.urlopen(f"{work.origin}/seen") as response:
        found: dict[str, Any] = json.load(response)
    return found


def requests_of(work: Work) -> list[dict[str, Any]]:
    """The bodies of the requests, as casewise makes them."""
    from casewise.options import ConditionOptions
    from casewise.runs.condition import make_condition
    from casewise.runs.samples import to_sample
    from casewise.runs.sampling import make_draw

    asked = ConditionOptions(cases=work.cases, protocol=work.protocol, limit=work.limit)
    condition, draw = make_condition(asked), make_draw(asked, NAME)
    options = draw.config.model_dump(exclude_none=True)
    return [
        {
            "model": "fake",
            "messages": [{"role": one.role, "content": one.text} for one in sample.input],
        }
        | options
        for sample in (to_sample(unit, condition, draw) for unit in condition.units)
        if not isinstance(sample.input, str)
    ]


async def _all(
    bodies: list[dict[str, Any]], connections: int, ask: Callable[[dict[str, Any]], Awaitable[Any]]
) -> list[Any]:
    """Ask everything, ``connections`` at a time."""
    gate = asyncio.Semaphore(connections)

    async def one(body: dict[str, Any]) -> Any:
        async with gate:
            return await ask(body)

    return await asyncio.gather(*(one(body) for body in bodies))


def bare(work: Work) -> dict[str, float]:
    """The asynchronous client of ``openai`` behind a semaphore."""
    from openai import AsyncOpenAI

    bodies = requests_of(work)

    async def main() -> dict[str, float]:
        client = AsyncOpenAI(base_url=work.url, api_key=KEY)

        async def ask(body: dict[str, Any]) -> str | None:
            completion = await client.chat.completions.create(**body)
            return completion.choices[0].message.content

        return await _timed_in_loop(work, bodies, ask)

    return asyncio.run(main())


def casewise(work: Work) -> dict[str, float]:
    """The evaluation function that ``casewise run`` calls."""
    from casewise.runs import make_plan, run_cells

    def judge(name: str, limit: int) -> None:
        asked = {
            "model": name,
            "cases": str(work.cases),
            "protocol": work.protocol,
            "limit": limit,
            "max_connections": work.connections,
            "model_base_url": work.url,
        }
        with tempfile.TemporaryDirectory() as folder:
            result = run_cells(make_plan(asked).cells, Path(folder))
            assert result.complete

    judge(f"{NAME}-warm", WARM)
    return _timed(work, lambda: judge(NAME, work.limit))


def runner(work: Work) -> dict[str, float]:
    """The same judge under Inspect's own runner, as ``inspect eval`` runs it, set up leanly."""
    from inspect_ai import eval as run_task

    from casewise.runs.tasks import judge

    def ask(name: str, limit: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (log,) = run_task(
                judge(protocol=work.protocol, cases=work.cases, limit=limit),
                model=name,
                model_base_url=work.url,
                max_connections=work.connections,
                log_dir=folder,
                display="none",
                log_realtime=False,
                score_display=False,
                log_buffer=100,
            )
            assert log.status == "success"

    ask(f"{NAME}-warm", WARM)
    return _timed(work, lambda: ask(NAME, work.limit))


async def _timed_in_loop(
    work: Work, bodies: list[dict[str, Any]], ask: Callable[[dict[str, Any]], Awaitable[Any]]
) -> dict[str, float]:
    await _all(bodies[:WARM], work.connections, ask)
    seen(work)
    clock = ProcessorClock()
    await _all(bodies, work.connections, ask)
    return _measured(work, clock)


def _timed(work: Work, ask_all: Callable[[], Any]) -> dict[str, float]:
    seen(work)
    clock = ProcessorClock()
    ask_all()
    return _measured(work, clock)


def _measured(work: Work, clock: ProcessorClock) -> dict[str, float]:
    ended = time.monotonic()
    found = seen(work)
    clock.stop()
    assert found["requests"] >= work.limit, found
    return {
        "seconds": ended - found["first"],
        "cpu_ms": 1000 * clock.since(found["first"]) / work.limit,
        "requests": found["requests"],
        "most_waiting": found["most_waiting"],
        "tail_s": ended - found["last"],
    }


CONTENDERS = {one.__name__: one for one in (bare, casewise, runner)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("contender", choices=sorted(CONTENDERS))
    parser.add_argument("--url", required=True)
    parser.add_argument("--cases", required=True)
    parser.add_argument("--limit", type=int, default=900)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--protocol", default="binary")
    options = vars(parser.parse_args())
    contender = CONTENDERS[options.pop("contender")]
    print(json.dumps(contender(Work(**options))))


if __name__ == "__main__":
    main()
