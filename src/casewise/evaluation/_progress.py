"""Tell whoever listens that a case was judged, or that a model is given up."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from casewise.protocols import Status

Observer = Callable[[Status], None]
"""Called with the status of each judgement, and with ``error`` for each failed attempt at one."""

_observers: list[Observer] = []
_given_up: list[str] = []


def observe(status: Status) -> None:
    """Report one judged case, or a failed attempt at one."""
    for observer in _observers:
        observer(status)


def give_up(reason: str) -> None:
    """Report that a model can't be used at all."""
    _given_up.append(reason)


@contextmanager
def observed_by(observer: Observer) -> Iterator[list[str]]:
    """Listen while the block runs; gives the reasons for which models were given up."""
    _given_up.clear()
    _observers.append(observer)
    try:
        yield _given_up
    finally:
        _observers.remove(observer)
