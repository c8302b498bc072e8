"""Patterns of personal data, with checksums where there are any; what is found is masked."""

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from casewise.dataset._findings import Finding, Material, counted, plural

_STREET = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Terrace|"
    "Place|Pl|Way|Highway|Hwy"
)


@dataclass(frozen=True, slots=True)
class PersonalData:
    """One piece that looks like personal data."""

    case: str
    kind: str
    """A key of ``PATTERNS``."""
    masked: str
    """Its first and last character, and dots between."""


def _luhn(text: str) -> bool:
    """The checksum of cards: ISO/IEC 7812-1, annex B."""
    digits = [int(letter) for letter in text if letter.isdigit()]
    doubled = [
        digit if at % 2 == 0 else sum(divmod(2 * digit, 10))
        for at, digit in enumerate(reversed(digits))
    ]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and sum(doubled) % 10 == 0


def _iban(text: str) -> bool:
    """The checksum of account numbers: ISO 13616, remainder 1 of 97."""
    packed = re.sub(r"\s", "", text)
    moved = packed[4:] + packed[:4]
    return (
        15 <= len(packed) <= 34 and int("".join(str(int(letter, 36)) for letter in moved)) % 97 == 1
    )


def _public_address(text: str) -> bool:
    """An IP address of a real host, not of an example or a private network."""
    try:
        return ipaddress.ip_address(text).is_global
    except ValueError:
        return False


def _phone(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    # 555-01xx is kept for fiction in North America.
    return 8 <= len(digits) <= 15 and not re.search(r"55501\d\d$", digits)


def _email(text: str) -> bool:
    """Not of the domains kept for examples: RFC 2606."""
    domain = text.rpartition("@")[2].casefold()
    return not re.search(r"(^|\.)(example(\.\w+)?|test|invalid|localhost)$", domain)


def _any(_: str) -> bool:
    return True


PATTERNS: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "e-mail address": (
        re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}\b"),
        _email,
    ),
    "account number": (re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{2,4}){3,8}\b"), _iban),
    "card number": (re.compile(r"(?<![\d.-])\d(?:[ -]?\d){12,18}(?![\d.-])"), _luhn),
    "US social security number": (
        re.compile(r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\d-])"),
        _any,
    ),
    "UK national insurance number": (
        re.compile(r"\b(?![DFIQUV])[A-Z](?![DFIOQUV])[A-Z] ?\d\d ?\d\d ?\d\d ?[A-D]\b"),
        _any,
    ),
    "IP address": (
        re.compile(
            r"(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7})"
            r"(?![\w:]|\.\d)"
        ),
        _public_address,
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
            rf"\b\d{{1,5}}[A-Za-z]? (?:[A-Z][\w'’]+ ){{1,3}}(?:{_STREET})\b\.?(?! [a-z]+ of)"
        ),
        _any,
    ),
    "social handle": (re.compile(r"(?<![\w@./])@[A-Za-z]\w{2,29}\b(?!\.\w)"), _any),
}
"""By kind: what it looks like, and a second look. The first kind that fits counts."""


def personal_data(material: Material) -> tuple[tuple[PersonalData, ...], list[Finding]]:
    """Look for personal data in queries, contexts and earlier turns."""
    personal = []
    for case, context in zip(material.cases, material.contexts, strict=True):
        texts = (case.query, context, *(turn.text for turn in case.history))
        pieces = dict.fromkeys(piece for text in texts for piece in find_personal(text))
        personal += [PersonalData(case.id, kind, masked) for kind, masked in pieces]
    kinds = Counter(piece.kind for piece in personal)
    cases = list(dict.fromkeys(piece.case for piece in personal))
    named = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
    findings = counted(
        "personal-data",
        f"{plural(len(cases), 'case')} with what looks like personal data: {named}. Make sure "
        "that it is invented, and say so, before you publish.",
        cases,
        len(material.cases),
        shown=[f"{piece.case}: {piece.kind} {piece.masked}" for piece in personal],
    )
    return tuple(personal), findings


def find_personal(text: str) -> Iterator[tuple[str, str]]:
    """Kinds and masked pieces of what looks like personal data."""
    taken: list[range] = []
    for kind, (pattern, holds) in PATTERNS.items():
        for match in pattern.finditer(text):
            here = range(*match.span())
            if any(here.start < span.stop and span.start < here.stop for span in taken):
                continue
            if holds(match.group()):
                taken.append(here)
                yield kind, _masked(match.group())


def _masked(text: str) -> str:
    return f"{text[0]}{'•' * min(len(text) - 2, 12)}{text[-1]}"
