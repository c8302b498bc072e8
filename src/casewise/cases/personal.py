"""Patterns of personal data, with checksums where there are any."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_STREET = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Terrace|"
    "Place|Pl|Way|Highway|Hwy"
)
_STREET_NAME = r"(?:St\.|[A-ZÀ-ÖØ-Þ][\w'’-]+|\d{1,3}(?:st|nd|rd|th))"


@dataclass(frozen=True, slots=True)
class PersonalDataMatch:
    """A piece of a text that looks like personal data."""

    kind: str
    """A key of ``PATTERNS``."""
    start: int
    stop: int
    text: str
    is_fiction: bool
    """True if it is reserved for examples and fiction, and so nobody's."""


_MARKED = re.compile(r"[\d@]|:[0-9A-Fa-f]{0,4}:")
"""Signs of which every such piece has one; most texts have none."""


def find_personal_data(text: str) -> Iterator[PersonalDataMatch]:
    """Find pieces that look like personal data, kind by kind; none overlap."""
    if not _MARKED.search(text):
        return
    spans: list[range] = []
    for kind, (pattern, holds) in PATTERNS.items():
        for match in pattern.finditer(text):
            here = range(*match.span())
            if any(here.start < span.stop and span.start < here.stop for span in spans):
                continue
            piece = match.group()
            if holds(piece):
                spans.append(here)
                fiction = kind in _FICTION and _FICTION[kind](piece)
                yield PersonalDataMatch(kind, here.start, here.stop, piece, fiction)


def _luhn(text: str) -> bool:
    """Verify the checksum of a card number: ISO/IEC 7812-1, annex B."""
    digits = [int(letter) for letter in text if letter.isdigit()]
    doubled = [
        digit if at % 2 == 0 else sum(divmod(2 * digit, 10))
        for at, digit in enumerate(reversed(digits))
    ]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    """Verify the checksum of an account number: ISO 13616, remainder 1 of 97."""
    packed = re.sub(r"\s", "", text)
    moved = packed[4:] + packed[:4]
    return (
        15 <= len(packed) <= 34 and int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1
    )


def _address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _phone(text: str) -> bool:
    return 8 <= len(re.sub(r"\D", "", text)) <= 15


_FICTION: dict[str, Callable[[str], bool]] = {
    # Domains that RFC 2606 keeps for examples.
    "e-mail address": lambda text: (
        re.search(r"[@.](example(\.\w+)?|test|invalid|localhost)$", text.casefold()) is not None
    ),
    # Private networks, and those kept for documentation.
    "IP address": lambda text: not ipaddress.ip_address(text).is_global,
    # 555-01xx, in North America.
    "phone number": lambda text: re.search(r"55501\d\d$", re.sub(r"\D", "", text)) is not None,
}
"""Checks for data that are reserved for examples and fiction."""


PATTERNS: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "e-mail address": (
        re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b"),
        bool,
    ),
    "account number": (re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b"), _iban),
    "card number": (re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-])"), _luhn),
    "US social security number": (
        re.compile(r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\d-])"),
        bool,
    ),
    "UK national insurance number": (
        re.compile(r"\b(?![DFIQUV])[A-Z](?![DFIOQUV])[A-Z] ?\d\d ?\d\d ?\d\d ?[A-D]\b"),
        bool,
    ),
    "IP address": (
        re.compile(
            r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})"
            r"(?![\w:]|\.\d)"
        ),
        _address,
    ),
    "phone number": (
        re.compile(
            r"(?<![\w.+-])(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"
            r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|\d{3}[.-]\d{3}[.-]\d{4})(?![\w-]|\.\d)"
        ),
        _phone,
    ),
    "street address": (
        re.compile(
            rf"\b\d{{1,5}}[A-Za-z]? (?:{_STREET_NAME} ){{1,3}}(?:{_STREET})\b\.?(?! [a-z]+ of)"
        ),
        bool,
    ),
    "social handle": (re.compile(r"(?<![\w@./])@[A-Za-z]\w{2,29}\b(?!\.\w)"), bool),
}
"""Pattern and check of each kind. The first kind that fits counts."""
