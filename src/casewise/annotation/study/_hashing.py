"""Names that platforms give to people, made into pseudonyms."""

import hashlib
import hmac

PSEUDONYM = 16
"""Hexadecimal digits of a pseudonym: 64 bits, so that a thousand people collide with p < 1e-13."""


def hash_platform_id(salt: bytes, id: str) -> str:
    """The pseudonym of a platform's name for a person, always the same under one salt.

    HMAC-SHA256 (RFC 2104) of the name in UTF-8, white space around it dropped, in hexadecimal,
    cut to ``PSEUDONYM`` digits. Whoever has no salt can't try names until one fits.

    Raises:
        ValueError: An empty salt or an empty name.
    """
    name = id.strip()
    if not salt or not name:
        raise ValueError("an empty salt or an empty name")
    digest = hmac.new(salt, name.encode("utf-8", "surrogatepass"), hashlib.sha256)
    return digest.hexdigest()[:PSEUDONYM]
