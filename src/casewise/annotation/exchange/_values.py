"""Cells and JSON values read as verdicts, times and numbers."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

from casewise.cases import Side
from casewise.errors import InputError

_ZONES = {"PST": -8, "PDT": -7, "UTC": 0, "GMT": 0}
_TURK = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{1,2} \d\d:\d\d:\d\d) ([A-Z]{3}) (\d{4})")


class Place:
    """Where a value stands, for messages."""

    __slots__ = ("file", "record")

    def __init__(self, file: Path, record: str) -> None:
        self.file = file
        self.record = record

    def refuse(
        self, problem: str, field: str, found: object = ..., expected: str | None = None
    ) -> InputError:
        """The error that names the place."""
        return InputError(
            problem, file=self.file, record=self.record, field=field, found=found, expected=expected
        )


def read_verdict(value: object, place: Place, field: str) -> Side:
    """``safe`` or ``unsafe``, however written."""
    match value.strip().lower() if isinstance(value, str) else None:
        case "safe":
            return "safe"
        case "unsafe":
            return "unsafe"
    raise place.refuse("not a verdict", field, value, "safe or unsafe")


def read_count(value: object, place: Place, field: str) -> int:
    """A whole number from 0."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    text = value.strip() if isinstance(value, str) else ""
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise place.refuse("not a whole number from 0", field, value)
    return int(text)


def read_confidence(value: object, place: Place, field: str) -> int | None:
    """1 to 5, or None for nothing."""
    if value is None or value == "":
        return None
    count = read_count(value, place, field)
    if not 1 <= count <= 5:
        raise place.refuse("not a confidence", field, value, "1 to 5")
    return count


def read_seconds(value: object) -> float | None:
    """Seconds from 0, or None: a browser may have measured nonsense, and the vote still counts."""
    try:
        seconds = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def read_time(value: object, place: Place, field: str) -> datetime | None:
    """A time in UTC: ISO 8601, or as Mechanical Turk writes it (Mon Jan 05 10:02:03 PST 2026)."""
    if value is None or value == "":
        return None
    text = value.strip() if isinstance(value, str) else ""
    found = _TURK.fullmatch(text)
    try:
        if found and found[2] in _ZONES:
            zone = timezone(timedelta(hours=_ZONES[found[2]]))
            plain = datetime.strptime(f"{found[1]} {found[3]}", "%b %d %H:%M:%S %Y")
            return plain.replace(tzinfo=zone).astimezone(UTC)
        time = datetime.fromisoformat(text)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise place.refuse("not a time", field, value, "2026-01-05T10:02:03Z") from None


def read_reason(value: object, place: Place, field: str) -> str | None:
    """A text, or None for nothing."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise place.refuse("not a text", field, value)
    return value.encode("utf-8", "replace").decode()
