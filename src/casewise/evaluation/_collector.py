"""Python's garbage collector, while a run makes many objects that die young without it."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

ALLOCATED = 50_000
"""Objects made between two passes. Python's own 700 are made within a case, and the passes that
follow from them take a fifth of a run's processor time."""


@contextmanager
def fewer_collections() -> Iterator[None]:
    """Look for cyclic garbage seldom, and not among what there was before the block."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(ALLOCATED, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
