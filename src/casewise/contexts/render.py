"""Render a context: JSON for judges, text for people, messages for a chatbot.

Annotators and judges must see the same words, so both use this module. A chatbot is told by its
deployer, or by the user in one message or several. There, values stand as they are: text about a
person or a service can't be put into another grammatical person by rule, so the frames around it
say whom it is about. Parameters stand as a list, nested as in the context; what has no value (an
empty group, no context) is not spoken of.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import JsonValue

from casewise.cases import Context


def render_json(context: Context | None, *, ascii_only: bool = True) -> str:
    """JSON of a context as in the reference's prompt: the bytes of ``json.dumps(context)``.

    No context is the empty object, as when the reference removes every group.

    Args:
        context: The context.
        ascii_only: Whether other letters are escaped, as in the reference. Text in other scripts
            can hardly be read so.
    """
    return json.dumps(context.root if context is not None else {}, ensure_ascii=ascii_only)


def render_text(context: Context | None) -> str:
    """Indented list of a context for people, names with spaces for underscores."""
    if context is None or not context.root:
        return "(no context)"
    return "\n".join(_lines(context.root, 0))


def parameter_title(name: str) -> str:
    """Name of a group or parameter for people: Sender purpose for ``sender_purpose``."""
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


NOTHING = "none"


def _leaf(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value in (None, [], {}):
        return NOTHING
    if isinstance(value, list):
        return "; ".join(
            json.dumps(item, ensure_ascii=False) if isinstance(item, dict) else _leaf(item)
            for item in value
        )
    return str(value)


DEPLOYER = "You are an AI assistant. The operator of this service has verified the following."
USER = "Some context before I ask, written in the third person."

DEPLOYER_GROUPS = {
    "sender": "About you and where you are used",
    "recipient": "About the user you are talking to",
    "transmission_principle": "About the terms of this conversation",
}
USER_GROUPS = {
    "sender": "About you and where we are talking",
    "recipient": "About me",
    "transmission_principle": "About the terms of our conversation",
}
SPOKEN = {"Sender purpose": "Your purpose"}
"""Titles in words for the chatbot, which does not know itself as a sender."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of a context and its path."""

    group: str
    """The name of its group, for example ``recipient``."""
    path: tuple[str, ...]
    """The names that lead to it from its group; empty where the group is itself a value."""
    title: str
    """The last of these names for people, for example ``Platform type``."""
    text: str
    """The value: text as it is, yes or no, a number, a list joined by semicolons, or none."""


def facts(context: Context | None) -> tuple[Fact, ...]:
    """Every value of a context, in order, of known and unknown groups; none without a context.

    A list of plain values is one fact; of a list that holds mappings or lists, the items are
    numbered. An empty mapping is no fact; null, an empty list and blank text read ``none``.
    """
    root = context.root if context is not None else {}
    return tuple(fact for group, value in root.items() for fact in _facts(group, (), value))


def describe_to_sender(context: Context | None) -> str:
    """The deployer's system message: what the chatbot is, whom it talks to, on what terms."""
    return _message(DEPLOYER, _blocks(context, DEPLOYER_GROUPS))


def claim(context: Context | None) -> str:
    """The facts of a context as a user's claim, in one message."""
    return _message(USER, _blocks(context, USER_GROUPS))


def claim_turns(context: Context | None) -> tuple[str, ...]:
    """The facts of a context as a user's claim, one message a group."""
    blocks = _blocks(context, USER_GROUPS)
    return (_message(USER, blocks[:1]), *blocks[1:]) if blocks else ()


def _facts(group: str, path: tuple[str, ...], value: JsonValue) -> Iterator[Fact]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _facts(group, (*path, name), inner)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for number, item in enumerate(value, start=1):
            yield from _facts(group, (*path, str(number)), item)
    else:
        yield Fact(group, path, _title(path[-1] if path else group), _text(value))


def _title(name: str) -> str:
    return parameter_title(" ".join(name.replace("_", " ").split())) or "Other"


def _text(value: JsonValue) -> str:
    if isinstance(value, list):
        return "; ".join(map(_text, value)) or NOTHING
    text = _leaf(value)
    return text if text.strip() else NOTHING


def _message(frame: str, blocks: tuple[str, ...]) -> str:
    return "\n\n".join((frame, *blocks)) if blocks else ""


def _blocks(context: Context | None, headings: Mapping[str, str]) -> tuple[str, ...]:
    """Paragraph of each group: its heading, and its facts as a list."""
    groups = groupby(facts(context), key=lambda fact: fact.group)
    return tuple(
        "\n".join(_fact_lines(headings.get(group, _title(group)), list(members)))
        for group, members in groups
    )


def _fact_lines(heading: str, group: Sequence[Fact]) -> Iterator[str]:
    if not group[0].path:
        yield f"{heading}: {group[0].text}"
        return
    yield f"{heading}:"
    before: tuple[str, ...] = ()
    for fact in group:
        parents = fact.path[:-1]
        for depth, name in enumerate(parents):
            if before[: depth + 1] != parents[: depth + 1]:
                yield f"{_bullet(depth, _title(name))}:"
        yield f"{_bullet(len(parents), fact.title)}: {fact.text}"
        before = parents


def _bullet(depth: int, title: str) -> str:
    return f"{'  ' * depth}- {SPOKEN.get(title, title)}"
