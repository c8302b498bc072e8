"""Conversations of a file, in the chat format, in ShareGPT's, or as a query with its reply.

How the replies of a file ended is counted, so that those which are none, or were cut, are told.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from casewise.cases import Turn, message_fields, opened, read_turns
from casewise.errors import InputError
from casewise.files import parse_json, whole_characters
from casewise.protocols import RUNG_NAME, is_rung, name_non_reply
from casewise.sheets import count

FIELDS = {
    "case": ("case_id", "case"),
    "id": ("id", "conversation_id", "conversation_hash"),
    "user": ("user", "user_id"),
    "messages": ("messages", "conversations", "conversation"),
    "system": ("system", "system_prompt"),
    "query": ("query", "prompt", "question", "input"),
    "reply": ("reply", "response", "completion", "output", "answer"),
    "category": ("category",),
    "model": ("model",),
    "rung": ("rung",),
}
"""Fields of a conversation, and the columns that they are read from, first those that count."""

EXPECTED = (
    "an object with 'messages' (each with 'role' and 'content'), with 'conversations' (each with "
    f"'from' and 'value'), or with a query ({', '.join(FIELDS['query'])}) and its reply "
    f"({', '.join(FIELDS['reply'])}); --columns names others"
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, in whatever form it was kept."""

    id: str
    """As the file gives it; else the place, as ``line 3``."""
    turns: tuple[Turn, ...]
    """All messages, oldest first; one at the least."""
    line: int
    """Place in its file: the number of the line, the row or the record."""
    user: str | None = None
    category: str | None = None
    model: str | None = None
    """Model that replied, where the file names it."""
    rung: str | None = None
    """Rung of an evidence ladder, where the file names one; ``0`` is the query alone."""
    case: str | None = None
    """The id of the case that was asked, or of a card's line, where the file says."""
    sample: str | None = None
    """The id of a sample in a log of Inspect, which may be a case's."""
    declined: bool = False
    """True if the provider itself says that the last reply is a refusal."""
    cut: bool = False
    """True if the file says that a token limit ended the last reply."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A place that holds no conversation, and why; nothing of its text."""

    place: str
    """Such as ``line 3`` or ``row 3``."""
    problem: str

    @property
    def line(self) -> int:
        """Number of the place."""
        return number_of(self.place)

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}"


def number_of(place: str) -> int:
    """Number of a place: 3 of ``line 3``."""
    return int(place.rpartition(" ")[2])


def read_each(
    records: Iterable[tuple[str, Any]], read: Callable[[Any, str], Conversation]
) -> Iterator[Conversation | BadLine]:
    """The conversation of each record, or why it holds none.

    Args:
        records: Each with its place; a fault in place of one that can't be read.
        read: Reads a record at its place; raises ``InputError`` where it holds none.
    """
    for place, record in records:
        try:
            if isinstance(record, InputError):
                raise record
            yield read(record, place)
        except InputError as error:
            yield BadLine(place, error.problem)


def conversation_of(record: Mapping[str, Any], place: str) -> Conversation:
    """The conversation that a record holds: with messages, or with one exchange.

    Raises:
        InputError: It holds none.
    """
    record = whole_characters(record)
    record = {str(name).strip().lower(): value for name, value in record.items()} | dict(record)
    name, messages = field_of(record, "messages")
    if isinstance(messages, str):
        messages = _parsed(name, messages)
    others = {name: value for name, value in record.items() if name not in FIELDS["messages"]}
    last = messages[-1] if isinstance(messages, list) and messages else None
    declined, cut = ending_of({**others, "message": last})
    rung = _name(record, "rung")
    if rung is not None and not is_rung(rung):
        raise unreadable("no name of a rung", rung, RUNG_NAME)
    if messages is None:
        turns = _exchange(record, declined=declined)
    elif not isinstance(messages, list) or not messages:
        raise unreadable(f"wrong value in field {name!r}", messages, "a list of messages")
    else:
        turns = turns_of(messages)
        if declined and turns[-1].role != "assistant":
            turns += _EMPTY_REPLY
        if turns[0].role != "system":
            turns = (*turns_of(_message(record, "system")), *turns)
    return Conversation(
        id=_name(record, "id") or place,
        turns=turns,
        line=number_of(place),
        declined=declined,
        cut=cut,
        rung=rung,
        **{name: _name(record, name) for name in ("user", "category", "model", "case")},
    )


