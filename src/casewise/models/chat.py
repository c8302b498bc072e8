"""Client of any server of OpenAI's chat completions: models ``openai-api/SERVICE/MODEL``.

Address and key come from ``SERVICE_BASE_URL`` and ``SERVICE_API_KEY``, as Inspect reads them. One
call is one request: ``patience`` sends it again. Servers write an answer in many ways: content as
text or in parts, reasoning beside it or within it, a refusal in a field of its own, an error under
a status of success, tokens without a probability. What is absent or of another type is left out;
what is no answer raises.
"""

import asyncio
import json
import math
import os
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopDetails,
    TopLogprob,
    messages_to_openai,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolFunction, ToolInfo

from casewise.errors import ModelError
from casewise.files import whole_characters
from casewise.models.faults import FaultKind, ResponseError, UnreadAnswerError, status_within
from casewise.models.keys import MissingError, make_redactor

TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=60)
"""Inspect's limit of seconds for a connection: a busy process notices late that one stands. Whoever
asks limits the time of a request."""

KEEPALIVE_S = 5.0
"""As Inspect's: an idle connection is closed before most servers close it."""

MOST_BYTES = 64_000_000
"""Most bytes of an answer: above what any model writes, log-probabilities included."""


class Connections:
    """Connections to one server, in a session for each event loop: another's are of no use."""

    def __init__(self, address: str) -> None:
        self._proxy = proxy_of(address) or None
        self._is_secure = address.startswith("https:")
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(
        self, url: str, headers: Mapping[str, str], body: bytes
    ) -> aiohttp.ClientResponse:
        """Send one request, and wait for the head of its answer; no redirect is followed."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # A loop ends the generators that it has begun, and so the session.
            self._opened = self._open()
            self._session, self._loop = await anext(self._opened), loop
        return await self._session.post(
            url, data=body, headers=headers, allow_redirects=False, proxy=self._proxy
        )

    async def _open(self) -> AsyncGenerator[aiohttp.ClientSession]:
        # Whoever asks limits the requests in flight.
        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=KEEPALIVE_S,
            ssl=certificates() if self._is_secure else True,
        )
        async with aiohttp.ClientSession(
            connector=connector, timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            yield session


def proxy_of(address: str) -> str:
    """Proxy on the way to an address, by the environment; empty of none."""
    parts, proxies = urlsplit(address), getproxies()
    if proxy_bypass(parts.hostname or ""):
        return ""
    return proxies.get(parts.scheme) or proxies.get("all", "")


def certificates() -> ssl.SSLContext:
    """Authorities of SSL_CERT_FILE, or those that Python's packages share.

    Raises:
        ModelError: The file can't be used.
    """
    import certifi

    file = os.environ.get("SSL_CERT_FILE") or certifi.where()
    try:
        return ssl.create_default_context(cafile=file)
    except OSError as error:
        raise ModelError(f"SSL_CERT_FILE: {file}: no certificates ({error.strerror})") from None


async def parts_of(response: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    """Parts of an unpacked body: a few packed megabytes can hold gigabytes.

    Raises:
        UnreadAnswerError: They are longer than any model writes; the rest is not read.
    """
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MOST_BYTES:
            raise UnreadAnswerError(FaultKind.TOO_LONG, f"the answer has {size:,} bytes or more")
        yield part


_SAME = (
    *("max_tokens", "temperature", "top_p", "seed", "frequency_penalty", "presence_penalty"),
    *("logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "parallel_tool_calls"),
)
SETTINGS = {"stop_seqs": "stop", "num_choices": "n"} | {name: name for name in _SAME}
"""Settings of a request: Inspect's name, OpenAI's name."""
REASONING_MODELS = re.compile(r"(.*/)?(o\d|gpt-[5-9])")
"""Models that take their limit as ``max_completion_tokens``."""


class ChatCompletions(ModelAPI):
    """Client of one model."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
    ) -> None:
        service, _, self._model = model_name.partition("/")
        variable = service.upper().replace("-", "_")
        address = base_url or os.environ.get(f"{variable}_BASE_URL", "")
        # A file's last line break is no part of a key.
        key = (api_key or os.environ.get(f"{variable}_API_KEY", "")).strip() or None
        if not address:
            raise MissingError(
                f"openai-api/{model_name}: no address: set {variable}_BASE_URL, or give "
                "--model-base-url"
            )
        super().__init__(model_name, address.rstrip("/"), key, [f"{variable}_API_KEY"], config)
        self._redact = make_redactor()
        self._connections = Connections(address)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Send one request, and read its answer."""
        body: dict[str, Any] = {"model": self._model, "messages": await openai_form(input)}
        for ours, name in SETTINGS.items():
            if (value := getattr(config, ours)) is not None:
                body[name] = value
        if "max_tokens" in body and REASONING_MODELS.match(self._model):
            body["max_completion_tokens"] = body.pop("max_tokens")
        if tools:
            body |= {"tools": [_tool_form(tool) for tool in tools]}
            body |= {"tool_choice": _tool_choice(tool_choice)}
        if (schema := config.response_schema) is not None:
            form = schema.model_dump(exclude_none=True)
            form["schema"] = form.pop("json_schema")
            body["response_format"] = _form("json_schema", form)
        content = await self._post(body | (config.extra_body or {}), config.extra_headers or {})
        return read_completion(content, self._model)

    async def _post(self, body: Mapping[str, Any], headers: Mapping[str, str]) -> bytes:
        """Send one request, and return the body of its answer without known keys."""
        sent = {"Content-Type": "application/json", **headers}
        if self.api_key:
            sent["Authorization"] = f"Bearer {self.api_key}"
        # Half of a surrogate pair can't be sent: it becomes a question mark.
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        url = f"{self.base_url}/chat/completions"
        async with await self._connections.post(url, sent, data) as response:
            content = self._redact(b"".join([part async for part in parts_of(response)]))
            if response.status >= 300:
                raise ResponseError(response.status, response.headers, content)
            return content

    def canonical_name(self) -> str:
        """Name by which Inspect knows prices and windows."""
        return self._model


def _tool_form(tool: ToolInfo) -> dict[str, Any]:
    """A tool's definition in OpenAI's form."""
    parameters = tool.parameters.model_dump(mode="json", exclude_none=True)
    named = {"name": tool.name, "description": tool.description}
    return _form("function", named | {"parameters": parameters})


def _form(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, kind: content}


def _tool_choice(choice: ToolChoice) -> Any:
    if isinstance(choice, ToolFunction):
        return _form("function", {"name": choice.name})
    return "required" if choice == "any" else choice


async def openai_form(messages: list[ChatMessage]) -> Any:
    """Messages in OpenAI's form; plain text without the import of OpenAI's package."""
    for message in messages:
        has_calls = message.role == "tool" or getattr(message, "tool_calls", None)
        if has_calls or not isinstance(message.content, str):
            return await messages_to_openai(messages)
    return [{"role": message.role, "content": message.content} for message in messages]


# --- reading the body ------------------------------------------------------------------------

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


def read_completion(body: bytes, requested_model: str) -> ModelOutput:
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
        raise ResponseError(status, {}, body)
    if not choices and "choices" in whole:
        raise UnreadAnswerError(FaultKind.NO_CHOICES, "an empty list of choices")
    if not isinstance(choices, list):
        raise _unread("JSON without choices")
    model = _text(whole.get("model")) or requested_model
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
    raw_arguments, problem = function.get("arguments") or {}, None
    try:
        arguments = json.loads(raw_arguments) if isinstance(raw_arguments, str) else raw_arguments
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


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= MAX_TOKENS else None
