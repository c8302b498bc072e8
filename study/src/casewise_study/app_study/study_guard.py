"""Entry to the study: rate limits, cookies and forms, links that Prolific signs, and the guard."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
import jwt
from fastapi import Request, Response
from itsdangerous import BadSignature, Signer, URLSafeSerializer, URLSafeTimedSerializer
from limits import RateLimitItem, parse_many
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from casewise.cases import digest
from casewise.errors import UsageError
from casewise_study.app_base import App, Guard, Write, constant_time_equal, security_headers
from casewise_study.store.study_store import Visitor
from casewise_study.study.accounts import Secrets
from casewise_study.study.schema import Platform

SIGNATURES = {Platform.PROLIFIC: "prolific_token", Platform.NONE: "signature"}
"""Name of a link's signature in the address."""

PROLIFIC_KEYS = "https://api.prolific.com/.well-known/study/jwks.json"
ISSUER = "https://www.prolific.com"

_FRESH = 12 * 3600
"""Seconds for which keys are used; Prolific asks to renew them daily at least."""

_PAUSE = 60
"""Seconds before unknown keys are asked for again."""

_CLOCKS = 60
"""Seconds that two computers' clocks may differ."""


class KeysUnavailableError(Exception):
    """Prolific's keys can't be fetched at the moment."""


class ProlificLinks:
    """Check signed links for one study's address: who follows one is the person whose id it has.

    Prolific adds ``prolific_token`` to a study's address where *Secured external URL* is on: a JSON
    Web Token (RFC 7519) signed with RS256 (RFC 7518, section 3.3), whose keys Prolific publishes.
    """

    def __init__(self, origin: str, keys: str = PROLIFIC_KEYS) -> None:
        """Fetch nothing yet.

        Args:
            origin: The study's, which a token must be made for.
            keys: The address of the keys.
        """
        self._origin = origin
        self._address = keys
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = -float("inf")
        self._lock = threading.Lock()

    def holds(self, given: Mapping[str, str]) -> bool:
        """Tell if a link's token is Prolific's, still valid, for this study and these parameters.

        Args:
            given: All parameters of the address.

        Raises:
            KeysUnavailableError: The keys can't be fetched.
        """
        token = given.get(SIGNATURES[Platform.PROLIFIC], "")
        try:
            key = self._key(str(jwt.get_unverified_header(token).get("kid")))
            if key is None:
                return False
            # The audience is ours to read: Prolific may write the study's origin or its host.
            claims = jwt.decode(
                token,
                key,
                algorithms=["RS256"],
                issuer=ISSUER,
                leeway=_CLOCKS,
                options={
                    "require": ["exp", "iss", "aud"],
                    "verify_aud": False,
                    "enforce_minimum_key_length": True,
                },
            )
            return self._fits(claims, given)
        # One that no reader of addresses takes is a ValueError.
        except (jwt.PyJWTError, ValueError, RecursionError):
            return False

    def _fits(self, claims: dict[str, Any], given: Mapping[str, str]) -> bool:
        meant, signed = claims["aud"], claims.get("prolific")
        audience = [str(one) for one in (meant if isinstance(meant, list) else [meant])]
        origins = ["{0.scheme}://{0.netloc}".format(urlsplit(one)) for one in audience]
        own = (self._origin, urlsplit(self._origin).netloc)
        return (
            any(one in own for one in (*audience, *origins))
            and isinstance(signed, dict)
            and "PROLIFIC_PID" in signed
            and all(given.get(name, value) == value for name, value in signed.items())
        )

    def _key(self, name: str) -> jwt.PyJWK | None:
        with self._lock:
            age = time.monotonic() - self._fetched
            if age > _FRESH or (name not in self._keys and age > _PAUSE):
                self._fetch()
            return self._keys.get(name)

    def _fetch(self) -> None:
        try:
            response = httpx.get(self._address, timeout=5).raise_for_status()
            found = jwt.PyJWKSet.from_dict(response.json())
            self._keys = {key.key_id: key for key in found.keys if key.key_id}
        except (httpx.HTTPError, ValueError, AttributeError, TypeError, jwt.PyJWTError) as error:
            raise KeysUnavailableError(type(error).__name__) from error
        self._fetched = time.monotonic()


DEFAULT_RATE = "300/second"


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of the study's server."""

    origin: str
    """Address that people reach it by, such as ``https://study.example``; without a path."""
    behind_proxy: bool = False
    """True if the last address of all X-Forwarded-For lines is the person's."""
    rate: str | None = DEFAULT_RATE
    """Requests that one address may make, in the notation of ``limits``; None is any number."""
    newcomers: str | None = None
    """People without a signed link who may begin from one address range, in the same notation."""
    log: Path | None = None
    """File of requests, without content; None writes none."""
    prolific_keys: str = PROLIFIC_KEYS
    """Address of the keys that Prolific signs links with."""

    @property
    def secure(self) -> bool:
        """True if cookies are for https alone."""
        return self.origin.startswith("https:")


_TRIES = "10/minute"


