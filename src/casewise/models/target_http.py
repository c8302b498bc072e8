"""Send a target's request over HTTP, and read the reply out of the answer.

Errors are in casewise's words: a bot's own may quote what was asked.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import aiohttp
import jmespath
from jmespath.exceptions import JMESPathError

from casewise.errors import ModelError
from casewise.models.chat import Connections, parts_of
from casewise.models.faults import FaultKind, ResponseError, UnreadAnswerError
from casewise.models.keys import keep_secret, redacted, secrets_of_address
from casewise.models.target_file import BY_NAME, TargetFile, address_problem, text_of, value_of

SHOWN = 2_000
"""Most letters of an answer that a check shows."""

_NEVER_REFUSALS = (401, 403, 404, 408, 429)
"""Statuses below 500 of a wrong key, address or limit, never of a bot's refusal."""
_DONE = "[DONE]"
_NO_DATA = (":", "event:", "id:", "retry:")
"""Beginnings of lines of server-sent events that hold no data."""


_ABSENT = object()
"""What a placeholder without a value becomes: the member that it stands in is left out."""


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """A template with values for its placeholders; members that are absent are left out."""
    if isinstance(template, dict):
        filled = {name: fill(inner, values) for name, inner in template.items()}
        return {name: inner for name, inner in filled.items() if inner is not _ABSENT}
    if isinstance(template, list):
        return [item for inner in template if (item := fill(inner, values)) is not _ABSENT]
    if not isinstance(template, str):
        return template
    if (whole := BY_NAME.fullmatch(template)) and whole[1]:
        value = value_of(values, whole[1])
        return _ABSENT if value is None else value
    return _write(template, values, str)


