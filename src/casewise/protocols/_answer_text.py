"""An answer as text and as JSON: the reasoning cut off, objects however badly written."""

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

# --- characters -----------------------------------------------------------------------------

CURLY: Final = "\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02"
"""Quotes that stay as they are until the JSON is out: inside a string that straight quotes
delimit, curly ones are text."""

HOLE: Final = "\ufffc"
"""Replacement in the prose for each JSON object taken out of it."""

_APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\uff07"


def fold(text: str) -> str:
    """The text in plain characters: one kind of space, line break and apostrophe."""
    return text.replace("\r\n", "\n").translate(_FOLDS)


class _Folds(dict[int, str]):
    """``str.translate`` table: each character's plain form, worked out when first met.

    One character at a time, since ``unicodedata.normalize`` on a whole text takes quadratic time on
    long runs of combining marks.
    """

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold(chr(code))
        return folded


def _fold(char: str) -> str:
    if char in CURLY:
        return char
    if char in _APOSTROPHES:
        return "'"
    category = unicodedata.category(char)
    if category in ("Zl", "Zp") or char in "\n\r\v\f\x85":
        return "\n"
    if category in ("Zs", "Cc") or char == HOLE:
        return " "
    if category == "Cf":  # zero-width characters, soft hyphens, byte-order marks
        return ""
    # Superscripts and fractions would change a number: "8²" must not become "82".
    tag = unicodedata.decomposition(char).partition(" ")[0]
    if not tag.startswith("<") or tag in ("<super>", "<sub>", "<fraction>"):
        return char
    folded = unicodedata.normalize("NFKC", char)
    return folded if len(folded) <= 3 else char


_FOLDS = _Folds()

# --- reasoning ------------------------------------------------------------------------------

_TAG_SPELLINGS = {
    "[think]": "<think>",
    "[/think]": "</think>",
    "\u25c1think\u25b7": "<think>",
    "\u25c1/think\u25b7": "</think>",
    "<|begin_of_thought|>": "<think>",
    "<|end_of_thought|>": "</think>",
    "<|start_thinking|>": "<think>",
    "<|end_thinking|>": "</think>",
}
_SPELLING = re.compile("|".join(map(re.escape, _TAG_SPELLINGS)), re.I)
_TAG = re.compile(
    r"<(/?)(?:\w{1,10}:)?(think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)>", re.I
)
_FINAL_CHANNEL = re.compile(r"<\|channel\|>\s{0,3}final\b[^\n]{0,60}?<\|message\|>")
# The same, where the server dropped the special tokens and kept the words around them.
_BARE_ANALYSIS = re.compile(r"\s{0,9}analysis(?=[A-Z])")
_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|eos)\|>|</s>|<eos>"
    r"|<end_of_turn>",
    re.I,
)
_SPECIAL = re.compile(r"<\|[\w ]{1,30}\|>|<s>|<bos>|<start_of_turn>")


def strip_reasoning(text: str) -> str:
    """The answer without the model's reasoning; reasoning that nothing closes runs to the end.

    Knows tags (``<think>`` and the like; all before a lone closing one is reasoning) and channels.
    Text after a token that ends the turn is dropped, too.
    """
    text = _after_channels(text)
    text = _SPELLING.sub(lambda match: _TAG_SPELLINGS[match[0].lower()], text)
    kept: list[str] = []
    start, inside = 0, ""
    for tag in _TAG.finditer(text):
        closing, name = bool(tag[1]), tag[2].lower()
        if inside:
            if closing and name == inside:
                start, inside = tag.end(), ""
        elif closing:  # its opening tag was part of the prompt
            kept.clear()
            start = tag.end()
        else:
            kept.append(text[start : tag.start()])
            inside = name
    if not inside:
        kept.append(text[start:])
    return _SPECIAL.sub("\n", _TURN_END.split("\n".join(kept), maxsplit=1)[0])


def _after_channels(text: str) -> str:
    if "<|channel|>" in text:
        finals = list(_FINAL_CHANNEL.finditer(text))
        return text[finals[-1].end() :] if finals else ""
    if _BARE_ANALYSIS.match(text):
        return text.rpartition("assistantfinal")[2] if "assistantfinal" in text else ""
    return text


# --- prose ----------------------------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.M)
_STRUCK = re.compile(rf"~~[^~\n{HOLE}]{{1,200}}~~")
_EMPHASIS = re.compile(r"[*`#]+|(?<![^\W_])_+|_+(?![^\W_])")
_STRAIGHT = str.maketrans(dict.fromkeys(CURLY, '"'))
# A single line break ends a sentence unless the next line goes on in lower case.
# The number of a list item ends none.
_BOUNDARY = re.compile(
    rf"""(?<=[.!?])(?<!^\d\.)(?<!^\d\d\.)["')\]]*+\s+|\n(?![ \t]*[a-z])|{HOLE}""", re.M
)
_LINE = re.compile(r"\S[^\n]*")


def plain(text: str) -> str:
    """The text without Markdown, and with straight quotes."""
    text = _STRUCK.sub("", _FENCE.sub("", text))
    return _EMPHASIS.sub("", text).translate(_STRAIGHT)


def sentences(prose: str) -> list[str]:
    """The sentences of the prose, one line each; an object between two words parts them."""
    return [" ".join(part.split()) for part in _BOUNDARY.split(prose) if part.strip()]


def lines(prose: str) -> list[tuple[int, str]]:
    """The lines that are not blank, each with its position in the prose."""
    return [(match.start(), match[0].rstrip()) for match in _LINE.finditer(prose)]


MAX_DEPTH: Final = 32
"""Objects nested deeper than this are not a judge's answer: they are left unread from there on."""

MAX_RESTARTS: Final = 5
"""Most objects without a closing brace that are looked into; each may cost a look at the whole
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
    objects: list[JsonObject] = []
    restarts = MAX_RESTARTS
    opening = _OPENING.search(text)
    while opening and restarts:
        item = _scan_object(text, opening.start())
        if not item.is_closed:
            restarts -= 1
        if item.is_closed or item.fields:
            objects.append(item)
        opening = _OPENING.search(text, item.end)
    return objects


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
class AnswerText:
    """An answer ready to be read."""

    prose: str
    """The text outside the objects, without markup; ``HOLE`` marks where each object stood."""
    objects: tuple[JsonObject, ...]

    def sources(self) -> list[tuple[int, JsonObject]]:
        """Each object with its position in the prose."""
        holes = [hole.start() for hole in re.finditer(HOLE, self.prose)]
        return list(zip(holes, self.objects, strict=True))


def prepare(text: str) -> AnswerText:
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
    return AnswerText(plain("".join([*parts, text[start:]])), tuple(objects))
