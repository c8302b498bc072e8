"""Protocol ``guard``: a moderation model's own form.

Moderation models (Llama Guard and its kind) answer ``safe``, or ``unsafe`` and below it the codes
of the categories. Some answer a JSON object instead (NemoGuard: ``{"User Safety": "unsafe",
"Safety Categories": "..."}``).
"""

import json
import re

from casewise.choices import Delivery, Sampling
from casewise.protocols.protocol import InConversation
from casewise.protocols.types import Reading, Status, Verdict

_CODES = re.compile(r"[A-Za-z]{1,3}\d{1,3}(?:\s*[,;]\s*[A-Za-z]{1,3}\d{1,3})*\.?")
_USER_KEY = "user safety"


def read_guard(text: str) -> Reading:
    """Read a moderation model's answer; whatever is not exactly of its form is ``unparsed``.

    The codes become the explanation. ``safe`` with codes below it contradicts itself, and is
    ``unparsed``.
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


class Guard(InConversation):
    """A moderation model's own form: safe, or unsafe and the codes of categories."""

    name = "guard"
    deliveries = (Delivery.SYSTEM, Delivery.CLAIMED, Delivery.NONE)
    repeats = False
    drawn = False
    # A system message would be a part of what it judges.
    takes_system = False
    answer_tokens = 5

    def longest(self, sampling: Sampling, *, embedded: bool) -> int:
        """Default limit of an answer, in tokens: room for a word and codes."""
        return 64

    def read_text(self, text: str, language: str | None) -> Reading:
        """Read the word and its codes."""
        return read_guard(text)

    def read_cut(self, text: str, language: str | None) -> Reading:
        """Read an answer that a limit cut: a first line ``unsafe`` counts, whatever follows."""
        found = read_guard(text)
        first = text.strip().partition("\n")[0].strip().lower()
        if found.status is not Status.OK and first == Verdict.UNSAFE:
            # The codes were cut, the word wasn't.
            return Reading(Status.OK, Verdict.UNSAFE)
        return found


protocol = Guard()
