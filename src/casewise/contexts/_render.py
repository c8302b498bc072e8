"""Render a context: as the JSON that judges read, and as text that people read.

Annotators and judges must see the same words, so both use this module.
"""

import json
import re
import unicodedata

from pydantic import JsonValue

from casewise.cases import Context


def render_json(context: Context | None, *, ascii_only: bool = True) -> str:
    """The context as the reference puts it into its prompt: the bytes of ``json.dumps(context)``.

    No context is the empty object, as when the reference removes every group.

    Args:
        context: The context.
        ascii_only: Whether other letters are escaped, as in the reference. Text in other scripts
            can hardly be read so.
    """
    return json.dumps(context.root if context is not None else {}, ensure_ascii=ascii_only)


def render_text(context: Context | None) -> str:
    """The context as an indented list that a person reads, names with spaces for underscores."""
    if context is None or not context.root:
        return "(no context)"
    return "\n".join(_lines(context.root, 0))


def parameter_title(name: str) -> str:
    """The name of a group or parameter as people read it: ``sender_purpose``, Sender purpose."""
    title = name.replace("_", " ")
    return title[:1].upper() + title[1:]


def _lines(value: dict[str, JsonValue], depth: int) -> list[str]:
    indent = "  " * depth
    lines = []
    for name, inner in value.items():
        title = parameter_title(name)
        if isinstance(inner, dict) and inner:
            lines += [f"{indent}{title}:", *_lines(inner, depth + 1)]
        else:
            lines.append(f"{indent}{title}: {_leaf(inner)}")
    return lines


def _leaf(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, list):
        return "; ".join(
            json.dumps(item, ensure_ascii=False) if isinstance(item, dict) else _leaf(item)
            for item in value
        )
    return str(value)


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
