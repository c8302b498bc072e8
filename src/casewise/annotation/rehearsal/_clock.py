"""Time that runs faster: a study of two hours is rehearsed in minutes."""

from collections.abc import Callable
from datetime import UTC, datetime

from casewise.annotation.store import steady_clock

_ANCHOR = datetime(2026, 1, 1, tzinfo=UTC)
"""Fixed, so that a server that is started again tells the same time."""


def fast_clock(speed: float) -> Callable[[], datetime]:
    """The time of a study in which everything happens ``speed`` times as fast.

    People who think for 10 seconds do so in ``10 / speed``; leases, least times and recorded times
    are in the study's own time.
    """
    steady = steady_clock()

    def now() -> datetime:
        return _ANCHOR + (steady() - _ANCHOR) * speed

    return now
