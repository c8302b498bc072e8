"""People's accounts: ids from platforms, made into pseudonyms by keyed hashes."""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from urllib.parse import unquote

from casewise.annotation.study.schema import Platform

PSEUDONYM = 16
"""Hexadecimal digits of a pseudonym: 64 bits, so that a thousand people collide with p < 1e-13."""


def keyed_hash(key: bytes, text: str) -> str:
    """HMAC-SHA256 (RFC 2104) of a text in UTF-8: 64 hexadecimal digits.

    Whoever has no key can't try texts until one fits.
    """
    return hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def hash_platform_id(salt: bytes, id: str) -> str:
    """The pseudonym of a platform's name for a person, always the same under one salt.

    The keyed hash of the name without white space around it, cut to ``PSEUDONYM`` digits.

    Raises:
        ValueError: An empty salt or an empty name.
    """
    name = id.strip()
    if not salt or not name:
        raise ValueError("an empty salt or an empty name")
    return keyed_hash(salt, name)[:PSEUDONYM]


ACCOUNT_PARAMETER = {
    Platform.NONE: "participant",
    Platform.PROLIFIC: "PROLIFIC_PID",
    Platform.MTURK: "workerId",
}
"""What a person's id is called in the address."""

ACCOUNT_FORM = {
    Platform.PROLIFIC: "24 digits from 0 to 9 and a to f",
    Platform.MTURK: "a capital A, then capital letters and digits",
}
"""What an id looks like, in words."""

_FORM = {
    Platform.NONE: re.compile(r".{1,200}", re.DOTALL),
    Platform.PROLIFIC: re.compile(r"[0-9a-f]{24}"),
    # CustomerId in the API's service model.
    Platform.MTURK: re.compile(r"A[A-Z0-9]{0,63}"),
}

_PLACEHOLDER = re.compile(r"[{}\ufffd]|^[\[<%$@#].*[\]>%$@#]$|^[$:]\w+$", re.DOTALL)
"""Marks of survey tools, such as {{%ID%}}, ${ID}, %ID%, [ID]; and what "%AC" of one decodes to."""

_NAMES = {
    *("participant", "participantid", "prolificpid", "pid", "workerid", "assignmentid", "hitid"),
    *("sessionid", "studyid", "assignmentidnotavailable", "workeridnotavailable"),
    *("undefined", "null", "nan"),
}
"""Names of parameters in place of their values, and what scripts write for a value they lack."""

_DECODINGS = 3


class AccountFault(StrEnum):
    """What is wrong with an id."""

    PLACEHOLDER = "placeholder"
    """The platform has not filled it in: everybody who follows the link has the same."""
    MALFORMED = "malformed"
    """The platform gives out no such ids."""
    UNSIGNED = "unsigned"
    """The platform's signature is missing where it must stand, is wrong or has expired."""
    UNCHECKED = "unchecked"
    """The platform's keys can't be fetched at the moment."""


def given_account(platform: Platform, parameters: Mapping[str, str]) -> str | None:
    """The id in an address's parameters; without a platform any of the usual names will do."""
    names = [ACCOUNT_PARAMETER[platform]]
    if platform is Platform.NONE:
        names = [*reversed(ACCOUNT_PARAMETER.values())]
    accounts = (parameters.get(name, "").strip() for name in names)
    return next((account for account in accounts if account), None)


def account_fault(platform: Platform, account: str) -> AccountFault | None:
    """What is wrong with an id; None if it names one person."""
    if any(_is_placeholder(text) for text in _decodings(account)):
        return AccountFault.PLACEHOLDER
    if not _FORM[platform].fullmatch(normal_account(platform, account)):
        return AccountFault.MALFORMED
    return None


def normal_account(platform: str, account: str) -> str:
    """Normalise an id: white space removed, case as the platform writes it."""
    account = account.strip()
    if platform == Platform.PROLIFIC:
        return account.lower()
    return account.upper() if platform == Platform.MTURK else account


def _is_placeholder(text: str) -> bool:
    bare = re.sub(r"[\W_]", "", text).casefold()
    return bool(_PLACEHOLDER.search(text)) or bare in _NAMES


def _decodings(text: str) -> Iterator[str]:
    """The text, and what it is once its percent signs are decoded again: links are pasted twice."""
    for _ in range(_DECODINGS):
        yield text
        text = unquote(text).strip()
