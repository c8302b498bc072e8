"""Cookies, forms and personal addresses by the study's secret, and links that Prolific signs."""

import secrets
import threading
import time
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
from itsdangerous import BadSignature, Signer, URLSafeSerializer, URLSafeTimedSerializer

from casewise.cases import digest
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

SESSION_SECONDS = 180 * 24 * 3600
_ADMIN_SECONDS = 12 * 3600


def constant_time_equal(value: str, expected: str) -> bool:
    """Compare two texts in constant time."""
    return secrets.compare_digest(value.encode(), expected.encode())


class KeysUnavailableError(Exception):
    """Prolific's keys can't be fetched at the moment."""


class ProlificLinks:
    """Check signed links for one study's address: who follows one is the person whose id it has.

    Prolific adds ``prolific_token`` to a study's address where *Secured external URL* is on: a JSON
    Web Token (RFC 7519) signed with RS256 (RFC 7518, section 3.3), whose keys Prolific publishes.
    """

    def __init__(self, origin: str) -> None:
        """Fetch nothing yet; ``origin`` is the study's, which a token must be made for."""
        self._own = (origin, urlsplit(origin).netloc)
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = -float("inf")
        self._lock = threading.Lock()

    def holds(self, parameters: Mapping[str, str]) -> bool:
        """Tell if a link's token is Prolific's, still valid, for this study and these parameters.

        Args:
            parameters: All that the address has.

        Raises:
            KeysUnavailableError: The keys can't be fetched.
        """
        token = parameters.get(SIGNATURES[Platform.PROLIFIC], "")
        try:
            key = self._key(str(jwt.get_unverified_header(token).get("kid")))
            if key is None:
                return False
            # The audience is ours to read: Prolific may write the study's origin or its host.
            options: Any = {"require": ["exp", "iss", "aud"], "verify_aud": False}
            options["enforce_minimum_key_length"] = True
            claims = jwt.decode(token, key, ["RS256"], options, issuer=ISSUER, leeway=_CLOCKS)
            return self._fits(claims, parameters)
        # One that no reader of addresses takes is a ValueError.
        except (jwt.PyJWTError, ValueError, RecursionError):
            return False

    def _fits(self, claims: dict[str, Any], parameters: Mapping[str, str]) -> bool:
        raw_audience, signed = claims["aud"], claims.get("prolific")
        audience = [
            str(address)
            for address in (raw_audience if isinstance(raw_audience, list) else [raw_audience])
        ]
        origins = ["{0.scheme}://{0.netloc}".format(urlsplit(address)) for address in audience]
        return (
            any(origin in self._own for origin in (*audience, *origins))
            and isinstance(signed, dict)
            and "PROLIFIC_PID" in signed
            and all(parameters.get(name, value) == value for name, value in signed.items())
        )

    def _key(self, name: str) -> jwt.PyJWK | None:
        with self._lock:
            age = time.monotonic() - self._fetched
            if age > _FRESH or (name not in self._keys and age > _PAUSE):
                try:
                    response = httpx.get(PROLIFIC_KEYS, timeout=5).raise_for_status()
                    key_set = jwt.PyJWKSet.from_dict(response.json())
                except (httpx.HTTPError, ValueError, AttributeError, TypeError, jwt.PyJWTError):
                    raise KeysUnavailableError from None
                self._keys = {key.key_id: key for key in key_set.keys if key.key_id}
                self._fetched = time.monotonic()
            return self._keys.get(name)


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
        return self._visits.dumps(astuple(visitor))

    def read_visit(self, cookie: str) -> Visitor | None:
        """Read a visitor's cookie; None if it was not signed here or is too old."""
        data = _read(self._visits, cookie, SESSION_SECONDS)
        return Visitor(*data) if data is not None and len(data) == len(fields(Visitor)) else None

    def token(self, key: str) -> str:
        """The last part of a person's own address."""
        return str(self._addresses.dumps(key))

    def read_token(self, token: str) -> str | None:
        """The key of the person whose address it is."""
        try:
            return str(self._addresses.loads(token))
        except BadSignature:
            return None

    def form(self, key: str) -> str:
        """The CSRF token of a person's forms."""
        return self._forms.get_signature(key).decode()

    def fits(self, key: str, token: str) -> bool:
        """Tell whether a CSRF token is this person's."""
        return constant_time_equal(token, self.form(key))

    def is_admin_token(self, token: str) -> bool:
        """Tell whether a token is the administrator's."""
        return constant_time_equal(token, self._admin)

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
        content, signed_at = signed.loads(cookie, return_timestamp=True)
    except BadSignature:
        return None
    # Below 0 after the clock was set back, which makes no cookie worthless.
    return content if time.time() - signed_at.timestamp() <= seconds else None
