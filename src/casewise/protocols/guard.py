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

_CODE = r"[A-Za-z]{1,3}\d{1,3}"
_FORM = re.compile(
    rf"\s*(?:safe|(?P<unsafe>unsafe)(?:\s*\n\s*(?P<codes>{_CODE}(?:\s*[,;]\s*{_CODE})*\.?))?)\s*",
    re.I,
)


def read_guard(text: str) -> Reading:
    """Read a moderation model's answer; whatever is not exactly of its form is ``unparsed``.

    The codes become the explanation. ``safe`` with codes below it contradicts itself, and is
    ``unparsed``.
    """
    match = _FORM.fullmatch(text)
    if match is None:
        return _read_object(text) if text.lstrip().startswith("{") else Reading.unparsed()
    verdict = Verdict.UNSAFE if match["unsafe"] else Verdict.SAFE
    return Reading(Status.OK, verdict, explanation=match["codes"])


def _read_object(text: str) -> Reading:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return Reading.unparsed()
    values = {str(key).lower(): value for key, value in read.items()}
    verdict, named = values.get("user safety"), values.get("safety categories")
    if verdict not in (Verdict.SAFE, Verdict.UNSAFE):
        return Reading.unparsed()
    explanation = named if isinstance(named, str) else None
    return Reading(Status.OK, Verdict(verdict), explanation=explanation)


class Guard(InConversation):
    """A moderation model's own form: safe, or unsafe and the codes of categories."""

    name = "guard"
    deliveries = (Delivery.SYSTEM, Delivery.CLAIMED, Delivery.NONE)
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
        reading = read_guard(text)
        first = text.strip().partition("\n")[0].strip().lower()
        # The codes may be cut, the word isn't.
        is_unsafe = reading.status is not Status.OK and first == Verdict.UNSAFE
        return Reading(Status.OK, Verdict.UNSAFE) if is_unsafe else reading


protocol = Guard()