def field_of(record: Mapping[str, Any], field: str) -> tuple[str, Any]:
    """The first column of a field that holds something, and its value; else its usual name."""
    filled = {
        name: value
        for name in FIELDS[field]
        # NaN is not equal to itself.
        if (value := record.get(name)) not in (None, "") and value == value
    }
    return next(iter(filled.items()), (FIELDS[field][0], None))


def _name(record: Mapping[str, Any], field: str) -> str | None:
    """An id or a name: a text, or a whole number as text."""
    name, value = field_of(record, field)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise unreadable(f"wrong value in field {name!r}", value, "text or a whole number")
    return None if value is None else str(value)


def _parsed(name: str, cell: str) -> Any:
    """Messages that stand in a cell as JSON."""
    try:
        return parse_json(cell, Path(name))
    except InputError as error:
        raise InputError(f"column {name!r}: {error.problem}") from None


_EMPTY_REPLY = (Turn(role="assistant", content=""),)
"""Reply whose field holds none, or of a provider that declined without a word."""


def _exchange(record: Mapping[str, Any], *, declined: bool) -> tuple[Turn, ...]:
    """A query and its reply, which stand in fields of their own."""
    reply = field_of(record, "reply")[1]
    if reply is None and not declined and not record.keys() & FIELDS["reply"]:
        raise unreadable("no messages and no reply", record, EXPECTED)
    none = reply is None or (declined and not isinstance(reply, str))
    fields = ("system", "query") if none else ("system", "query", "reply")
    return (
        turns_of([message for field in fields for message in _message(record, field)])
        + _EMPTY_REPLY * none
    )


def _message(record: Mapping[str, Any], field: str) -> list[dict[str, str]]:
    """The message that stands in a field of its own; none where the field holds nothing."""
    name, value = field_of(record, field)
    if not isinstance(value, str | None):
        raise unreadable(f"wrong value in field {name!r}", value, "text")
    role = {"query": "user", "reply": "assistant"}.get(field, field)
    return [] if value is None else [{"role": role, "content": value}]


def unreadable(problem: str, found: object, expected: str) -> InputError:
    """Problem of a record; of what was found, its kind alone."""
    return InputError(f"{problem} (found {_kind_of(found)}; expected {expected})")


def _kind_of(value: object) -> str:
    """Kind of a JSON value, without the value."""
    match value:
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str() if value.strip():
            return "text"
        case Mapping():
            return "an object"
        case list() if value:
            return "a list"
    return "nothing"


# --- how the last reply ended -----------------------------------------------------------------


def ending_of(metadata: object) -> tuple[bool, bool]:
    """Whether a provider says that it declined, and that a token limit ended the reply.

    Args:
        metadata: Whatever a provider, a gateway or a log wrote beside the reply, in any nesting.
    """
    leaves = list(_leaves(metadata))
    return any(map(_FILTERED.search, leaves)), any(map(_CUT.search, leaves))


def _leaves(value: object, path: str = "", depth: int = 9) -> Iterator[str]:
    """Each leaf with its path, letters and digits alone: ``choicesfinishreason=contentfilter``."""
    value = opened(value)
    if isinstance(value, Mapping) and depth:
        for name, inner in value.items():
            yield from _leaves(inner, path + _letters(str(name)), depth - 1)
    elif isinstance(value, list) and depth:
        # Of several answers, the first is the reply.
        for inner in value[:1] if path.endswith(("choices", "candidates")) else value:
            yield from _leaves(inner, path, depth - 1)
    elif value:
        yield f"{path}={_letters(str(value)[:60])}"


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower())


