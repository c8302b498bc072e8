"""Send the requests of Inspect's ``openai-api`` provider over aiohttp.

The provider's own client spends more of the processor on a request than all that casewise does
with the answer. What is sent, how an answer is read, and what is logged stay the provider's:
nothing is replaced but the sending.
"""

import json
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import Any
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from inspect_ai.model import GenerateConfig, Model
from openai import DEFAULT_TIMEOUT, NOT_GIVEN, APIConnectionError, APITimeoutError
from openai.types.chat import ChatCompletion
from pydantic import ValidationError

from casewise.evaluation.models._completions import read_completion
from casewise.evaluation.models._connections import (
    CONNECT_TIMEOUT_S,
    KEEPALIVE_S,
    PerLoop,
    check_size,
    limited,
)
from casewise.evaluation.models._provider_calls import (
    COMPLETIONS,
    DECODED,
    attempt_failed,
    connected,
    redacted_answer,
)
from casewise.evaluation.models._said import error_within
from casewise.evaluation.models._seam import SENDS, hooks_of, openai_compatible

_APART = frozenset({"extra_headers", "extra_body"})
"""Options of a request that aren't members of its body."""
_RARE = frozenset({"extra_query", "timeout"})
"""Options that are left to the provider's client."""

_FAILED = 300
"""Least HTTP status that is no success."""

_SETTINGS = "INSPECT_HTTP_"
"""Prefix of the environment variables that only the provider's client understands."""


_open_sessions: set[aiohttp.ClientSession] = set()
"""Sessions still to be closed: a model may be dropped before its loop ends."""


def send_leanly(model: Model) -> bool:
    """Send a model's requests over aiohttp, unless they need the provider's client.

    Other models than those of ``openai-api`` need it, and so do arguments of the model's client, a
    proxy, and settings of Inspect's HTTP client.

    Returns:
        True if they go over aiohttp.
    """
    api: Any = model.api
    if type(api) is not openai_compatible() or model.model_args or hooks_of(api) is None:
        return False
    if any(name.startswith(_SETTINGS) for name in os.environ):
        return False
    if getproxies() and not proxy_bypass(api.client.base_url.host):
        return False
    if SENDS not in vars(api):
        setattr(api, SENDS, _Sender(api).complete)
    return True


def send_as_provided(model: Model) -> None:
    """Send a model's requests as its provider does."""
    vars(model.api).pop(SENDS, None)


class _Sender:
    """Sender of one model's requests."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self._standard: Callable[..., Awaitable[ChatCompletion]] = api._generate_completion
        self._url = f"{str(api.client.base_url).rstrip('/')}{COMPLETIONS}"
        self._headers = {
            name: value
            for name, value in api.client.default_headers.items()
            if isinstance(value, str) and name.lower() != "authorization"
        }
        self._session = PerLoop(partial(_open_session, api.client.base_url.scheme))

    async def complete(self, request: dict[str, Any], config: GenerateConfig) -> ChatCompletion:
        """The completion of a request, as the provider's own client returns it.

        Raises:
            openai.APIError: The same error as its client raises.
        """
        if self._api.resolve_stream(config) or not _RARE.isdisjoint(request):
            return await self._standard(request, config)
        try:
            status, told, content = await self._send(_body(request), self._headers_of(request))
        except (aiohttp.ClientError, OSError) as error:
            attempt_failed(error)
            kind = APITimeoutError if isinstance(error, TimeoutError) else APIConnectionError
            raise kind(request=self._asked()) from error
        status = (error_within(content) if status < _FAILED else None) or status
        if status >= _FAILED:
            response = self._response(status, told, content)
            raise self._api.client._make_status_error_from_response(response)
        return _completion(content)

    async def _send(
        self, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of one attempt's answer."""
        session = await self._session.get()
        # Inspect counts and times attempts under this header.
        hooks = hooks_of(self._api)
        number = headers[hooks.REQUEST_ID_HEADER]
        hooks.update_request_time(number)
        asked = session.post(self._url, data=body, headers=headers, allow_redirects=False)
        async with asked as response:
            hooks.record_response(number, response.status, response.headers)
            check_size(response.content_length or 0)
            body = b"".join([part async for part in limited(response.content.iter_any())])
            return response.status, response.headers, redacted_answer(body)

    def _headers_of(self, request: Mapping[str, Any]) -> dict[str, str]:
        key = {"Authorization": f"Bearer {self._api.client.api_key}"}
        return self._headers | key | dict(request["extra_headers"])

    def _asked(self) -> httpx2.Request:
        """Request of an error, for messages: neither its key nor its text."""
        return httpx2.Request("POST", self._url)

    def _response(self, status: int, told: Mapping[str, str], content: bytes) -> httpx2.Response:
        """A failed answer in the terms of the provider's client."""
        headers = [(name, value) for name, value in told.items() if name.lower() not in DECODED]
        return httpx2.Response(status, headers=headers, content=content, request=self._asked())


async def _open_session(scheme: str) -> AsyncGenerator[aiohttp.ClientSession]:
    """A session, for ``PerLoop``."""
    timeout = aiohttp.ClientTimeout(
        total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=DEFAULT_TIMEOUT.read
    )
    # Inspect limits the requests in flight.
    connector = _Connector(
        limit=0,
        keepalive_timeout=KEEPALIVE_S,
        # The certificates that the provider's client trusts.
        ssl=httpx2.create_ssl_context() if scheme == "https" else True,
    )
    async with aiohttp.ClientSession(
        connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        _open_sessions.add(session)
        try:
            yield session
        finally:
            _open_sessions.discard(session)


class _Connector(aiohttp.TCPConnector):
    """Connector that tells of each connection, in less time than a trace of aiohttp's."""

    async def connect(self, *given: Any, **named: Any) -> aiohttp.connector.Connection:
        connection = await super().connect(*given, **named)
        connected()
        return connection


def _body(request: Mapping[str, Any]) -> bytes:
    """A request's options as JSON, written as the provider's client writes it."""
    whole = {
        name: value
        for name, value in request.items()
        if name not in _APART and value is not NOT_GIVEN
    } | dict(request.get("extra_body") or {})
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def _completion(content: bytes) -> ChatCompletion:
    """The completion that a body holds, unchecked where a server's own fields need it.

    Raises:
        UnreadAnswerError: It holds none.
    """
    whole = read_completion(content)
    try:
        # One without faults is the same when checked, which takes a tenth of the time.
        return ChatCompletion.model_validate(whole, strict=True)
    except ValidationError:
        return ChatCompletion.construct(**whole)
