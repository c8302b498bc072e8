"""Batches of requests: Inspect collects, sends and follows them; casewise says which models can."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import Context

from casewise.errors import UsageError
from casewise.evaluation.models._faults import FaultObserver, redacted
from casewise.evaluation.models._seam import MOVED, batcher

PRICE = 0.5
"""Price of a token in a batch, as a share of its usual price."""

PROVIDERS = frozenset({"anthropic", "google", "grok", "openai", "together"})
"""Providers whose batch interface Inspect knows; any other would be asked live."""

AT_ONCE = 5_000
"""Most cases of a model that wait for batches at the same time; each takes about 70 kB."""

NOTE = (
    "--batch: a batch that can't be created, expires or is cancelled, or whose run is stopped or "
    "killed, may be paid again"
)

_HOSTS = frozenset({"azure", "bedrock", "vertex"})
"""Other companies that host the models, whose batches Inspect does not know."""

_AGAIN_S = 15.0
"""Seconds until batches are sent again after one could not be: as long as Inspect collects them."""


def check_batches(*models: str | None) -> None:
    """Refuse models that Inspect would ask live.

    Raises:
        UsageError: Inspect knows no batch interface for a model, or has changed it.
    """
    if "batch" in MOVED:
        raise UsageError(
            "--batch: this release of Inspect collects batches otherwise: leave --batch out, or "
            "install inspect-ai 0.3.285"
        )
    for model in filter(None, models):
        provider, _, name = model.partition("/")
        if provider not in PROVIDERS or name.split("/")[0] in _HOSTS:
            known = ", ".join(f"{provider}/..." for provider in sorted(PROVIDERS))
            raise UsageError(
                f"--batch: no batch interface is known for {model}: leave --batch out, or choose "
                f"a model of {known} (not one hosted by Azure, Bedrock or Vertex)"
            )


async def _work_on(worker: Callable[[], Awaitable[None]]) -> None:
    """Run one of Inspect's workers, which collects and follows the batches of a model.

    It ends with the first batch that can't be created, and Inspect would never begin another.
    """
    while True:
        try:
            return await worker()
        except Exception:
            # The requests of that batch have got the error.
            await asyncio.sleep(_AGAIN_S)


@contextmanager
def batches_followed(tell: FaultObserver | None) -> Iterator[None]:
    """Have the batches of a block followed, and tell what Inspect says of them."""
    tasks = set["asyncio.Task[None]"]()

    def start(worker: Callable[[], Awaitable[None]]) -> None:
        # Outside of the context of the case that needs it first.
        task = asyncio.get_running_loop().create_task(_work_on(worker), context=Context())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def say(line: str) -> None:
        if tell is not None:
            # A provider's own words may quote what was asked.
            tell("batches", redacted(line.partition(" Error: ")[0]))

    ours = {"run_in_background": start, "log_batch": say, "emit_batch_status": lambda _: None}
    before = {name: getattr(batcher, name) for name in ours}
    vars(batcher).update(ours)
    try:
        yield
    finally:
        vars(batcher).update(before)
