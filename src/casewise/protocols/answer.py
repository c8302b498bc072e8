"""Answers of judges: reasoning cut off, then JSON, labelled values, the first and the last line.

The last explicit statement counts. What only prose says is no statement. All of it is linear in the
answer's length.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from casewise.cases import Context
from casewise.contexts import leaf_parameters
from casewise.protocols.types import Reading, Status

T = TypeVar("T")

# --- characters -----------------------------------------------------------------------------

CURLY = "\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02"
"""Quotes that stay as they are until the JSON is out: inside a string that straight quotes
delimit, curly ones are text."""

HOLE = "\ufffc"
"""Replacement in the prose for each JSON object taken out of it."""

_APOSTROPHES = "\u2018\u2019\u201a\u201b\u2032\uff07"


def fold(text: str) -> str:
    """The text in plain characters: one kind of space, line break and apostrophe."""
    return "".join(map(_fold, text.replace("\r\n", "\n")))


# One character at a time, since ``unicodedata.normalize`` on a whole text takes quadratic time on
# long runs of combining marks.
@cache
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


# --- reasoning ------------------------------------------------------------------------------

_NAMES = r"(?:\w{1,10}:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)"
_BEGINS = re.compile(
    rf"<{_NAMES}>|\[think\]|\u25c1think\u25b7|<\|(?:begin_of_thought|start_thinking)\|>", re.I
)
_ENDS = re.compile(
    rf"</{_NAMES}>|\[/think\]|\u25c1/think\u25b7|<\|end_(?:of_thought|thinking)\|>", re.I
)
# Where the server dropped the special tokens of channels, it kept the words around them.
_CHANNELS = re.compile(r"<\|channel\|>|\A\s{0,9}analysis(?=[A-Z])")
_FINAL = re.compile(r"<\|channel\|>\s{0,3}final\b[^\n]{0,60}?<\|message\|>|assistantfinal")
_TURN_END = re.compile(
    r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return|eos)\|>|</s>|<eos>"
    r"|<end_of_turn>",
    re.I,
)
_SPECIAL = re.compile(r"<\|[\w ]{1,30}\|>|<s>|<bos>|<start_of_turn>")


def strip_reasoning(text: str) -> str:
    """The answer without the model's reasoning; reasoning that nothing closes runs to the end.

    Knows channels and tags (``<think>`` and the like; all before the last closing one is
    reasoning). Text after a token that ends the turn is dropped, too.
    """
    if _CHANNELS.search(text):
        _, *finals = _FINAL.split(text)
        text = finals[-1] if finals else ""
    text = _BEGINS.split(_ENDS.split(text)[-1], maxsplit=1)[0]
    return _SPECIAL.sub("\n", _TURN_END.split(text, maxsplit=1)[0])


# --- objects and fields ---------------------------------------------------------------------

MAX_RESTARTS = 5
"""Most objects without a closing brace that are looked into; each may cost a look at the whole
text."""

# Words that may stand before a key without changing what it is about; a "risk score" or a
# "confidence rating" is another quantity, and must not be read.
_KEY_PREFIX = re.compile(r"^(?:(?:final|my|overall|safety|the)[\s_-]+)+")


@dataclass(frozen=True, slots=True)
class Field:
    """One scalar of a JSON object, nested ones included. Lists are not kept."""

    key: str
    value: str
    is_cut: bool
    """True if the answer ends inside the value."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """The fields of one object, in order, and where it stood in the text."""

    start: int
    end: int
    fields: tuple[Field, ...]
    is_closed: bool
    """False if its closing brace is missing."""


# A brace opens an object only before a quote, or a bare key and its colon: not in "\boxed{safe}".
_OPENING = re.compile(rf"""\{{\s*["'{CURLY}]|(?<![\w\\]){{\s*\w{{1,40}}\s*:""")
# What must follow a quote for it to end a string; any other is text that was not escaped.
_AFTER_STRING = rf"""(?=
    \s*+ (?: [:}}\]] | \Z | ```
        | ,\s*+ (?: ["'{CURLY}{{\[}}\]\d-] | \Z | (?:true|false|null|None|True|False)\b
            | \w{{1,40}}\s{{0,3}}: )
        | ["'{CURLY}]\w{{1,40}}["'{CURLY}]\s{{0,3}}: )  # a comma is missing before the next key
    | [ \t]*+\n[ \t]*+\n  # the object was cut, and prose goes on
)"""
_END = r"(?<!\\)(?:\\\\)*"
_TOKEN = re.compile(
    rf"""
    (?P<space>\s*+)
    (?: (?P<mark>[{{}}:,\[\]])
      | "(?P<double>.*?)(?:{_END}"{_AFTER_STRING}|\Z)
      | '(?P<single>.*?)(?:{_END}'{_AFTER_STRING}|\Z)
      | [{CURLY}](?P<curly>.*?)(?:{_END}["{CURLY}]{_AFTER_STRING}|\Z)
      | (?P<bare> [0-9]+,[0-9]+(?=\s*+(?:\}}|,?\s*+["']))  # a decimal comma
          | [^\s"'{CURLY}{{}}\[\]:,][^"{CURLY}{{}}\[\]:,\n]*)
    )
    """,
    re.X | re.S,
)


def find_objects(text: str) -> list[JsonObject]:
    """Every outermost ``{...}`` of the text that looks like an object, however badly written.

    Takes single quotes, bare keys and words, missing and trailing commas, raw line breaks and
    unescaped quotes in strings; and an object that the token limit cut, up to its last field.
    """
    objects: list[JsonObject] = []
    restarts, opening = MAX_RESTARTS, _OPENING.search(text)
    while opening and restarts:
        item = _scan_object(text, opening.start())
        restarts -= not item.is_closed
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
        mark, kind, pos = token["mark"], token.lastgroup or "", token.end()
        if mark == ":":
            key, last = last, None
        elif mark:
            key = last = None
            depth += {"{": 1, "}": -1}.get(mark, 0)
            if depth == 0:
                return JsonObject(start, pos, tuple(fields), is_closed=True)
        elif kind == "bare" and fields and token["space"].count("\n") > 1:
            break  # prose after a blank line: the object was cut
        else:
            value = _unescape(token[kind])
            if key is None:
                last = value
            else:
                fields.append(Field(_plain_key(key), value, token.end(kind) == len(text)))
                key, end = None, pos
    # What follows the last field of an object that never closes is prose again.
    return JsonObject(start, end, tuple(fields), is_closed=False)


def _unescape(body: str) -> str:
    if "\\" not in body:
        return body.strip()
    try:
        return str(json.loads(f'"{body}"', strict=False))
    except ValueError:
        return body.replace("\\n", "\n").replace('\\"', '"').replace("\\'", "'")


def _plain_key(key: str) -> str:
    """``Final Verdict``, ``safety_score`` -> ``verdict``, ``score``; other keys in lower case."""
    return _KEY_PREFIX.sub("", key.strip().lower())


# --- prose ----------------------------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w-]*[ \t]*$", re.M)
_STRUCK = re.compile(rf"~~[^~\n{HOLE}]{{1,200}}~~")
_EMPHASIS = re.compile(r"[*`#]+|(?<![^\W_])_+|_+(?![^\W_])")
_STRAIGHT = str.maketrans(dict.fromkeys(CURLY, '"'))
_LINE = re.compile(r"\S[^\n]*")

Piece = tuple[int, str]
"""A text and its position in the prose."""


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer ready to be read."""

    prose: str
    """The text outside the objects, without markup; ``HOLE`` marks where each object stood."""
    objects: tuple[JsonObject, ...]

    @property
    def lines(self) -> list[Piece]:
        """The lines that are not blank."""
        return [(match.start(), match[0].rstrip()) for match in _LINE.finditer(self.prose)]


def prepare(text: str) -> AnswerText:
    """Fold the characters, cut off the reasoning, and part the JSON from the prose."""
    text = strip_reasoning(fold(text))
    objects = find_objects(text)
    if not objects and '{\\"' in text:  # JSON that was itself written as a JSON string
        text = text.replace('\\"', '"').replace("\\n", "\n")
        objects = find_objects(text)
    starts = [0, *(item.end for item in objects)]
    ends = [*(item.start for item in objects), len(text)]
    prose = HOLE.join(text[start:end] for start, end in zip(starts, ends, strict=True))
    return AnswerText(_plain(prose), tuple(objects))


def _plain(text: str) -> str:
    """The text without Markdown, and with straight quotes."""
    text = _STRUCK.sub("", _FENCE.sub("", text))
    return _EMPHASIS.sub("", text).translate(_STRAIGHT)


# --- statements -----------------------------------------------------------------------------

_PRIMARY = frozenset({"judgement", "judgment"})
"""Keys that our prompts ask for. Where one of these can be read, the other keys are not looked
at."""
_OTHERS = frozenset(
    {"verdict", "answer", "label", "classification", "rating", "score", "decision", "result"}
)
"""Keys that models write instead."""
_EXPLANATION_KEYS = frozenset({"explanation", "reason", "reasoning", "rationale", "justification"})
# The lookbehinds: another quantity, whose scale may even be the reverse.
_LABEL = (
    r"(?<![\w-])(?<!risk\s)(?<!harm\s)(?<!danger\s)(?<!severity\s)(?<!toxicity\s)"
    r"(?<!confidence\s)(?<!certainty\s)(?<!previous\s)"
    r"(?:judge?ment|verdict|answer|label|classification|rating|score|decision|result|conclusion"
    r"|assessment|determination)s?(?![\w-])"
)
_LABELLED = re.compile(
    rf"""
    (?: {_LABEL} ["')\]]{{0,3}} (?:[ \t]?\([^()\n]{{0,40}}\)|[ \t]final)?
        (?:[ \t](?:on|from)\b[^:\n.]{{0,40}})? (?:[ \t]is(?=[ \t]?[:=]))?
        [ \t]{{0,3}} (?: [=-]+> | [:=|>\u2192] | [-\u2013\u2014]+(?=\s) ) [\s"':]{{0,9}}
      | ^[ \t]*(?:(?:final|my|overall|safety|the)[ \t]){{0,3}} {_LABEL} [ \t]*\n\s{{0,9}}
      | \\boxed\s?\{{ (?:\\text\w{{0,4}}\{{)?
    )
    (?P<value>[^\n<>{{}}|{HOLE}]{{0,300}})
    """,
    re.X | re.I | re.M,
)
_OWN_LABEL = re.compile(rf"^(?:(?:final|my|overall|safety)\s)?{_LABEL}\s?[:=]\s?", re.I)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
_UNDECIDED = re.compile(
    r"\W*(?:n/?a|none|null|nan|unclear|uncertain|undecided|undetermined|unknown|unsure|ambiguous"
    r"|inconclusive|borderline|neither|both|mixed|(?:it )?depends|not (?:sure|certain|applicable)"
    r"|(?:cannot|can't|unable to) (?:determine|decide|say|tell|judge))\W*",
    re.I,
)


Statement = tuple[T | None, str | None]
"""Value and explanation; no value: the judge gives none in so many words ("unclear")."""

Value = Callable[[str], T | None]
"""Reader of the value that a piece of text states."""


def edges(answer: AnswerText, read: Value[T]) -> list[Piece]:
    """The last and the first line, as far as they are values; the first stands before all else.

    If lines are different values, none counts: they are choices, a scale, or contradict each other.
    """
    values = {line: value for line in answer.lines if (value := read(line[1])) is not None}
    if len(set(values.values())) != 1:
        return []
    first, last = answer.lines[0], answer.lines[-1]
    return [last] if last in values else [(-1, first[1])] if first in values else []


def first_sentence(text: str) -> str:
    """The text up to the end of its first sentence."""
    return _SENTENCE_END.split(text, maxsplit=1)[0]


def is_undecided(text: str) -> bool:
    """Tell whether a text says that there is no verdict: "unclear"."""
    return _UNDECIDED.fullmatch(text[:80]) is not None


def read_statements(
    answer: AnswerText,
    read: Value[T],
    lines: Iterable[Piece],
    reading: Callable[[T, str | None], Reading],
    undecided: Callable[[str], bool] = is_undecided,
) -> Reading:
    """The reading of an answer's last explicit statement that is understood.

    Args:
        answer: The answer.
        read: Reads the value that a piece of text states.
        lines: Lines that count as statements.
        reading: Makes a reading of a value and its explanation.
        undecided: Tells whether a piece without a value takes back what was stated before it.

    Returns:
        Without a statement: ``refused`` if the judge says that it won't judge, else ``unparsed``.
    """
    prose = answer.prose
    labelled = ((match.start("value"), match["value"]) for match in _LABELLED.finditer(prose))
    sources: list[tuple[int, JsonObject | str]] = [
        *zip((hole.start() for hole in re.finditer(HOLE, prose)), answer.objects, strict=True),
        *((at, first_sentence(value)) for at, value in labelled),
        *lines,
    ]
    sources.sort(key=lambda source: source[0])

    def state(text: str) -> Statement[T] | None:
        value = read(text)
        return (value, None) if value is not None or undecided(text) else None

    stated = (
        _state_object(source, state) if isinstance(source, JsonObject) else state(source)
        for _, source in reversed(sources)
    )
    value, explanation = next(filter(None, stated), (None, None))
    if value is None:
        return Reading.refused() if _is_refusal(answer) else Reading.unparsed()
    return reading(value, explanation)


def _state_object(
    item: JsonObject, state: Callable[[str], Statement[T] | None]
) -> Statement[T] | None:
    """The statement of the fields under the keys that count; without a value if they disagree."""
    for keys in (_PRIMARY, _OTHERS):
        stated = {
            statement[0]
            for field in item.fields
            if field.key in keys and (statement := state(_value_of(field)))
        }
        if stated:
            explained = (field.value for field in item.fields if field.key in _EXPLANATION_KEYS)
            explanation = next(explained, "").strip()
            # Without lone surrogates, so that it can be stored.
            explanation = explanation.encode("utf-8", "replace").decode("utf-8")
            return stated.pop() if len(stated) == 1 else None, explanation or None
    return None


def _value_of(field: Field) -> str:
    """The field's value without a label of its own ("Score: 8").

    It is "" where the cut may have changed the value: "1" may be the start of "10".
    """
    value = _OWN_LABEL.sub("", _plain(field.value).strip().partition(', "')[0], count=1)
    return "" if field.is_cut and value == "1" else value


# --- refusals -------------------------------------------------------------------------------

_QUOTED = re.compile(r'"[^"\n]{0,300}"')
REFUSAL = re.compile(
    r"""
      \b(?:i|we)(?:\s|(?='))
        (?: (?: can(?:no|')t | can\snot | won't | will\snot
              | (?:'m|'re|am|are)(?:\s\w+)?\s(?:unable|not\s(?:able|allowed|permitted|comfortable
                  |willing|going)) )
            (?:\s[\w']+){0,3}?\s
            (?: help|assist|grad|judg|evaluat|provid|giv|answer|respond|rat[ei]|assess|engag|comply
              | fulfil|classif|continu|offer|discuss|process|complet|participat|scor|support|mak
              | label|analy[sz]|do\s(?:that|this|so)\b )
          | (?:(?:must|have\sto|will|would)\s)?(?:\w+ly\s)?(?:decline|refuse)\b )
    | \bas\san\sai\b[^.\n]{0,120}\b(?:cannot|can't|can\snot|unable|not\sable|won't)\b
    | \b(?:sorry|apologi[sz]e|apologies)\b[^.\n]{0,60}
        \b(?:cannot|can't|can\snot|unable|not\sable|won't|not\ssomething)\b
    """,
    re.X | re.I,
)


def _is_refusal(answer: AnswerText) -> bool:
    """Tell whether the judge says that it will not judge."""
    values = (field.value for item in answer.objects for field in item.fields)
    # What stands in quotes is what somebody else may say.
    texts = (_QUOTED.sub("", answer.prose), *map(_plain, values))
    return any(map(REFUSAL.search, texts))


# --- answers that a limit cut ---------------------------------------------------------------


_ONE_WORD = re.compile(r"\W*[^\W\d]{2,}\W*")


def read_cut(read: Callable[[str], Reading], text: str) -> Reading:
    """Read a judge's answer that was cut.

    Args:
        read: Reads a whole answer.
        text: The answer, up to the cut.

    Returns:
        ``ok`` where the verdict is whole: it is a word and no more, or stands in a complete field
        of a JSON object, and nothing behind it says the contrary; else ``unparsed``, or
        ``refused`` as ``read`` has it.
    """
    whole, answer = read(text), prepare(text)
    if whole.status is not Status.OK or _ONE_WORD.fullmatch(answer.prose):
        return whole
    for item in answer.objects[-1:]:
        complete = {field.key: field.value for field in item.fields if not field.is_cut}
        reading = read(json.dumps(complete, ensure_ascii=False))
        if (reading.verdict, reading.raw_score) == (whole.verdict, whole.raw_score):
            return reading
    return Reading.unparsed()


# --- parts of a context --------------------------------------------------------------------

_PARTS = re.compile(r'"context_parts"\s*:\s*(\[[^\[\]]*\]|"[^"]*")')


def named_parameters(answer: str, context: Context) -> tuple[str, ...] | None:
    """The parameters in an answer's last ``context_parts``, by their paths, in the context's order.

    The field holds a list, or a text with commas. A name is a parameter's (``type``), its path
    (``recipient.type``), or that of what holds parameters (``recipient``). None without the field.
    """
    fields = _PARTS.findall(answer)
    if not fields:
        return None
    names = {
        name.strip().lower().replace(" ", "_") for name in re.split(r'[",\[\]]', fields[-1])
    } - {""}
    paths = leaf_parameters(context)
    return tuple(
        path for path in paths if any(f".{name}." in f".{path.lower()}." for name in names)
    )
