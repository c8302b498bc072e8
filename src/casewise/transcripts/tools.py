"""Conversations as promptfoo, PyRIT and Inspect keep them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from casewise.cases import Turn, opened
from casewise.files import whole_characters
from casewise.transcripts.conversation import (
    QUERIES,
    BadLine,
    Conversation,
    UnreadableError,
    case_of,
    conversation_of,
    ending_of,
    given,
    read_each,
    text_or_none,
    turns_of,
    unreadable,
)


def record_conversation(record: object, line: int, unit: str = "line") -> Conversation:
    """The conversation that a record holds, whoever wrote it.

    Raises:
        UnreadableError: It holds none.
    """
    record = whole_characters(record)
    if is_promptfoo(record):
        return promptfoo_conversation(record, line, unit)
    return conversation_of(record, line, unit)


# --- promptfoo --------------------------------------------------------------------------------


def is_promptfoo(record: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a record is one of promptfoo's results: a prompt and its variables."""
    return (
        isinstance(record, Mapping)
        and isinstance(record.get("prompt"), Mapping)
        and isinstance(record.get("vars"), Mapping)
    )


def promptfoo_results(data: object) -> list[Any] | None:
    """The results of promptfoo's JSON output; None of other JSON."""
    results = data.get("results") if isinstance(data, Mapping) else None
    # Files of version 2 have them at the top.
    results = results.get("results") if isinstance(results, Mapping) else results
    return results if isinstance(results, list) and any(map(is_promptfoo, results)) else None


def promptfoo_conversation(record: Mapping[str, Any], line: int, unit: str) -> Conversation:
    """The conversation of one of promptfoo's results.

    The case is the one that the variables or the test's metadata name as ``case_id``.

    Raises:
        UnreadableError: It holds no reply.
    """
    response, said = record.get("response"), dict(record["vars"])
    response = response if isinstance(response, Mapping) else {}
    output = response.get("output")
    if output is None:
        found = "an error" if record.get("error") else "no response"
        raise UnreadableError(f"no reply (found {found}; expected 'response' with 'output')")
    reply = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    for place in (record.get("testCase"), record):
        about = place.get("metadata") if isinstance(place, Mapping) else None
        said |= about if isinstance(about, Mapping) else {}
    prompt = record["prompt"].get("raw")
    declined, cut = ending_of({**response, "output": None})
    provider = record.get("provider")
    model = provider.get("id") if isinstance(provider, Mapping) else provider
    return Conversation(
        # One result of a test by one provider with one prompt.
        id=str(record.get("id") or f"{unit} {line}"),
        turns=turns_of([*_promptfoo_messages(prompt), {"role": "assistant", "content": reply}]),
        line=line,
        category=text_or_none(said.get("category")),
        model=text_or_none(model),
        case=case_of(said),
        query=text_or_none(given(record["vars"], QUERIES)[1]),
        declined=declined or response.get("isRefusal") is True,
        cut=cut,
    )


def _promptfoo_messages(prompt: object) -> Sequence[object]:
    """A prompt as it was sent: a text, or messages of the chat format as JSON."""
    if not isinstance(prompt, str):
        raise unreadable("wrong prompt", prompt, "'prompt' with its text under 'raw'")
    if prompt.lstrip().startswith("["):
        try:
            messages = json.loads(prompt)
        except (ValueError, RecursionError):
            messages = None
        if isinstance(messages, list) and all(isinstance(one, Mapping) for one in messages):
            return messages
    return [{"role": "user", "content": prompt}]


# --- PyRIT ------------------------------------------------------------------------------------

PYRIT_FIELDS = ("conversation_id", "sequence", "role", "converted_value")
"""Fields that every piece of a message has in PyRIT's memory, and so in what it exports."""


def is_pyrit(record: object) -> TypeGuard[Mapping[str, Any]]:
    """Tell whether a record is a piece of a message of PyRIT's memory."""
    return isinstance(record, Mapping) and set(PYRIT_FIELDS) <= set(record)


def pyrit_conversations(
    pieces: Iterable[tuple[int, object]], unit: str
) -> Iterator[Conversation | BadLine]:
    """The conversations whose messages are in pieces, by conversation and sequence.

    What was sent is read: an original text only as what was asked, if it is another. A line is
    accounted for with the conversation that it is a piece of, which stands at its first line.

    Args:
        pieces: Each with its line.
        unit: What the file's places are called.
    """
    found = defaultdict[str, list[tuple[int, Mapping[str, Any]]]](list)
    for line, piece in pieces:
        if is_pyrit(piece) and _number(piece["sequence"]) is not None:
            found[str(piece["conversation_id"])].append((line, piece))
        else:
            problem = str(unreadable("not a piece of a message", piece, ", ".join(PYRIT_FIELDS)))
            yield BadLine(line, problem, unit)
    by_line = (
        (min(line for line, _ in parts), [piece for _, piece in parts]) for parts in found.values()
    )
    yield from read_each(by_line, _pyrit_conversation, unit)


def _pyrit_conversation(pieces: list[Mapping[str, Any]], line: int, _unit: str) -> Conversation:
    pieces = sorted(pieces, key=lambda piece: _number(piece["sequence"]) or 0)
    messages: list[dict[str, Any]] = []
    before: object = None
    for piece in pieces:
        role = str(piece["role"]).removeprefix("simulated_")
        kind = piece.get("converted_value_data_type") or "text"
        text = piece["converted_value"] if kind in ("text", "error") else f"[{kind}]"
        if before == piece["sequence"] and messages:
            parts = (messages[-1]["content"], text)
            messages[-1]["content"] = "\n".join(str(one) for one in parts if one is not None)
        else:
            messages.append({"role": role, "content": text})
        before = piece["sequence"]
    asked = [piece for piece in pieces if piece["role"] == "user"]
    # Labels went with version 1; metadata are in all.
    said: dict[str, Any] = {}
    for piece in pieces:
        said |= {**_object(piece.get("prompt_metadata")), **_object(piece.get("labels"))}
    targets = [_object(piece.get("prompt_target_identifier")) for piece in pieces]
    models = [one.get("model_name") or one.get("__type__") for one in targets]
    last = pieces[-1]
    return Conversation(
        id=str(last["conversation_id"]),
        turns=turns_of(messages),
        line=line,
        model=next((one for one in models if isinstance(one, str)), None),
        case=case_of(said),
        query=text_or_none(asked[-1].get("original_value")) if asked else None,
        declined=last["role"] == "assistant" and last.get("response_error") == "blocked",
    )


def _number(value: object) -> int | None:
    try:
        return int(value) if isinstance(value, int | str) else None
    except ValueError:
        return None


def _object(value: object) -> Mapping[str, Any]:
    """A mapping; in CSV, one that Python or JSON has printed."""
    value = opened(value)
    return value if isinstance(value, Mapping) else {}


# --- Inspect ----------------------------------------------------------------------------------


def turns_of_messages(messages: Sequence[Any]) -> tuple[Turn, ...]:
    """The turns that Inspect's messages are.

    Raises:
        UnreadableError: One of them is none.
    """
    return turns_of([_message(message) for message in messages])


def _message(message: Any) -> dict[str, Any]:
    """One of Inspect's messages as the chat format has it; reasoning is no part of what is said."""
    plain = {"role": message.role, "content": message.text}
    if message.role == "assistant" and message.tool_calls:
        plain["tool_calls"] = [
            {"id": call.id, "name": call.function, "arguments": call.arguments}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        plain |= {"tool_call_id": message.tool_call_id, "name": message.function}
    return plain