def _write(text: str, values: Mapping[str, Any], escape: Callable[[str], str]) -> str:
    """A text with values for its placeholders, escaped unless they are of the environment."""

    def written(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        value = text_of(value_of(values, match[1]))
        return value if match[1].startswith("env:") else escape(value)

    return BY_NAME.sub(written, text)


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """Reading of an answer."""

    reply: str = ""
    refused: bool = False
    """True if the bot itself says that it, or a filter, declined."""
    session: str | None = None
    usage: tuple[int, int] | None = None
    """Tokens in and out."""


@dataclass(slots=True)
class TargetExchange:
    """Request and answer, with keys redacted."""

    url: str = ""
    headers: tuple[str, ...] = ()
    """Names of the request's headers."""
    body: str = ""
    status: int | None = None
    content_type: str = ""
    answer: str = ""
    """Beginning of the answer."""


class Bot:
    """Client of a bot behind an address."""

    def __init__(self, spec: TargetFile) -> None:
        self.spec = spec
        address = _address(spec)
        self.base_url = redacted(address.partition("?")[0])
        self.last = TargetExchange()
        self._connections = Connections(address)

    async def ask(self, values: Mapping[str, Any]) -> TargetAnswer:
        """Answer of the bot to a request with values for the placeholders.

        Raises:
            ResponseError: Its status is no success.
            UnreadAnswerError: Its answer has no reply, or a first one no id of the conversation.
        """
        spec = self.spec
        own_headers = {name: text_of(value) for name, value in fill(spec.headers, values).items()}
        headers = {"Content-Type": "application/json", **own_headers}
        body = json.dumps(fill(spec.body, values), ensure_ascii=False)
        url = _write(spec.url, values, lambda value: quote(value, safe=""))
        exchange = self.last = TargetExchange(redacted(url), tuple(headers), redacted(body))
        sent = body.encode(errors="replace")
        async with await self._connections.post(url, headers, sent) as response:
            exchange.status = response.status
            exchange.content_type = response.headers.get("Content-Type", "").partition(";")[0]
            reading = await _read(spec, response, exchange)
        if spec.session and not (values["session"] or reading.session or reading.refused):
            # Each further turn would begin another conversation.
            raise _unread(f"expected the conversation's id at session ({spec.session})")
        return reading


def _address(spec: TargetFile) -> str:
    """The address that requests go to.

    Raises:
        ModelError: The values in the environment make none.
    """
    url = _write(spec.url, spec.environment(), str)
    if problem := address_problem(url):
        names = ", ".join(name for name, at in spec.variables.items() if at == "url")
        raise ModelError(f"{problem} (expected http://HOST:PORT/PATH): check {names}")
    keep_secret(*(value for _, value in secrets_of_address(url)))
    return url


async def _read(
    spec: TargetFile, response: aiohttp.ClientResponse, exchange: TargetExchange
) -> TargetAnswer:
    """Reading of an answer.

    Raises:
        ResponseError: Its status is no success.
        UnreadAnswerError: It has no reply.
    """
    status, parts = response.status, _parts(response, exchange)
    if spec.stream and status < 300:
        return await _read_stream(spec, _lines(parts))
    content = b"".join([part async for part in parts])
    text = content.decode(json.detect_encoding(content), "replace")
    if status < 300:
        return _read_answer(spec, _json(text, exchange.content_type))
    if spec.refused and 400 <= status < 500 and status not in _NEVER_REFUSALS:
        with suppress(UnreadAnswerError):
            answer = _json(text, "")
            if _search(answer, "refused", spec.refused):
                return _read_answer(spec, answer)
    raise ResponseError(status, response.headers, content, of_bot=True)


async def _parts(
    response: aiohttp.ClientResponse, exchange: TargetExchange
) -> AsyncIterator[bytes]:
    """Parts of an answer, as it comes."""
    async for part in parts_of(response):
        exchange.answer += part[: SHOWN - len(exchange.answer)].decode(errors="replace")
        yield part


async def _lines(parts: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """The lines of a stream, ended by line feeds alone: JSON may hold other separators."""
    tail = b""
    async for part in parts:
        *whole, tail = (tail + part).split(b"\n")
        for line in whole:
            yield line.decode(errors="replace")
    yield tail.decode(errors="replace")


async def _read_stream(spec: TargetFile, lines: AsyncIterator[str]) -> TargetAnswer:
    replies: list[str] = []
    whole, ended, number = TargetAnswer(), False, 0
    async for line in lines:
        number += 1
        text = line.strip()
        if not text or text.startswith(_NO_DATA):
            continue
        text = text.removeprefix("data:").strip()
        if text in (_DONE, spec.end):
            ended = text == spec.end
            break
        answer = _json(text, "", f"line {number} of the stream")
        part = _read_answer(spec, answer, whole=False)
        replies.append(part.reply)
        whole = TargetAnswer(
            refused=whole.refused or part.refused,
            session=part.session or whole.session,
            usage=part.usage or whole.usage,
        )
        is_expression = spec.end and not spec.end.startswith("[")
        if ended := bool(is_expression and _search(answer, "end", spec.end)):
            break
    if spec.end and not ended:
        raise _unread(f"the stream ended before its last line ({spec.end})")
    reply = "".join(replies)
    if not (reply or whole.refused):
        raise _unread(f"no line of the stream has a text at reply ({spec.reply})")
    return replace(whole, reply=reply)


def _read_answer(spec: TargetFile, answer: Any, *, whole: bool = True) -> TargetAnswer:
    """Reading of an answer, or of one line of a stream."""
    refused = bool(_search(answer, "refused", spec.refused))
    reply = _search(answer, "reply", spec.reply)
    if reply is None and (refused or not whole):
        reply = ""
    if not isinstance(reply, str):
        raise _unread(
            f"expected a text at reply ({spec.reply}), found {_KINDS.get(type(reply), 'no text')}"
        )
    session = _search(answer, "session", spec.session)
    counts = [_search(answer, f"usage.{name}", inner) for name, inner in spec.usage or ()]
    usage = (counts[0], counts[1]) if {type(count) for count in counts} == {int} else None
    return TargetAnswer(reply, refused, None if session is None else str(session), usage)


_KINDS = {
    type(None): "nothing",
    dict: "a mapping",
    list: "a list",
    bool: "true or false",
    int: "a number",
    float: "a number",
}


def _search(answer: Any, field: str, expression: str | None) -> Any:
    """Value at a field's expression; None where the file has no such field."""
    try:
        return jmespath.search(expression, answer) if expression else None
    except JMESPathError:
        # The error's words quote the answer.
        raise _unread(f"{field} ({expression}) can't be applied to it") from None


def _json(content: str, content_type: str, what: str = "the answer") -> Any:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        pass
    if not content.strip():
        raise _unread(f"{what} is empty")
    if content_type == "text/html" or content.lstrip()[:1] == "<":
        raise _unread(f"{what} is an HTML page and no JSON; check the address")
    raise _unread(f"{what} is no JSON ({content_type or 'no content type'})")


def _unread(problem: str) -> UnreadAnswerError:
    return UnreadAnswerError(FaultKind.UNREADABLE, problem)
