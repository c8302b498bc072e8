"""Text of others in a prompt: as JSON that nothing inside can close."""

import json
import re
import unicodedata


class _Escapes(dict[int, str]):
    """``str.translate`` table that spells out what can't be seen, and ``<``."""

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
