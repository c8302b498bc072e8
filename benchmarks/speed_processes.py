"""Processes that ``speed.py`` times: a server that is slow in a known way, and ways to ask it.

    python benchmarks/speed_processes.py serve '{"latency": 1.0}'             # prints its address

All ways send the same requests: the messages that casewise makes of the cases, at temperature 0. A
few requests go first and are not counted. Each way prints one line of JSON.
"""

import asyncio
import json
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace as Options
from typing import Any

NAME = "openai-api/local/fake"
WARM = 20
VERDICT = {
    "explanation": "The recipient works in a field where this is needed, and the sender's platform "
    "was made for it; the transmission principle asks for care, which the answer can take.",
    "verdict": "safe",
}

Ask = Callable[[], object]


def serve(options: Options) -> None:
    """An OpenAI-compatible server that answers each request after a fixed time, until it is ended.

    It keeps any number of requests waiting at once, and takes a tenth of a millisecond or two of
    the processor for each, so that it is never what is measured. ``GET`` tells how many requests
    came since the last ``GET``, and when the first did, on the clock that all processes share.
    """
    from aiohttp import web

    message = {"role": "assistant", "content": json.dumps(VERDICT)}
    completion = {
        **{"id": "fake", "object": "chat.completion", "created": 0, "model": "fake"},
        "choices": [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}],
        "usage": {"prompt_tokens": 400, "completion_tokens": 40, "total_tokens": 440},
    }
    answer, came = json.dumps(completion).encode(), list[float]()

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        if request.method == "GET":
            seen = {"requests": len(came), "first": came[0] if came else None}
            came.clear()
            return web.json_response(seen)
        came.append(time.monotonic())
        await request.read()
        await asyncio.sleep(options.latency)
        return web.Response(body=answer, content_type="application/json")

    async def main() -> None:
        runner = web.ServerRunner(web.Server(handle, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())


def seen(options: Options) -> dict[str, Any]:
    """What the server saw since it was last asked."""
    with urllib.request.urlopen(options.url.removesuffix("/v1")) as response:
        found: dict[str, Any] = json.load(response)
    return found


def timed(options: Options, warm: Ask, ask_all: Ask) -> None:
    """Print what it takes to ask all, from the first request that the server sees."""
    warm()
    seen(options)
    used = time.process_time()
    ask_all()
    ended, used, found = time.monotonic(), time.process_time() - used, seen(options)
    assert found["requests"] >= options.limit, found
    cost = {"seconds": ended - found["first"], "cpu_ms": 1000 * used / options.limit}
    print(json.dumps(cost | {"requests": found["requests"]}))


def bodies_of(options: Options) -> list[dict[str, Any]]:
    """The bodies of the requests, as casewise makes them."""
    from casewise.options import ConditionOptions
    from casewise.runs.condition import make_condition
    from casewise.runs.samples import to_sample
    from casewise.runs.sampling import make_draw

    asked = ConditionOptions(cases=options.cases, protocol="binary", limit=options.limit)
    condition, draw = make_condition(asked), make_draw(asked, NAME)
    settings = draw.config.model_dump(exclude_none=True)
    samples = (to_sample(unit, condition, draw) for unit in condition.units)
    messages = ([{"role": m.role, "content": m.text} for m in sample.input] for sample in samples)
    return [{"model": "fake", "messages": message} | settings for message in messages]


def bare(options: Options) -> None:
    """The asynchronous client of ``openai`` behind a semaphore."""
    from openai import AsyncOpenAI

    bodies, loop = bodies_of(options), asyncio.new_event_loop()
    client = AsyncOpenAI(base_url=options.url, api_key="benchmark")
    gate = asyncio.Semaphore(options.connections)

    async def ask(body: dict[str, Any]) -> None:
        async with gate:
            await client.chat.completions.create(**body)

    async def ask_each(some: list[dict[str, Any]]) -> None:
        await asyncio.gather(*map(ask, some))

    def ask_in_loop(some: list[dict[str, Any]]) -> None:
        loop.run_until_complete(ask_each(some))

    timed(options, lambda: ask_in_loop(bodies[:WARM]), lambda: ask_in_loop(bodies))


def casewise(options: Options) -> None:
    """The function that ``casewise run`` calls, once the run is planned."""
    from casewise.runs import make_plan, run_cells

    def judge(name: str, limit: int) -> Ask:
        asked = {
            **{"model": name, "cases": options.cases, "protocol": "binary", "limit": limit},
            **{"max_connections": options.connections, "model_base_url": options.url},
        }
        cells = make_plan(asked).cells

        def ask() -> None:
            with tempfile.TemporaryDirectory() as folder:
                assert run_cells(cells, Path(folder)).complete

        return ask

    timed(options, judge(f"{NAME}-warm", WARM), judge(NAME, options.limit))


PROCESSES = {one.__name__: one for one in (serve, bare, casewise)}


if __name__ == "__main__":
    name, given = sys.argv[1:]
    PROCESSES[name](Options(**json.loads(given)))