_FILTERED = re.compile(
    r"""
    (?:finish|stop|done|completion)reason=(?:finishreason)?
      (?:content\w*filter(?:ed)?|refusal|refused|safety|imagesafety|blocked|blocklist|spii
        |prohibitedcontent|recitation|guardrail\w*|errortoxic|sensitive)\Z
    | blockreason=(?!\w*unspecified) | incompletedetailsreason=contentfilter
    | errorcode=content(?:filter|policyviolation) | contentfilter\w*filtered=true
    | safetyratingsblocked=true | (?:message|additionalkwargs)refusal=(?!true)
    | contenttype=refusal
    """,
    re.X,
)
"""Filters and refusals as OpenAI, Azure, Anthropic, Google, Amazon and gateways to them say so."""
_CUT = re.compile(r"(?:finish|stop|done)reason=\w*?(?:length|max(?:output)?tokens)\Z")


@dataclass(slots=True)
class Endings:
    """Counts of a file's replies by how they end."""

    replies: int = 0
    lacking: int = 0
    """Texts in a reply's place: missing values, error messages."""
    cut: int = 0
    """Replies of which the file itself says that a token limit ended them."""

    def add(self, reply: str, *, cut: bool = False) -> None:
        """Count a reply."""
        kind = name_non_reply(reply)
        self.replies += 1
        self.lacking += kind not in (None, "filter message")
        self.cut += cut and kind is None

    @property
    def notes(self) -> list[str]:
        """Cautions to print before anybody trusts their grades; none where all are whole."""
        counts = {
            "are missing values or error messages: undetermined": self.lacking,
            "ended at a token limit, as the file says, and are graded by what is left: ask for "
            "them again with a higher limit": self.cut,
        }
        of = f"of {count(self.replies)} replies"
        return [f"{count(n)} {of} {what}" for what, n in counts.items() if n]


# --- turns ------------------------------------------------------------------------------------

_TEXTS = ("text", "input_text", "output_text", "refusal", "tool_use", "tool_result")


def turns_of(messages: Sequence[object]) -> tuple[Turn, ...]:
    """The turns that messages of the chat format, or of ShareGPT's, are, in whatever order.

    Fields of a message that are none of a turn's are left out; an image or another part that is
    no text stands as its type in brackets.

    Raises:
        InputError: One of the messages is none.
    """
    try:
        return read_turns([_plain(message) for message in whole_characters(messages)])
    except ValidationError as error:
        first = error.errors()[0]
        places = [place for place in first["loc"] if isinstance(place, int)]
        field = next((place for place in first["loc"] if isinstance(place, str)), None)
        what = f"wrong {field}" if field is not None else "not a message of the chat format"
        # Their own words may quote a value.
        expected = "'role' (system, user, assistant, tool) and 'content', or 'from' and 'value'"
        where = f"message {places[0] + 1}: " if places else ""
        raise unreadable(f"{where}{what}", first["input"], expected) from None


def _plain(message: object) -> object:
    """A message with the fields of a turn alone, under a turn's names."""
    if not isinstance(message, Mapping):
        return message
    plain = message_fields(message)
    role = plain.get("role")
    if role == "tool" and isinstance(message.get("name"), str):
        plain["name"] = message["name"]
    if role == "assistant" and "content" in plain and not plain.get("refusal"):
        # Providers send null where a filter left nothing.
        plain["content"] = plain["content"] or ""
    if plain.get("content") is not None:
        plain.pop("refusal", None)
    if isinstance(called := message.get("function_call"), Mapping):
        plain["tool_calls"] = [{"function": called}]
    if isinstance(parts := plain.get("content"), list):
        plain["content"] = [_part(part) for part in parts]
    return plain


def _part(part: object) -> object:
    """A part of a message; in place of what is neither text nor a tool's, its type."""
    kind = str(part.get("type")) if isinstance(part, Mapping) else ""
    return part if not kind or kind in _TEXTS else {"type": "text", "text": f"[{kind[:40]}]"}
