"""Words of others in a prompt: quoted, and the verdict on them at the end of an answer."""

import json
import re
import textwrap
import unicodedata
from dataclasses import dataclass
from typing import Any


class _Escapes(dict[int, str]):
    """``str.translate`` table that escapes invisible characters and ``<``."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        hidden = unicodedata.category(char)[0] == "C" or unicodedata.category(char) in ("Zl", "Zp")
        self[code] = shown = json.dumps(char)[1:-1] if hidden else char
        return shown


_ESCAPES = _Escapes({ord("<"): "\\u003c"})
_BRACKET = re.compile(r"\[(?=/?[A-Z])")


def quote(value: object) -> str:
    """A string, or an object of strings, as JSON on one line.

    Letters of every language stay readable. Line separators and invisible characters are escaped;
    so are ``<`` and the bracket of ``[INST]``, since a server may take ``<|im_end|>`` in a prompt
    for the end of the turn. None of these stands outside a string.
    """
    return _BRACKET.sub(r"\\u005b", json.dumps(value, ensure_ascii=False).translate(_ESCAPES))


LONGEST_LINE = 200
"""Most characters of a verdict line."""

_MARKUP = " \t`*"
_BLANK = re.compile(r"[\s`*]*|\s*(?:```|~~~)\w*\s*")


@dataclass(frozen=True, slots=True)
class Ending:
    """Last line of an answer, where its verdict belongs, and the reason before it."""

    entries: list[tuple[str, Any]] | None
    """Entries of the JSON object on the last line, sorted; repeated keys are kept. None where there
    is no object."""
    reason: str
    """Text before it, shortened, and without what can't be stored."""


def read_ending(text: str, shown: int) -> Ending | None:
    """Find the last line that is not blank, and the reason before it; None in a blank answer.

    The marks of a code block count as blank.

    Args:
        text: Any string.
        shown: Characters of the reason that are kept.
    """
    lines = [line for line in text.splitlines() if not _BLANK.fullmatch(line)]
    if not lines:
        return None
    words = " ".join(lines[:-1])[: 5 * shown].encode("utf-8", "replace").decode()
    reason = textwrap.shorten(words, shown, placeholder=" ...") if words.strip() else ""
    last = lines[-1].strip(_MARKUP)
    if len(last) > LONGEST_LINE:
        return Ending(None, reason)
    try:
        pairs = json.loads(last, object_pairs_hook=tuple)
    except ValueError:
        return Ending(None, reason)
    # An object is a tuple of pairs, so that a key that stands twice is seen.
    return Ending(sorted(pairs, key=str) if isinstance(pairs, tuple) else None, reason)
