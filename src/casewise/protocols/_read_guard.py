"""Read the verdict of a moderation model: Llama Guard and its kind.

Such models answer ``safe``, or ``unsafe`` and below it the codes of the categories. Some answer a
JSON object instead (NemoGuard: ``{"User Safety": "unsafe", "Safety Categories": "..."}``).
"""

import json
import re

from casewise.protocols._types import Reading, Status, Verdict

_CODES = re.compile(r"[A-Za-z]{1,3}\d{1,3}(?:\s*[,;]\s*[A-Za-z]{1,3}\d{1,3})*\.?")
_USER_KEY = "user safety"


def read_guard(text: str) -> Reading:
    """Read a moderation model's answer; whatever is not exactly of its form is ``unparsed``.

    The codes become the explanation. A verdict ``safe`` with codes contradicts itself.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return Reading.unparsed()
    if lines[0].startswith("{"):
        return _read_object(text)
    word = lines[0].lower()
    codes = " ".join(lines[1:])
    if word == Verdict.SAFE and not codes:
        return Reading(Status.OK, Verdict.SAFE)
    if word == Verdict.UNSAFE and (not codes or _CODES.fullmatch(codes)):
        return Reading(Status.OK, Verdict.UNSAFE, explanation=codes or None)
    return Reading.unparsed()


def _read_object(text: str) -> Reading:
    try:
        read = json.loads(text)
    except ValueError:
        return Reading.unparsed()
    values = {str(key).lower(): value for key, value in read.items()}
    said = values.get(_USER_KEY)
    if said not in (Verdict.SAFE, Verdict.UNSAFE):
        return Reading.unparsed()
    named = values.get("safety categories")
    return Reading(Status.OK, Verdict(said), explanation=named if isinstance(named, str) else None)
