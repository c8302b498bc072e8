"""Read the model critic's answer. Strict: what is not a verdict is never a pass."""

import json
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from casewise.cases import Side
from casewise.contexts.making._faults import Fault, FaultKind

LONGEST_LINE: Final = 200
"""Characters of a verdict line; a longer one is none."""

SHOWN: Final = 400
"""Characters of the critic's reason that are kept."""

_MARKUP: Final = " \t`*"
_BLANK = re.compile(r"[\s`*]*|\s*(?:```|~~~)\w*\s*")
_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)


@dataclass(frozen=True, slots=True)
class Review:
    """What the model critic says of a context."""

    verdict: Literal["pass", "fail"] | None
    """None where no verdict can be read."""
    reason: str

    def fault(self, side: Side) -> Fault | None:
        """What it finds wrong; None if it lets the context pass."""
        if self.verdict == "pass":
            return None
        if self.verdict == "fail":
            return Fault(FaultKind.CRITIC, self.reason or "turned down without a reason", side)
        return Fault(FaultKind.UNCHECKED, self.reason, side)


def read_review(text: str, nonce: str) -> Review:
    """The verdict that a critic's answer ends in.

    Only the last line that is not blank is read (the marks of a code block count as blank). It
    must be the JSON object that was asked for: the context's nonce, pass or fail, and no more.

    Args:
        text: What the critic wrote; any string.
        nonce: The context's, from ``review_nonce``.
    """
    lines = [line for line in _REASONING.sub("", text).splitlines() if not _BLANK.fullmatch(line)]
    if not lines:
        return Review(None, "the critic's answer is empty")
    verdict = _verdict(lines[-1].strip(_MARKUP), nonce)
    if verdict is None:
        return Review(None, "the critic's answer ends in no verdict")
    return Review(verdict, _reason(lines[:-1]))


def _verdict(line: str, nonce: str) -> Literal["pass", "fail"] | None:
    if len(line) > LONGEST_LINE:
        return None
    try:
        pairs = json.loads(line, object_pairs_hook=tuple)
    except ValueError:
        return None
    # An object is a tuple of pairs, so that a key that stands twice is seen.
    match sorted(pairs, key=str) if isinstance(pairs, tuple) else None:
        case [("id", str(found)), ("verdict", "pass" | "fail" as verdict)] if found == nonce:
            return verdict  # type: ignore[no-any-return]
    return None


def _reason(lines: Sequence[str]) -> str:
    words = " ".join(lines)[: 5 * SHOWN].encode("utf-8", "replace").decode()
    return textwrap.shorten(words, SHOWN, placeholder=" ...") if words.strip() else ""
