"""The JSON objects in an answer, however badly written, and the prose around them.

``prepare`` parts an answer into the two; ``find_objects`` finds the objects in any text. Both are
linear in the text's length.
"""

import json
import re
from dataclasses import dataclass
from typing import Final

from casewise.protocols._text import CURLY, HOLE, fold, plain, strip_reasoning

MAX_DEPTH: Final = 32
"""Objects nested deeper than this are not a judge's answer: they are left unread from there on."""

MAX_RESTARTS: Final = 5
"""How many objects without a closing brace are looked into; each may cost a look at the whole
text."""

# Words that may stand before a key without changing what it is about; a "risk score" or a
# "confidence rating" is another quantity, and must not be read.
_KEY_PREFIXES = frozenset({"final", "my", "overall", "safety", "the"})

# --- objects and fields ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """One scalar of a JSON object, nested ones included. Lists are not kept."""

    key: str
    value: str
    depth: int
    """1 for the object's own fields."""
    is_cut: bool
    """True if the answer ends inside the value."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The fields of one object, in order, and where it stood in the text."""

    start: int
    end: int
    fields: tuple[Field, ...]
    is_closed: bool = True
    """False if its closing brace is missing."""


# A brace opens an object only before a quote, or a bare key and its colon: not in "\boxed{safe}".
_OPENING = re.compile(rf"""\{{\s*["'{CURLY}]|(?<![\w\\]){{\s*\w{{1,40}}\s*:""")
_TOKEN = re.compile(
    rf"""
    (?P<space>\s*+)
    (?: (?P<open>\{{) | (?P<close>\}}) | (?P<colon>:) | (?P<break>[,\[\]])
      | (?P<quote>["'{CURLY}])
      | (?P<bare> [0-9]+,[0-9]+(?=\s*+(?:\}}|,?\s*+["']))  # a decimal comma
          | [^\s"'{CURLY}{{}}\[\]:,][^"{CURLY}{{}}\[\]:,\n]*)
    )
    """,
    re.X,
)
# What must follow a quote for it to end a string; any other is text that was not escaped.
_AFTER_STRING = rf"""(?=
    \s*+ (?: [:}}\]] | \Z | ```
        | ,\s*+ (?: ["'{CURLY}{{\[}}\]\d-] | \Z | (?:true|false|null|None|True|False)\b
            | \w{{1,40}}\s{{0,3}}: )
        | ["'{CURLY}]\w{{1,40}}["'{CURLY}]\s{{0,3}}: )  # a comma is missing before the next key
    | [ \t]*+\n[ \t]*+\n  # the object was cut, and prose goes on
)"""
_STRING_ENDS = {
    quote: re.compile(rf"(?<!\\)(?:\\\\)*([{closers}]){_AFTER_STRING}", re.X)
    for quote, closers in [('"', '"'), ("'", "'"), *((curly, '"' + CURLY) for curly in CURLY)]
}


def find_objects(text: str) -> list[JsonObject]:
    """Every outermost ``{...}`` of the text that looks like an object, however badly written.

    Takes single quotes, bare keys and words, missing and trailing commas, raw line breaks and
    unescaped quotes in strings; and an object that the token limit cut, up to its last field.
    """
    found: list[JsonObject] = []
    restarts = MAX_RESTARTS
    opening = _OPENING.search(text)
    while opening and restarts:
        item = _scan_object(text, opening.start())
        if not item.is_closed:
            restarts -= 1
        if item.is_closed or item.fields:
            found.append(item)
        opening = _OPENING.search(text, item.end)
    return found


def _scan_object(text: str, start: int) -> JsonObject:
    fields: list[Field] = []
    key: str | None = None
    last: str | None = None  # the latest scalar: a key, if a colon follows it
    depth, end, pos = 0, start + 1, start
    while token := _TOKEN.match(text, pos):
        kind, pos = token.lastgroup, token.end()
        if kind == "open":
            depth, key, last = depth + 1, None, None
            if depth > MAX_DEPTH:
                end = pos
                break
        elif kind == "close":
            depth -= 1
            if depth == 0:
                return JsonObject(start, pos, tuple(fields))
        elif kind == "colon":
            key, last = last, None
        elif kind == "break":
            key = last = None
        elif kind == "bare" and fields and token["space"].count("\n") > 1:
            break  # prose after a blank line: the object was cut
        else:
            value, pos, is_cut = _scalar(text, token)
            if key is None:
                last = value
            else:
                fields.append(Field(_plain_key(key), value, depth, is_cut))
                key, end = None, pos
    # What follows the last field of an object that never closes is prose again.
    return JsonObject(start, end, tuple(fields), is_closed=False)


def _scalar(text: str, token: re.Match[str]) -> tuple[str, int, bool]:
    """The value that starts at the token, where it ends, and whether the text ends inside it."""
    if token.lastgroup == "bare":
        return token["bare"].strip(), token.end(), token.end() == len(text)
    closing = _STRING_ENDS[token["quote"]].search(text, token.end())
    body = text[token.end() : closing.start(1) if closing else len(text)]
    end = closing.end() if closing else len(text)
    return _unescape(body), end, closing is None


def _unescape(body: str) -> str:
    if "\\" not in body:
        return body
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return body.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")


def _plain_key(key: str) -> str:
    """``Final Verdict``, ``safety_score`` -> ``verdict``, ``score``; other keys in lower case."""
    *before, name = re.split(r"[\s_-]+", key.strip().lower()[:60])
    return name if _KEY_PREFIXES.issuperset(before) else "_".join([*before, name])


# --- the prepared answer --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer ready to be read."""

    prose: str
    """The text outside the objects, without markup; ``HOLE`` marks where each object stood."""
    objects: tuple[JsonObject, ...]

    def sources(self) -> list[tuple[int, JsonObject]]:
        """Each object with its position in the prose."""
        holes = [hole.start() for hole in re.finditer(HOLE, self.prose)]
        return list(zip(holes, self.objects, strict=True))


def prepare(text: str) -> Answer:
    """Fold the characters, cut off the reasoning, and part the JSON from the prose."""
    text = strip_reasoning(fold(text))
    objects = find_objects(text)
    if not objects and '{\\"' in text:  # JSON that was itself written as a JSON string
        text = text.replace('\\"', '"').replace("\\n", "\n")
        objects = find_objects(text)
    parts: list[str] = []
    start = 0
    for item in objects:
        parts += (text[start : item.start], HOLE)
        start = item.end
    return Answer(plain("".join([*parts, text[start:]])), tuple(objects))
