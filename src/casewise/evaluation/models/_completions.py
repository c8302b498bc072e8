"""Answers of OpenAI's chat completions, in the one form that Inspect reads.

Servers write an answer in many ways: content as text or in parts, thinking beside it or within it,
a stream of pieces, tokens without a probability, counts that are none. What is absent or of another
type is left out; what is no answer raises.
"""

import json
import math
import re
from typing import Any

from casewise.evaluation.models._fault_table import FaultKind
from casewise.evaluation.models._faults import UnreadAnswerError, is_count
from casewise.files import whole_characters

LEAST_LOGPROB = -9999.0
"""OpenAI's own log-probability of what is improbable; some servers say null."""


def read_completion(body: bytes) -> dict[str, Any]:
    """Read the body of an answer.

    Raises:
        UnreadAnswerError: It holds no answer; the message names its shape.
    """
    whole = _parse(body)
    choices = whole.get("choices")
    if not choices and whole.get("error"):
        raise _unread("an error without a status in place of an answer")
    if not choices and "choices" in whole:
        raise UnreadAnswerError(FaultKind.NO_CHOICES, "an empty list of choices")
    if not isinstance(choices, list):
        raise _unread("JSON without choices")
    return whole | {
        "id": _text(whole.get("id")),
        "model": _text(whole.get("model")),
        "choices": [_choice(place, _dict(choice)) for place, choice in enumerate(choices)],
        "usage": _usage(_dict(whole.get("usage"))),
    }


def _unread(shape: str) -> UnreadAnswerError:
    return UnreadAnswerError(FaultKind.UNREADABLE, shape)


def _parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a body, or of a stream's pieces put together."""
    text = body.decode(json.detect_encoding(body), "replace").strip()
    if text.startswith("<"):
        raise _unread("a web page")
    try:
        try:
            whole = _loads(text)
        except ValueError:
            whole = _joined(text)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise _unread("no JSON" if text else "the answer is empty") from None
    if not isinstance(whole, dict):
        raise _unread("JSON, but no object")
    return whole_characters(whole)  # type: ignore[no-any-return]


def _loads(text: str) -> Any:
    # Python refuses whole numbers of thousands of digits.
    return json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 99 else math.inf)


def _joined(stream: str) -> dict[str, Any]:
    """Pieces of a stream as one answer; its error alone, if one came.

    Raises:
        ValueError: It is no stream.
    """
    whole: dict[str, Any] = {}
    for line in stream.split("\n"):
        data = line.removeprefix("data:").strip()
        if line.startswith(("data:", "{")) and data != "[DONE]":
            piece = _dict(_loads(data))
            if piece.get("error"):
                return piece
            _add(whole, piece)
    if not whole:
        raise ValueError
    choices = map(_dict, _list(whole.get("choices")))
    if not ("[DONE]" in stream or any(choice.get("finish_reason") for choice in choices)):
        raise _unread("a stream without an end")
    return whole


_JOINED = {"content", "text", "reasoning_content", "reasoning", "refusal", "arguments"}
"""Texts that come in pieces."""


def _add(whole: dict[str, Any], piece: dict[str, Any]) -> None:
    """Add a piece of a stream to what came before it."""
    for name, value in piece.items():
        if isinstance(value, str) and name in _JOINED:
            whole[name] = (whole.get(name) or "") + value
        elif isinstance(value, dict):
            whole[name] = whole.get(name) or {}
            _add(whole[name], value)
        elif isinstance(value, list):
            items = whole[name] = whole.get(name) or []
            for item in value:
                if isinstance(item, dict) and isinstance(place := item.get("index"), int):
                    items += [{} for _ in range(min(place, 99) + 1 - len(items))]
                    _add(items[place], item)
                else:
                    items.append(item)
        elif value is not None:
            whole[name] = value


def _choice(place: int, choice: dict[str, Any]) -> dict[str, Any]:
    message, ended = choice.get("message") or choice.get("delta"), choice.get("finish_reason")
    if isinstance(text := choice.get("text"), str):
        message = {"content": text}
    if ended == "error" or not (isinstance(message, dict) or ended == "content_filter"):
        raise _unread("a choice without a message")
    message = _dict(message)
    parts: dict[str, list[str]] = {"text": [], "thinking": [], "refusal": []}
    _collect(message.get("content"), "text", parts)
    for name in ("reasoning_content", "reasoning"):
        if not isinstance(message.get(name), str):
            message.pop(name, None)
    if parts["thinking"]:
        message.setdefault("reasoning_content", "\n".join(parts["thinking"]))
    texts = {
        "content": "".join(parts["text"]) or None,
        "refusal": _text(message.get("refusal")) or "".join(parts["refusal"]) or None,
    }
    tokens = _list(_dict(choice.get("logprobs")).get("content"))
    return choice | {
        "index": place,
        "message": message | texts,
        "logprobs": {"content": [_place(_dict(token)) for token in tokens]} if tokens else None,
    }


def _collect(content: Any, kind: str, parts: dict[str, list[str]]) -> None:
    """Add the texts of a message's content: a text, or parts that may have parts."""
    if isinstance(content, list):
        for part in content:
            _collect(part, kind, parts)
    elif isinstance(content, dict):
        named = str(content.get("type"))
        kind = "thinking" if re.search("think|reason", named) else kind
        kind = named if named in parts else kind
        held = (content[name] for name in (named, *_HELD) if name in content)
        _collect(next(held, None), kind, parts)
    elif content is not None:
        parts[kind].append(str(content))


_HELD = ("text", "thinking", "content", "value")
"""Members of a part with its text."""


def _place(place: dict[str, Any]) -> dict[str, Any]:
    """Log-probability of a token; where there are no alternatives, None stands for them."""
    value: Any = place.get("logprob")
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return {
        "token": _text(place.get("token")),
        "logprob": min(0.0, float(value)) if is_number else LEAST_LOGPROB,
        "bytes": _list(place.get("bytes")) or None,
        "top_logprobs": [_place(_dict(top)) for top in _list(place.get("top_logprobs"))] or None,
    }


def _usage(usage: dict[str, Any]) -> dict[str, Any] | None:
    """Tokens of a request; None where the count of those sent or answered is none."""
    sent, answered = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not (is_count(sent) and is_count(answered)):
        return None
    details = {
        name: {inner: count for inner, count in _dict(part).items() if is_count(count)}
        for name, part in usage.items()
        if name.endswith("details")
    }
    return usage | details | {"total_tokens": sent + answered}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
