"""What a run does without while it lasts."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from inspect_ai.agent._acp import transport

ALLOCATED = 50_000
"""Objects made between two passes of the garbage collector. Python's own 700 are made within a
case, and the passes that follow from them take a fifth of a run's processor time."""


@contextmanager
def frugally() -> Iterator[None]:
    """Look for cyclic garbage seldom, and open no sessions that nobody can join.

    What there was before the block is not looked at again until it ends. An editor could join
    each sample's session through a server that casewise doesn't start.
    """
    # Sessions within a session are empty; a later Inspect may know this by another name.
    within = getattr(transport, "_acp_live_active", None)
    token = within.set(True) if within is not None else None
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(ALLOCATED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
        if within is not None:
            within.reset(token)