class Rates:
    """Rate limits by address. Addresses are kept in memory only, while they count."""

    def __init__(self, rate: str | None, newcomers: str | None) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        tries = _parsed("--rate", _TRIES)
        self._limits = {"page": _parsed("--rate", rate), "token": tries, "code": tries}
        self._limits["newcomer"] = _parsed("--newcomers", newcomers)
        self.turned_away = 0
        """Times that somebody could not begin, as many had begun from the same address range."""

    def admits(self, what: Literal["page", "token", "code"], request: Request) -> bool:
        """Tell whether an address may ask for a page now, or try a token or a personal code."""
        return self._hit(what, address_range(request.scope["casewise_address"], 32, 64))

    def _hit(self, what: str, place: str) -> bool:
        return all(self._limiter.hit(limit, what, place) for limit in self._limits[what])

    def admits_newcomer(self, request: Request) -> bool:
        """Tell whether one more person may begin from the range of an address.

        Who comes from this computer is not counted: a proxy here would stand for everybody.
        """
        place = address_range(request.scope["casewise_address"])
        if place in _OWN or self._hit("newcomer", place):
            return True
        self.turned_away += 1
        return False


class Arrivals:
    """Arrivals of people by address range; kept in memory only, while the minutes last."""

    def __init__(self, minutes: float) -> None:
        self._minutes = minutes
        self._last: dict[str, tuple[datetime, str]] = {}
        self._lock = threading.Lock()

    def near(self, address: str, key: str, now: datetime) -> str | None:
        """Note somebody who begins, and tell who began last from the same range within minutes."""
        if not self._minutes:
            return None
        place = address_range(address)
        oldest = now - timedelta(minutes=self._minutes)
        with self._lock:
            self._last = {at: last for at, last in self._last.items() if last[0] >= oldest}
            _, other = self._last.get(place, (now, key))
            self._last[place] = (now, key)
        return other if other != key else None


def address_range(address: str, v4: int = 24, v6: int = 56) -> str:
    """The range that an address is in, of so many bits; the text itself of what is none.

    One computer has 2^64 addresses of IPv6, and may take another for each request.
    """
    try:
        ip = ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped is not None:
        ip = ip.ipv4_mapped
    return str(ip_network(f"{ip}/{v4 if ip.version == 4 else v6}", strict=False))


_OWN = (address_range("127.0.0.1"), address_range("::1"))


def _parsed(option: str, rate: str | None) -> list[RateLimitItem]:
    try:
        return parse_many(rate) if rate else []
    except ValueError:
        raise UsageError(f"{option}: {rate!r} is not a rate, such as 300/second") from None


SESSION_SECONDS = 180 * 24 * 3600
_ADMIN_SECONDS = 12 * 3600


class Sessions:
    """Sign and check cookies, personal addresses and forms with the study's secret."""

    def __init__(self, keys: Secrets, study_id: str, *, secure: bool) -> None:
        self._admin = keys.admin
        self._visits = URLSafeTimedSerializer(keys.derived("session"), salt="visit")
        self._admins = URLSafeTimedSerializer(keys.derived("session"), salt="admin")
        self._addresses = URLSafeSerializer(keys.derived("address"), salt="resume")
        self._forms = Signer(keys.derived("form"), salt="form")
        prefix = "__Host-" if secure else ""
        # The ports of a host share cookies, and so do studies that follow each other on one.
        self.cookie = f"{prefix}casewise_{digest(study_id)[:8]}"
        self.admin_cookie = f"{self.cookie}_admin"

    def visit(self, visitor: Visitor) -> str:
        """The cookie of a visitor or person."""
        named = [visitor.key, visitor.platform_key, visitor.panel, visitor.signed, visitor.earlier]
        return self._visits.dumps(named)

    def read_visit(self, cookie: str) -> Visitor | None:
        """Read a visitor's cookie; None if it was not signed here or is too old."""
        said = _read(self._visits, cookie, SESSION_SECONDS)
        return Visitor(*said) if said is not None and len(said) == len(fields(Visitor)) else None

    def token(self, key: str) -> str:
        """The signed token in a person's own address."""
        return self._addresses.dumps(key)

    def read_token(self, token: str) -> str | None:
        """The key of the person whose address it is."""
        try:
            return str(self._addresses.loads(token))
        except BadSignature:
            return None

    def form(self, key: str) -> str:
        """The CSRF token of a person's forms."""
        return self._forms.get_signature(key).decode()

    def fits(self, key: str, given: str) -> bool:
        """Tell whether a CSRF token is this person's."""
        return constant_time_equal(given, self.form(key))

    def is_admin_token(self, given: str) -> bool:
        """Tell whether a token is the administrator's."""
        return constant_time_equal(given, self._admin)

    def admin(self) -> str:
        """The administrator's cookie; a new token invalidates it."""
        return self._admins.dumps(digest(self._admin))

    def read_admin(self, cookie: str) -> bool:
        """Tell whether the cookie is the administrator's."""
        token = _read(self._admins, cookie, _ADMIN_SECONDS)
        return constant_time_equal(str(token), digest(self._admin))


def _read(signed: URLSafeTimedSerializer, cookie: str, seconds: float) -> Any:
    """The content of a cookie; None if it was not signed here or is older than ``seconds``."""
    try:
        said, made = signed.loads(cookie, return_timestamp=True)
    except BadSignature:
        return None
    # Below 0 after the clock was set back, which makes no cookie worthless.
    return said if time.time() - made.timestamp() <= seconds else None


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
        """Tell whether the origin, where a browser tells it, is the study's."""
        if origin is None or origin == self._settings.origin:
            return True
        host = urlsplit(origin).netloc
        return bool(host) and not self._settings.secure and host == request.headers.get("host")

    def refuse(self, status: int, reason: str) -> Response:
        """A line of text."""
        return Response(reason, status, media_type="text/plain")

    def _address(self, request: Request) -> str:
        # Some proxies append a line, not an entry. What stands before was written by whoever asked.
        *_, forwarded = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
        if self._settings.behind_proxy and forwarded.strip():
            return forwarded.strip()
        return request.client.host if request.client else "-"
