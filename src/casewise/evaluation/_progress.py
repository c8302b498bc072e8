"""Tell whoever listens that a case was judged."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from casewise.protocols import Status

Observer = Callable[[str, str | int, Status], None]
"""Called with the model, the case's id and the status of its judgement."""

_observers: list[Observer] = []


def observe(model: str, case_id: str | int, status: Status) -> None:
    """Report one judged case, or a failed attempt at one."""
    for observer in _observers:
        observer(model, case_id, status)


@contextmanager
def observed_by(observer: Observer) -> Iterator[None]:
    """Listen while the block runs."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)
