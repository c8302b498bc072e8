"""Conversations as promptfoo, PyRIT and Inspect keep them."""

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from casewise.cases import opened
from casewise.errors import InputError
from casewise.files import address_of
from casewise.logs import provider_refused, read_samples
from casewise.transcripts.conversations import (
    BadLine,
    Conversation,
    UnreadableError,
    conversation_of,
    ending_of,
    field_of,
    number_of,
    read_each,
    turns_of,
    unreadable,
)


def record_conversation(record: object, place: str) -> Conversation:
    """The conversation that a record holds, of promptfoo or of any other.

    Raises:
        UnreadableError: It holds none.
    """
    read = _promptfoo_conversation if _is_promptfoo(record) else conversation_of
    return read(record, place)  # type: ignore[arg-type]  # a result of promptfoo is a mapping


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _case(fields: Mapping[str, Any]) -> str | None:
    """Id of the case that fields name."""
    case = field_of(fields, "case")[1]
    return None if case is None else str(case)


def _object(value: object) -> Mapping[str, Any]:
    """A mapping; in CSV, one that Python or JSON has printed; else an empty one."""
    value = opened(value)
    return value if isinstance(value, Mapping) else {}


# --- promptfoo --------------------------------------------------------------------------------


def _is_promptfoo(record: object) -> bool:
    """Tell whether a record is one of promptfoo's results: a prompt and its variables."""
    return isinstance(record, Mapping) and all(
        isinstance(record.get(name), Mapping) for name in ("prompt", "vars")
    )


def promptfoo_results(data: object) -> list[Any] | None:
    """The results of promptfoo's JSON output; None of other JSON."""
    results = data.get("results") if isinstance(data, Mapping) else None
    # Files of version 2 have them at the top.
    results = results.get("results") if isinstance(results, Mapping) else results
    return results if isinstance(results, list) and any(map(_is_promptfoo, results)) else None


def _promptfoo_conversation(record: Mapping[str, Any], place: str) -> Conversation:
    """The conversation of a result: one test by one provider with one prompt."""
    response = _object(record.get("response"))
    output = response.get("output")
    if output is None:
        found = "an error" if record.get("error") else "no response"
        raise UnreadableError(f"no reply (found {found}; expected 'response' with 'output')")
    reply = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    of_test = _object(_object(record.get("testCase")).get("metadata"))
    named = {**record["vars"], **of_test, **_object(record.get("metadata"))}
    prompt = record["prompt"].get("raw")
    if not isinstance(prompt, str):
        raise unreadable("wrong prompt", prompt, "'prompt' with its text under 'raw'")
    # A prompt as it was sent is a text, or messages of the chat format as JSON.
    sent = opened(prompt)
    asked = sent if isinstance(sent, list) else [{"role": "user", "content": prompt}]
    declined, cut = ending_of({**response, "output": None})
    provider = record.get("provider")
    return Conversation(
        id=str(record.get("id") or place),
        turns=turns_of([*asked, {"role": "assistant", "content": reply}]),
        line=number_of(place),
        category=_text(named.get("category")),
        model=_text(_object(provider).get("id") or provider),
        case=_case(named),
        query=_text(field_of(record["vars"], "query")[1]),
        declined=declined or response.get("isRefusal") is True,
        cut=cut,
    )


# --- PyRIT ------------------------------------------------------------------------------------

_PIECE = ("conversation_id", "sequence", "role", "converted_value")
"""Fields that every piece of a message has in PyRIT's memory, and so in what it exports."""


def is_pyrit(record: object) -> bool:
    """Tell whether a record is a piece of a message of PyRIT's memory."""
    return isinstance(record, Mapping) and set(_PIECE) <= set(record)


