"""One conversation of a file, whoever wrote the file; and the line that holds none."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from casewise.cases import Turn, opened, read_turns
from casewise.files import whole_characters
from casewise.protocols import RUNG_NAME, is_rung

CASE_FIELDS = ("case_id", "case")
IDS = ("id", "conversation_id", "conversation_hash")
USERS = ("user", "user_id")
MESSAGES = ("messages", "conversations", "conversation")
"""Names of the field that holds the messages."""
SYSTEMS = ("system", "system_prompt")
QUERIES = ("query", "prompt", "question", "input")
REPLIES = ("reply", "response", "completion", "output", "answer")
"""Names of the fields of a record that holds one exchange in place of messages."""

FIELDS = (
    *(*CASE_FIELDS, *IDS, *USERS, *MESSAGES, *SYSTEMS, *QUERIES, *REPLIES),
    *("category", "model", "rung"),
)
"""All fields that are read of a record."""

EXPECTED = (
    "an object with 'messages' (each with 'role' and 'content'), with 'conversations' (each with "
    "'from' and 'value'), or with a query "
    f"({', '.join(QUERIES)}) and its reply ({', '.join(REPLIES)}); or a list of messages"
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation, in whatever form it was kept."""

    id: str
    """As the file gives it; else the line, as ``line 3``."""
    turns: tuple[Turn, ...]
    """All messages, oldest first; one at the least."""
    line: int
    """Place in its file, from 1: the line, the row or the record."""
    user: str | None = None
    category: str | None = None
    model: str | None = None
    """Model that replied, where the file names it."""
    rung: str | None = None
    """Rung of an evidence ladder, where the file names one; ``0`` is the query alone."""
    case: str | None = None
    """The id of the case that was asked, or of a card's line, where the file says."""
    sample: str | None = None
    """The id of a sample or test in another tool's file, which may be a case's."""
    query: str | None = None
    """Query, where the file holds it apart from the messages, which may frame it."""
    declined: bool = False
    """True if the provider itself says that the last reply is a refusal."""
    cut: bool = False
    """True if the file says that a token limit ended the last reply."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that holds no conversation, and why; nothing of its text."""

    line: int
    problem: str
    """Kind of what was found, and what was expected."""
    unit: str = "line"
    """Unit of the file's places: line, row, record or sample."""

    def __str__(self) -> str:
        return f"{self.unit} {self.line}: {self.problem}"


class UnreadableError(Exception):
    """A record holds no conversation; the message says why, and quotes nothing."""


def conversation_of(record: object, line: int, unit: str = "line") -> Conversation:
    """The conversation that a record holds.

    Args:
        record: A list of messages; or an object with messages, or with one exchange.
        line: Where it stands in its file.
        unit: What the file's places are called, for an id where the record has none.

    Raises:
        UnreadableError: The record holds none.
    """
    if isinstance(record, list):
        record = {MESSAGES[0]: record}
    if not isinstance(record, Mapping):
        raise unreadable("not a conversation", record, EXPECTED)
    messages = given(record, MESSAGES)[1]
    last = messages[-1] if isinstance(messages, list) and messages else None
    beside = {name: value for name, value in record.items() if name not in MESSAGES}
    declined, cut = ending_of({**beside, "message": last})
    return Conversation(
        id=_text_of(record, IDS) or f"{unit} {line}",
        turns=_turns(record, declined=declined),
        line=line,
        user=_text_of(record, USERS),
        category=_text_of(record, ("category",)),
        model=_text_of(record, ("model",)),
        rung=_rung_of(record),
        case=_text_of(record, CASE_FIELDS),
        declined=declined,
        cut=cut,
    )


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


def _rung_of(record: Mapping[str, Any]) -> str | None:
    """Rung that a record names.

    Raises:
        UnreadableError: It is no name of a rung.
    """
    rung = _text_of(record, ("rung",))
    if rung is not None and not is_rung(rung):
        raise unreadable("no name of a rung", rung, RUNG_NAME)
    return rung


def read_each(
    records: Iterable[tuple[int, Any]], read: Callable[[Any, int, str], Conversation], unit: str
) -> Iterator[Conversation | BadLine]:
    """The conversation of each record, or why it holds none.

    Args:
        records: Each with its line.
        read: Reads a record, its line and the unit; raises ``UnreadableError`` of any other.
        unit: What the file's places are called.
    """
    for line, record in records:
        try:
            yield read(record, line, unit)
        except UnreadableError as error:
            yield BadLine(line, str(error), unit)


def case_of(fields: Mapping[str, Any]) -> str | None:
    """Id of the case that fields name."""
    case = given(fields, CASE_FIELDS)[1]
    return None if case is None else str(case)


def text_or_none(value: object) -> str | None:
    """A value that is a text; None of any other."""
    return value if isinstance(value, str) else None


