"""Links that Prolific has signed: who follows one is the person whose id stands in it.

Prolific adds ``prolific_token`` to a study's address where *Secured external URL* is on: a JSON Web
Token (RFC 7519) signed with RS256 (RFC 7518, section 3.3), whose keys Prolific publishes.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

TOKEN_PARAMETER = "prolific_token"
PROLIFIC_KEYS = "https://api.prolific.com/.well-known/study/jwks.json"
ISSUER = "https://www.prolific.com"

_FRESH = 12 * 3600
"""Seconds for which keys are used; Prolific asks to renew them daily at least."""

_PAUSE = 60
"""Seconds before unknown keys are asked for again."""

_CLOCKS = 60
"""Seconds that two computers' clocks may differ."""

_LEAST_BITS = 2048
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")
"""What stands before a SHA-256 digest in a signature (RFC 8017, section 9.2, note 1)."""


class KeysUnavailableError(Exception):
    """Prolific's keys can't be fetched at the moment."""


@dataclass(frozen=True, slots=True)
class RsaKey:
    """A public key."""

    modulus: int
    exponent: int


def is_signed(key: RsaKey, message: bytes, signature: bytes) -> bool:
    """Whether a signature is RSASSA-PKCS1-v1_5 with SHA-256 of a message (RFC 8017, section 8.2.2).

    The whole padded digest is compared, so nothing is parsed that could be forged.
    """
    size = (key.modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if key.modulus.bit_length() < _LEAST_BITS or len(signature) != size or number >= key.modulus:
        return False
    digest = _SHA256 + hashlib.sha256(message).digest()
    expected = b"\0\1" + b"\xff" * (size - len(digest) - 3) + b"\0" + digest
    found = pow(number, key.exponent, key.modulus).to_bytes(size, "big")
    return hmac.compare_digest(found, expected)


class ProlificLinks:
    """Check signed links for one study's address."""

    def __init__(self, origin: str, keys: str = PROLIFIC_KEYS) -> None:
        """Fetch nothing yet.

        Args:
            origin: The study's, which a token must be made for.
            keys: The address of the keys.
        """
        self._origin = origin
        self._address = keys
        self._keys: dict[str, RsaKey] = {}
        self._fetched = -float("inf")
        self._lock = threading.Lock()

    def holds(self, given: Mapping[str, str]) -> bool:
        """Whether a link's token is Prolific's, still valid, for this study and these parameters.

        Args:
            given: All parameters of the address.

        Raises:
            KeysUnavailableError: The keys can't be fetched.
        """
        try:
            head, body, sealed = given.get(TOKEN_PARAMETER, "").split(".")
            header, claims = json.loads(_decoded(head)), json.loads(_decoded(body))
            signature = _decoded(sealed)
            if header["alg"] != "RS256":
                return False
            key = self._key(str(header["kid"]))
            return (
                key is not None
                and is_signed(key, f"{head}.{body}".encode(), signature)
                and self._fits(claims, given)
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False

    def _fits(self, claims: dict[str, Any], given: Mapping[str, str]) -> bool:
        meant = claims["aud"]
        audience = meant if isinstance(meant, list) else [meant]
        origins = {"{0.scheme}://{0.netloc}".format(urlsplit(str(one))) for one in audience}
        hosts = {str(one) for one in audience}
        signed = claims["prolific"]
        return (
            claims["iss"] == ISSUER
            and float(claims["exp"]) > time.time() - _CLOCKS
            and bool({self._origin, urlsplit(self._origin).netloc} & (origins | hosts))
            and "PROLIFIC_PID" in signed
            and all(given.get(name, value) == value for name, value in signed.items())
        )

    def _key(self, name: str) -> RsaKey | None:
        with self._lock:
            age = time.monotonic() - self._fetched
            if age > _FRESH or (name not in self._keys and age > _PAUSE):
                self._fetch()
            return self._keys.get(name)

    def _fetch(self) -> None:
        try:
            response = httpx.get(self._address, timeout=5).raise_for_status()
            self._keys = {
                str(key["kid"]): RsaKey(
                    int.from_bytes(_decoded(key["n"]), "big"),
                    int.from_bytes(_decoded(key["e"]), "big"),
                )
                for key in response.json()["keys"]
                if key["kty"] == "RSA"
            }
        except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
            raise KeysUnavailableError(type(error).__name__) from error
        self._fetched = time.monotonic()


def _decoded(text: str) -> bytes:
    """Base64 for addresses, without the filling."""
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