def pyrit_conversations(pieces: Iterable[tuple[str, Any]]) -> Iterator[Conversation | BadLine]:
    """The conversations whose messages are in pieces, by conversation and sequence.

    What was sent is read: an original text only as what was asked, if it is another. A line is
    accounted for with the conversation that it is a piece of, which stands at its first line.

    Args:
        pieces: Each with its place.
    """
    by_conversation = defaultdict[str, list[tuple[str, Mapping[str, Any]]]](list)
    for place, piece in pieces:
        if is_pyrit(piece) and str(piece["sequence"]).isdecimal():
            by_conversation[str(piece["conversation_id"])].append((place, piece))
        else:
            problem = unreadable("not a piece of a message", piece, ", ".join(_PIECE))
            yield BadLine(place, str(problem))
    yield from read_each(
        (
            (min((place for place, _ in own), key=number_of), own)
            for own in by_conversation.values()
        ),
        _pyrit_conversation,
    )


def _pyrit_conversation(
    placed: Sequence[tuple[str, Mapping[str, Any]]], place: str
) -> Conversation:
    pieces = sorted((piece for _, piece in placed), key=lambda piece: int(piece["sequence"]))
    messages = dict[int, dict[str, Any]]()
    # Labels went with version 1; metadata are in all.
    named: dict[str, Any] = {}
    for piece in pieces:
        kind = piece.get("converted_value_data_type") or "text"
        text = piece["converted_value"] if kind in ("text", "error") else f"[{kind}]"
        if earlier := messages.get(int(piece["sequence"])):
            parts = (earlier["content"], text)
            earlier["content"] = "\n".join(str(one) for one in parts if one is not None)
        else:
            role = str(piece["role"]).removeprefix("simulated_")
            messages[int(piece["sequence"])] = {"role": role, "content": text}
        named |= {**_object(piece.get("prompt_metadata")), **_object(piece.get("labels"))}
    targets = [_object(piece.get("prompt_target_identifier")) for piece in pieces]
    models = (one.get("model_name") or one.get("__type__") for one in targets)
    asked = [piece.get("original_value") for piece in pieces if piece["role"] == "user"]
    last = pieces[-1]
    return Conversation(
        id=str(last["conversation_id"]),
        turns=turns_of(list(messages.values())),
        line=number_of(place),
        model=next(filter(None, map(_text, models)), None),
        case=_case(named),
        query=_text(asked[-1]) if asked else None,
        declined=last["role"] == "assistant" and last.get("response_error") == "blocked",
    )


# --- Inspect ----------------------------------------------------------------------------------


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


def read_logs(paths: Sequence[Path]) -> Iterator[Conversation | BadLine]:
    """The conversations of logs of whatever task, a sample each, one in memory at a time.

    Args:
        paths: Logs; samples are numbered over all of them.

    Raises:
        InputError: A log can't be read.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    samples = (found for path in paths for found in _samples(path))
    for number, found in enumerate(samples, start=1):
        yield from read_each([(f"sample {number}", found)], _sample_conversation)


def _samples(path: Path) -> Iterator[tuple[Any, Any]]:
    # Loaded late: Inspect takes seconds to import.
    from inspect_ai.log import read_eval_log

    address = address_of(path)
    try:
        log = read_eval_log(address, header_only=True)
        for sample in read_samples(address):
            yield log, sample
    except Exception as error:  # Inspect raises whatever the broken part raises
        problem = f"not a readable Inspect log: {type(error).__name__}"
        raise InputError(problem, file=address) from None


def _sample_conversation(found: tuple[Any, Any], place: str) -> Conversation:
    log, sample = found
    output = sample.output
    if not sample.messages or (sample.error and not output.choices):
        reason = "an error" if sample.error else "none"
        raise UnreadableError(f"no messages (found {reason}; expected a conversation)")
    named = sample.metadata or {}
    return Conversation(
        id=f"{log.eval.eval_id} {sample.id} {sample.epoch}",
        turns=turns_of(list(map(_message, sample.messages))),
        line=number_of(place),
        category=_text(named.get("category")),
        model=log.eval.model,
        case=_case(named),
        sample=str(sample.id),
        query=_text(named.get("query")),
        declined=provider_refused(output),
        cut=ending_of({"stop_reason": output.stop_reason if output.choices else None})[1],
    )
