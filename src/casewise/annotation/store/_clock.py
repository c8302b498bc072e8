"""A clock that setting the computer's time does not move."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time of this computer."""
    return datetime.now(UTC)


def _elapsed() -> float:
    """Seconds that have passed, whatever the clock was set to; asleep or awake."""
    steady = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if steady is None else time.clock_gettime(steady)


def steady_clock(start: Clock = utc_now, elapsed: Callable[[], float] = _elapsed) -> Clock:
    """The time of this computer as it is now, running evenly from here on.

    When the computer's clock is set, forwards or back, nobody has waited an hour or answered before
    the page was shown: leases and times of pages are differences of this clock.

    Args:
        start: Asked once.
        elapsed: Seconds since whenever.
    """
    began, zero = start(), elapsed()
    return lambda: began + timedelta(seconds=elapsed() - zero)
