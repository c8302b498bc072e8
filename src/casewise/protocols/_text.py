"""An answer as text: its characters in plain form, its reasoning cut off, its prose taken apart."""

import re
import unicodedata
from typing import Final

# --- characters -----------------------------------------------------------------------------

CURLY: Final = "\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02"
"""Quotes that stay as they are until the JSON is out: inside a string that straight quotes
delimit, curly ones are text."""

HOLE: Final = "\ufffc"
"""Stands in the prose for each JSON object taken out of it."""

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
    """The answer that follows a model's reasoning; "" where the reasoning never ends.

    Knows tags (``<think>`` and the like, a lone closing one included) and channels.
    """
    text = _after_channels(text)
    text = _SPELLING.sub(lambda found: _TAG_SPELLINGS[found[0].lower()], text)
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
    return [(found.start(), found[0].rstrip()) for found in _LINE.finditer(prose)]
