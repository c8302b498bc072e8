"""Tell whoever listens that a case was judged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from casewise.protocols import Status

Observer = Callable[[Status], None]
"""Called with the status of each judgement, and with ``error`` for each failed attempt at one."""

_observers: list[Observer] = []


def observe(status: Status) -> None:
    """Report one judged case, or a failed attempt at one."""
    for observer in _observers:
        observer(status)


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Listen while the block runs."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)
