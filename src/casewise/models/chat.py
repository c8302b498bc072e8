"""Client of any server of OpenAI's chat completions: models ``openai-api/SERVICE/MODEL``.

Address and key come from ``SERVICE_BASE_URL`` and ``SERVICE_API_KEY``, as Inspect reads them. One
call is one request: ``patience`` sends it again. Redirects are not followed, and a body has
a limit; ``completions`` reads what came. Targets share its limits, and its clients of one event
loop (``PerLoop``).
"""

import asyncio
import json
import os
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, messages_to_openai
from inspect_ai.tool import ToolChoice, ToolFunction, ToolInfo

from casewise.models.completions import read_completion
from casewise.models.faults import FaultKind, ResponseError, UnreadAnswerError
from casewise.models.keys import MissingError, make_redactor

Value = TypeVar("Value")

CONNECT_TIMEOUT_S = 60.0
"""As Inspect's: a busy process notices late that a connection stands."""

KEEPALIVE_S = 5.0
"""As Inspect's: an idle connection is closed before most servers close it."""

MOST_BYTES = 64_000_000
"""Most bytes of an answer: above what any model writes, log-probabilities included."""


def check_size(size: int) -> None:
    """Refuse an answer by its number of bytes.

    Raises:
        UnreadAnswerError: It has more than any model writes.
    """
    if size > MOST_BYTES:
        raise UnreadAnswerError(FaultKind.TOO_LONG, f"the answer has {size:,} bytes or more")


async def limited(parts: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Parts of an unpacked body: a few packed megabytes can hold gigabytes.

    Raises:
        UnreadAnswerError: They are longer than any model writes; the rest is not read.
    """
    size = 0
    async for part in parts:
        size += len(part)
        check_size(size)
        yield part


def limit_body(response: Any) -> None:
    """Have the body of a response of httpx read to a limit.

    Raises:
        UnreadAnswerError: It says itself that it is longer.
    """
    said = response.headers.get("content-length", "")
    check_size(int(said) if said.isdecimal() else 0)
    parts = response.aiter_bytes
    vars(response)["aiter_bytes"] = lambda *given: limited(parts(*given))


class PerLoop(Generic[Value]):
    """A client opened once for each event loop: connections of another loop are of no use.

    Args:
        opening: Yields an open client, and closes it when its loop ends, as loops end the
            generators that they have begun.
    """

    def __init__(self, opening: Callable[[], AsyncGenerator[Value]]) -> None:
        self._opening = opening
        self._loop: asyncio.AbstractEventLoop | None = None

    async def get(self) -> Value:
        """The running loop's client."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._opened = self._opening()
            self._current, self._loop = await anext(self._opened), loop
        return self._current


TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=600)

SAME = (
    *("max_tokens", "temperature", "top_p", "seed", "frequency_penalty", "presence_penalty"),
    *("logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "parallel_tool_calls"),
)
SETTINGS = {"stop_seqs": "stop", "num_choices": "n"} | {name: name for name in SAME}
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
        key = api_key or os.environ.get(f"{variable}_API_KEY")
        if not address:
            raise MissingError(
                f"openai-api/{model_name}: no address: set {variable}_BASE_URL, or give "
                "--model-base-url"
            )
        super().__init__(model_name, address.rstrip("/"), key, [f"{variable}_API_KEY"], config)
        self._redact = make_redactor()
        parts = urlsplit(address)
        self._is_secure = parts.scheme == "https"
        is_direct = proxy_bypass(parts.hostname or "")
        self._proxy = None if is_direct else getproxies().get(parts.scheme)
        self._sessions = PerLoop(self._open_session)

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Send one request, and read its answer."""
        body: dict[str, Any] = {"model": self._model, "messages": await _messages(input)}
        for ours, name in SETTINGS.items():
            if (value := getattr(config, ours)) is not None:
                body[name] = value
        if "max_tokens" in body and REASONING_MODELS.match(self._model):
            body["max_completion_tokens"] = body.pop("max_tokens")
        if tools:
            body |= {"tools": [_tool_form(tool) for tool in tools]}
            body |= {"tool_choice": _choice(tool_choice)}
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
        session = await self._sessions.get()
        async with session.post(
            url, data=data, headers=sent, allow_redirects=False, proxy=self._proxy
        ) as response:
            parts = [part async for part in limited(response.content.iter_any())]
            content = self._redact(b"".join(parts))
            if response.status >= 300:
                raise ResponseError(response.status, response.headers, content)
            return content

    async def _open_session(self) -> AsyncGenerator[aiohttp.ClientSession]:
        # Whoever asks limits the requests in flight.
        connector = aiohttp.TCPConnector(
            limit=0,
            keepalive_timeout=KEEPALIVE_S,
            ssl=_certificates() if self._is_secure else True,
        )
        async with aiohttp.ClientSession(
            connector=connector, timeout=TIMEOUT, cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            yield session

    def canonical_name(self) -> str:
        """Name by which Inspect knows prices and windows."""
        return self._model

    def connection_key(self) -> str:
        """Name of what shares a limit of connections."""
        return f"{self.base_url} {self.model_name}"


def _tool_form(tool: ToolInfo) -> dict[str, Any]:
    """A tool's definition in OpenAI's form."""
    parameters = tool.parameters.model_dump(mode="json", exclude_none=True)
    named = {"name": tool.name, "description": tool.description}
    return _form("function", named | {"parameters": parameters})


def _form(kind: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, kind: content}


def _choice(choice: ToolChoice) -> Any:
    if isinstance(choice, ToolFunction):
        return _form("function", {"name": choice.name})
    return "required" if choice == "any" else choice


async def _messages(messages: list[ChatMessage]) -> Any:
    """Messages as they are sent; plain text without the import of OpenAI's package."""
    if any(one.role == "tool" or not isinstance(one.content, str) for one in messages) or any(
        getattr(one, "tool_calls", None) for one in messages
    ):
        return await messages_to_openai(messages)
    return [{"role": one.role, "content": one.content} for one in messages]


def _certificates() -> ssl.SSLContext:
    """Authorities of SSL_CERT_FILE, or those that Python's packages share."""
    import certifi

    return ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE") or certifi.where())