def unreadable(problem: str, found: object, expected: str) -> UnreadableError:
    """Problem of a record; of what was found, its kind alone."""
    return UnreadableError(f"{problem} (found {kind_of(found)}; expected {expected})")


def kind_of(value: object) -> str:
    """Kind of a JSON value, without the value."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text" if value.strip() else "a blank text"
        case Mapping():
            return "an object"
        case Sequence():
            return "a list" if value else "an empty list"
        case _:
            return f"a value of type {type(value).__name__}"


def given(record: Mapping[str, Any], names: Sequence[str]) -> tuple[str, Any]:
    """The first field that is there and holds something, and its value; else the first name."""
    for name in names:
        value = record.get(name)
        missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
        if not missing:
            return name, value
    return names[0], None


def _text_of(record: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """An id or a name: a text, or a whole number as text."""
    name, value = given(record, names)
    if isinstance(value, bool) or not isinstance(value, str | int | None):
        raise unreadable(f"wrong value in field {name!r}", value, "text or a whole number")
    return None if value is None else str(value)


# --- turns ------------------------------------------------------------------------------------


def _turns(record: Mapping[str, Any], *, declined: bool) -> tuple[Turn, ...]:
    name, messages = given(record, MESSAGES)
    if messages is None:
        return _exchange(record, declined=declined)
    if not isinstance(messages, list) or not messages:
        raise unreadable(f"wrong value in field {name!r}", messages, "a list of messages")
    turns = turns_of(messages)
    if declined and turns[-1].role != "assistant":
        turns += _NOTHING
    if turns[0].role == "system":
        return turns
    return (*turns_of(_message(record, "system", SYSTEMS)), *turns)


_NOTHING = (Turn(role="assistant", content=""),)
"""Reply whose field holds none, or of a provider that declined without a word."""


def _exchange(record: Mapping[str, Any], *, declined: bool) -> tuple[Turn, ...]:
    """A query and its reply, which stand in fields of their own."""
    reply = given(record, REPLIES)[1]
    if reply is None and not declined and not record.keys() & REPLIES:
        raise unreadable("no messages and no reply", record, EXPECTED)
    none = reply is None or (declined and not isinstance(reply, str))
    roles = [("system", SYSTEMS), ("user", QUERIES), *([] if none else [("assistant", REPLIES)])]
    turns = turns_of([one for role, names in roles for one in _message(record, role, names)])
    return turns + _NOTHING * none


def _message(record: Mapping[str, Any], role: str, names: Sequence[str]) -> list[dict[str, str]]:
    """The message that stands in a field of its own; none where the field holds nothing."""
    name, value = given(record, names)
    if not isinstance(value, str | None):
        raise unreadable(f"wrong value in field {name!r}", value, "text")
    return [] if value is None else [{"role": role, "content": value}]


_OF_MESSAGE = ("role", "content", "tool_calls", "tool_call_id", "refusal")
_TEXTS = ("text", "input_text", "output_text", "refusal", "tool_use", "tool_result")
_SHAREGPT = {"from": "role", "value": "content"}
"""Fields of a message in ShareGPT's form, and the chat format's."""
_ROLES = {
    "human": "user",
    "function": "tool",
    "observation": "tool",
    "function_call": "assistant",
    **dict.fromkeys(("ai", "model", "gpt", "chatgpt", "bot", "chatbot"), "assistant"),
}


def turns_of(messages: Sequence[object]) -> tuple[Turn, ...]:
    """The turns that messages of the chat format, or of ShareGPT's, are, in whatever order.

    Fields of a message that are none of a turn's are left out; an image or another part that is
    no text stands as its type in brackets.

    Raises:
        UnreadableError: One of the messages is none.
    """
    try:
        return read_turns([_plain(message) for message in whole_characters(messages)])
    except ValidationError as error:
        first = error.errors()[0]
        places = [place for place in first["loc"] if isinstance(place, int)]
        field = next((place for place in first["loc"] if place in _OF_MESSAGE), None)
        what = f"wrong {field}" if field is not None else "not a message of the chat format"
        # Their own words may quote a value.
        expected = "'role' (system, user, assistant, tool) and 'content', or 'from' and 'value'"
        where = f"message {places[0] + 1}: " if places else ""
        raise unreadable(f"{where}{what}", first["input"], expected) from None


def _plain(message: object) -> object:
    """A message with the fields of a turn alone, under a turn's names."""
    if not isinstance(message, Mapping):
        return message
    message = {_SHAREGPT.get(name, name): value for name, value in message.items()} | dict(message)
    plain = {name: message[name] for name in _OF_MESSAGE if name in message}
    plain["role"] = _ROLES.get(str(plain.get("role")), plain.get("role"))
    if plain["role"] == "tool" and isinstance(message.get("name"), str):
        plain["name"] = message["name"]
    if plain["role"] == "assistant" and "content" in plain and not plain.get("refusal"):
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
