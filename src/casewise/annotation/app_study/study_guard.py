"""The study server's settings, rate limits and guard."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import datetime
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from fastapi import Request, Response
from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from casewise.annotation.app_base import App, Guard, Write, security_headers
from casewise.annotation.app_study.prolific_links import PROLIFIC_KEYS
from casewise.errors import UsageError

DEFAULT_RATE = "300/second"


@dataclass(frozen=True, slots=True)
class Settings:
    """How the study's server is run."""

    origin: str
    """What people reach it by, such as ``https://study.example``; without a path."""
    behind_proxy: bool = False
    """Whether the last address of X-Forwarded-For is the person's."""
    rate: str | None = DEFAULT_RATE
    """Requests that one address may make, in the notation of ``limits``; None is any number."""
    log: Path | None = None
    """Where requests are written, without content; None writes none."""
    prolific_keys: str = PROLIFIC_KEYS
    """Where the keys are that Prolific signs links with."""

    @property
    def secure(self) -> bool:
        """Whether cookies are for https alone."""
        return self.origin.startswith("https:")


_TRIES = "10/minute"


class Rates:
    """Rate limits by address. Addresses are kept in memory only, while they count."""

    def __init__(self, rate: str | None) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        tries = _parsed(_TRIES)
        self._limits = {"page": _parsed(rate) if rate else [], "token": tries, "code": tries}

    def admits(self, what: Literal["page", "token", "code"], request: Request) -> bool:
        """Whether an address may ask for a page now, or try a token or a personal code."""
        address = request.scope["casewise_address"]
        return all(self._limiter.hit(limit, what, address) for limit in self._limits[what])


class Arrivals:
    """Who began last from which address range; kept in memory only, while the minutes last."""

    def __init__(self, minutes: float) -> None:
        self._minutes = minutes
        self._last: OrderedDict[str, tuple[datetime, str]] = OrderedDict()
        self._lock = threading.Lock()

    def near(self, address: str, key: str, now: datetime) -> str | None:
        """Note somebody who begins, and tell who began last from the same range within minutes."""
        if not self._minutes:
            return None
        place = address_range(address)
        with self._lock:
            while self._last and self._past(next(iter(self._last.values()))[0], now):
                self._last.popitem(last=False)
            _, other = self._last.pop(place, (now, key))
            self._last[place] = (now, key)
        return other if other != key else None

    def _past(self, moment: datetime, now: datetime) -> bool:
        return (now - moment).total_seconds() > 60 * self._minutes


def address_range(address: str) -> str:
    """The range that an address is in: 24 bits of IPv4, 56 of IPv6; the text itself of neither."""
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return str(ip_network(f"{ip}/{24 if ip.version == 4 else 56}", strict=False))


def _parsed(rate: str) -> list[RateLimitItem]:
    try:
        return parse_many(rate)
    except ValueError:
        raise UsageError(f"--rate: {rate!r} is not a rate, such as 300/second") from None


class StudyGuard(Guard):
    """Limits requests by address, and takes changes only from the study's own pages."""

    most_bytes = 64 * 1024

    def __init__(
        self, app: App, settings: Settings, rates: Rates, broken: Response, log: Write
    ) -> None:
        """Guard the study's application; ``broken`` answers what should not happen."""
        headers = security_headers(forms="'self'", referrer="same-origin")
        if settings.secure:
            headers["strict-transport-security"] = "max-age=31536000"
        super().__init__(app, headers, broken, log)
        self._settings = settings
        self._rates = rates

    def check(self, request: Request) -> Response | None:
        """Determine the client's address, and refuse it above the rate limit."""
        request.scope["casewise_address"] = self._address(request)
        if self._rates.admits("page", request):
            return None
        answer = self.refuse(
            429, "Too many requests from this address. Wait a second and reload the page."
        )
        answer.headers["retry-after"] = "1"
        return answer

    def is_own(self, request: Request, origin: str | None) -> bool:
        """Whether the origin, where a browser tells it, is the study's."""
        if origin is None or origin == self._settings.origin:
            return True
        host = urlsplit(origin).netloc
        return bool(host) and not self._settings.secure and host == request.headers.get("host")

    def refuse(self, status: int, reason: str) -> Response:
        """A line of text."""
        return Response(reason, status, media_type="text/plain")

    def _address(self, request: Request) -> str:
        forwarded = request.headers.get("x-forwarded-for")
        if self._settings.behind_proxy and forwarded:
            # What stands before the last was written by whoever asked.
            return forwarded.rsplit(",", 1)[-1].strip()
        return request.client.host if request.client else "-"
