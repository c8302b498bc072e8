"""An OpenAI-compatible server that answers each request after a fixed time.

It runs in a process of its own, keeps any number of requests waiting at once, and takes a tenth
of a millisecond or two of the processor for each, so that it is never what is measured.

    python benchmarks/latency_server.py --latency 1.0     # prints its address
"""

import argparse
import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any

from aiohttp import web

VERDICT = {
    "explanation": "The recipient works in a field where this is needed, and the sender's platform "
    "was made for it; the transmission principle asks for care, which the answer can take.",
    "verdict": "safe",
}
TOKENS = {"safe": -0.2, "unsafe": -1.8, **{f"other{n}": -6.0 - n for n in range(18)}}


@dataclass
class Seen:
    """What arrived since the last reset, on the clock that all processes share."""

    first: float | None = None
    last: float = 0.0
    requests: int = 0
    waiting: int = 0
    most_waiting: int = 0


class LatencyServer:
    """Answers with a verdict, or with a first token and its log-probabilities where asked."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.seen = Seen()
        self._text = json.dumps(_completion(_choice(json.dumps(VERDICT)))).encode()
        self._token = json.dumps(_completion(_first_token())).encode()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a completion after the latency; ``GET`` tells what was seen, and resets it."""
        if request.method == "GET":
            told, self.seen = self.seen, Seen()
            return web.json_response(vars(told))
        seen = self.seen
        seen.first = seen.first or time.monotonic()
        seen.requests += 1
        seen.waiting += 1
        seen.most_waiting = max(seen.most_waiting, seen.waiting)
        body = await request.read()
        await asyncio.sleep(self.latency)
        seen.waiting -= 1
        seen.last = time.monotonic()
        answer = self._token if b'"top_logprobs"' in body else self._text
        return web.Response(body=answer, content_type="application/json")


def _completion(choice: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "fake",
        "object": "chat.completion",
        "created": 0,
        "model": "fake",
        "choices": [choice],
        "usage": {"prompt_tokens": 400, "completion_tokens": 40, "total_tokens": 440},
    }


def _choice(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}


def _first_token() -> dict[str, Any]:
    tops = [
        {"token": token, "logprob": logprob, "bytes": list(token.encode())}
        for token, logprob in TOKENS.items()
    ]
    return _choice("safe") | {"logprobs": {"content": [tops[0] | {"top_logprobs": tops}]}}


async def serve(latency: float) -> None:
    """Serve until the process is ended."""
    runner = web.ServerRunner(web.Server(LatencyServer(latency).handle, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=1024).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--latency", type=float, default=1.0)
    asyncio.run(serve(parser.parse_args().latency))


if __name__ == "__main__":
    main()
