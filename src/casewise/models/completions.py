"""Answers of OpenAI's chat completions, in the one form that casewise reads.

Servers write an answer in many ways: content as text or in parts, reasoning beside it or within
it, a refusal in a field of its own, an error under a status of success, tokens without a
probability. What is absent or of another type is left out; what is no answer raises.
"""

import json
import math
import re
from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    Logprob,
    Logprobs,
    ModelOutput,
    ModelUsage,
    StopDetails,
    TopLogprob,
)
from inspect_ai.tool import ToolCall

from casewise.files import whole_characters
from casewise.models.faults import FaultKind, ResponseError, UnreadAnswerError, status_within

LEAST_LOGPROB = -9999.0
"""OpenAI's own log-probability of what is improbable; some servers say null."""
MAX_TOKENS = 10**9
"""Tokens above which a count is no count."""
STOPS = {"stop": "stop", "eos": "stop", "length": "max_tokens"}
STOPS |= {"tool_calls": "tool_calls", "function_call": "tool_calls"}
STOPS |= {name: name for name in ("max_tokens", "model_length", "content_filter")}
"""Ends of an answer: a server's name, Inspect's name; any other is unknown."""
REASONING = ("reasoning_content", "reasoning")
"""Members of a message with its reasoning."""
THINKING = re.compile(r"<think>(.*?)</think>", re.DOTALL)


def read_completion(body: bytes, asked: str) -> ModelOutput:
    """Read the body of an answer of the model that was asked.

    Raises:
        ResponseError: It holds an error of the server's in place of an answer.
        UnreadAnswerError: It holds no answer; the message says what it holds.
    """
    whole = _parse(body)
    choices = whole.get("choices")
    first = _dict(choices[0]) if isinstance(choices, list) and choices else whole
    if first.get("error") and (not choices or first.get("finish_reason") == "error"):
        if (status := status_within(first)) is None:
            raise _unread("an error without a status in place of an answer")
        raise ResponseError(status, {}, first)
    if not choices and "choices" in whole:
        raise UnreadAnswerError(FaultKind.NO_CHOICES, "an empty list of choices")
    if not isinstance(choices, list):
        raise _unread("JSON without choices")
    model = _text(whole.get("model")) or asked
    return ModelOutput(
        model=model,
        choices=[_choice(_dict(choice), model) for choice in choices],
        usage=_usage(_dict(whole.get("usage"))),
        response_id=_text(whole.get("id")) or None,
    )


def _unread(shape: str) -> UnreadAnswerError:
    return UnreadAnswerError(FaultKind.UNREADABLE, shape)


def _parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a body."""
    text = body.decode(json.detect_encoding(body), "replace").strip()
    if text.startswith("<"):
        raise _unread("a web page")
    try:
        # Python refuses whole numbers of thousands of digits.
        whole = json.loads(text, parse_int=lambda n: int(n) if len(n) < 99 else math.inf)
    except (ValueError, RecursionError):
        raise _unread("no JSON" if text else "the answer is empty") from None
    if not isinstance(whole, dict):
        raise _unread("JSON, but no object")
    return whole_characters(whole)  # type: ignore[no-any-return]


def _choice(choice: dict[str, Any], model: str) -> ChatCompletionChoice:
    message, ended = choice.get("message"), choice.get("finish_reason")
    if isinstance(text := choice.get("text"), str):
        message = {"content": text}
    if ended == "error" or not (isinstance(message, dict) or ended == "content_filter"):
        raise _unread("a choice without a message")
    message = _dict(message)
    parts: dict[str, list[str]] = {"text": [], "thinking": [], "refusal": []}
    _collect(message.get("content"), "text", parts)
    text, thoughts = "".join(parts["text"]), "\n".join(parts["thinking"])
    refusal = _text(message.get("refusal")) or "".join(parts["refusal"])
    source = next((name for name in REASONING if _text(message.get(name))), None)
    thoughts = _text(message.get(source or "")) or thoughts
    if not thoughts and (thinking := THINKING.search(text)):
        thoughts, text = thinking[1].strip(), text[: thinking.start()] + text[thinking.end() :]
        text, source = text.strip(), "think"
    reply = ContentText(text=refusal or text, refusal=True if refusal else None)
    # Inspect sends reasoning back in the form that `internal` names.
    thought = [ContentReasoning(reasoning=thoughts, internal=source)] if thoughts else []
    return ChatCompletionChoice(
        message=ChatMessageAssistant(
            content=[*thought, reply] if thoughts or refusal else text,
            model=model,
            source="generate",
            tool_calls=[_call(_dict(call)) for call in _list(message.get("tool_calls"))] or None,
        ),
        stop_reason=STOPS.get(str(ended), "unknown"),
        stop_details=StopDetails(type="refusal", explanation=refusal) if refusal else None,
        logprobs=_logprobs(_list(_dict(choice.get("logprobs")).get("content"))),
    )


def _collect(content: Any, kind: str, parts: dict[str, list[str]]) -> None:
    """Add the texts of a message's content: a text, or parts that may have parts."""
    if isinstance(content, list):
        for part in content:
            _collect(part, kind, parts)
    elif isinstance(content, dict):
        named = str(content.get("type"))
        kind = "thinking" if re.search("think|reason", named) else kind
        kind = named if named in parts else kind
        names = (named, "text", "thinking", "content", "value")
        _collect(next((content[name] for name in names if name in content), None), kind, parts)
    elif content is not None:
        parts[kind].append(str(content))


def _call(call: dict[str, Any]) -> ToolCall:
    function = _dict(call.get("function"))
    given, problem = function.get("arguments") or {}, None
    try:
        arguments = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        arguments, problem = {}, "arguments that are no JSON"
    if not isinstance(arguments, dict):
        arguments, problem = {}, "arguments that are no object"
    name = _text(function.get("name"))
    return ToolCall(_text(call.get("id")), name, arguments, problem)


def _logprobs(places: list[Any]) -> Logprobs | None:
    """Log-probabilities by place; a place without alternatives has None for them, not a list."""
    read = []
    for place in map(_dict, places):
        others = [TopLogprob(**_token(top)) for top in map(_dict, _list(place.get("top_logprobs")))]
        read.append(Logprob(**_token(place), top_logprobs=others or None))
    return Logprobs(content=read) if read else None


def _token(place: dict[str, Any]) -> dict[str, Any]:
    value: Any = place.get("logprob")
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return {
        "token": _text(place.get("token")),
        "logprob": min(0.0, float(value)) if is_number else LEAST_LOGPROB,
        "bytes": _list(place.get("bytes")) or None,
    }


def _usage(usage: dict[str, Any]) -> ModelUsage | None:
    """Tokens of a request; None where a count is missing or absurd."""
    sent, written = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
    if sent is None or written is None:
        return None
    cached = _count(_dict(usage.get("prompt_tokens_details")).get("cached_tokens"))
    thought = _count(_dict(usage.get("completion_tokens_details")).get("reasoning_tokens"))
    return ModelUsage(
        input_tokens=sent - min(cached or 0, sent),
        output_tokens=written,
        total_tokens=sent + written,
        input_tokens_cache_read=cached,
        reasoning_tokens=thought,
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < MAX_TOKENS else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
