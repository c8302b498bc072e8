"""Stand between Inspect and OpenAI's Files and Batches interface, so that no answer is lost.

Inspect uploads a file of requests, asks for the batch, and fetches one file of results. The desk
splits its requests: those that a batch of an earlier start holds are waited for there, the others
are sent. The results that it gives back hold one line for each request, whatever became of it:
Inspect would wait for ever for a request that is missing, and take one line that it can't read for
the failure of all.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import uuid4

import httpx2
from inspect_ai.model import Model
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, OpenAIError
from openai.types import Batch, FileObject
from openai.types.batch_request_counts import BatchRequestCounts
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel, ValidationError

from casewise.evaluation.models._batches import BatchLedger, NotSentError
from casewise.evaluation.models._fault_table import UNREADABLE_LINE, kind_of
from casewise.evaluation.models._faults import count_fault
from casewise.evaluation.models._reachability import reach_of

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""Statuses that a batch keeps."""

EXPIRED = 408
"""Status of requests whose batch ended without their result: they are worth another attempt."""

_REFUSED = 400
_FULL = "token_limit_exceeded"
"""Code of a batch that exceeds what may be out at once."""
_RATE = 429
_GONE = (400, 404, 410)
_SEARCHED = 1_000
"""Batches of the account among which one is looked for, the newest first."""

_ANSWERS: Mapping[str, type[BaseModel]] = {
    "/v1/chat/completions": ChatCompletion,
    "/v1/responses": Response,
}
"""Types of answers by endpoint."""


@dataclass(slots=True)
class _Handed:
    """One batch as Inspect sees it."""

    numbers: tuple[str, ...]
    new: tuple[str, ...]
    """Requests that no earlier batch holds."""
    file: str
    """File of the new requests; empty where there are none."""
    out: dict[str, set[str]]
    """Requests whose answers are awaited, by batch."""
    earlier: frozenset[str]
    """Batches of earlier starts."""
    endpoint: str = ""
    created_at: int = 0
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Requests done and failed, by batch."""
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Answers and errors by request, as Inspect reads them."""


class BatchDesk:
    """Replacement for a client's Files and Batches.

    Args:
        model: A model of OpenAI's client.
        ledger: Ledger of the batches that are out.
    """

    def __init__(self, model: Model, ledger: BatchLedger) -> None:
        self._name, self._ledger = str(model), ledger
        self._reach = reach_of(model)
        client: AsyncOpenAI = model.api.client  # type: ignore[attr-defined]
        self._client = client
        self._upload, self._content = client.files.create, client.files.content
        self._create, self._retrieve = client.batches.create, client.batches.retrieve
        self._handed: dict[str, _Handed] = {}
        vars(client.files).update(create=self.upload, content=self.content)
        vars(client.batches).update(create=self.create, retrieve=self.retrieve)

    async def upload(self, *, file: IO[bytes], **more: Any) -> FileObject:
        """Take a file of requests, and upload those that no earlier batch holds.

        Raises:
            NotSentError: It can't be uploaded.
        """
        lines = {json.loads(line)["custom_id"]: line for line in file.read().splitlines()}
        try:
            await self._ledger.claim(self._name, self._find)
            earlier = self._ledger.take(lines)
            held = set[str]().union(*earlier.values())
            new = tuple(number for number in lines if number not in held)
            uploaded = ""
            if new:
                data = b"\n".join(lines[number] for number in new) + b"\n"
                uploaded = (await self._upload(file=("requests.jsonl", data), **more)).id
        except (OpenAIError, OSError) as error:
            raise NotSentError from error
        self._reach.has_answered()
        name = f"casewise-{uuid4().hex}"
        self._handed[name] = _Handed(tuple(lines), new, uploaded, earlier, frozenset(earlier))
        return FileObject.construct(id=name)

    async def create(self, *, input_file_id: str, endpoint: Any, **more: Any) -> Batch:
        """Send the uploaded requests as a batch, and note it.

        Raises:
            NotSentError: It is not taken.
        """
        handed = self._handed[input_file_id]
        handed.endpoint = endpoint
        if handed.file:
            try:
                self._ledger.sending(self._name, handed.file, handed.new)
                batch = await self._send(handed.file, endpoint=endpoint, **more)
                self._ledger.sent(handed.file, batch)
            except (OpenAIError, OSError) as error:
                raise NotSentError from error
            handed.out[batch] = set(handed.new)
        return self._batch(input_file_id)

    async def _send(self, file: str, **more: Any) -> str:
        try:
            return (await self._create(input_file_id=file, **more)).id
        except (APIStatusError, APIConnectionError) as error:
            refused = isinstance(error, APIStatusError) and error.status_code < 500
            # Otherwise it may have been taken all the same.
            sent = None if refused else await self._find(file)
            if sent is None:
                self._ledger.sent(file, None)
                raise
            return sent

    async def _find(self, file: str) -> str | None:
        """The batch of a file, if there is one."""
        seen = 0
        async for batch in self._client.batches.list(limit=100):
            seen += 1
            if batch.input_file_id == file:
                return batch.id
            if seen == _SEARCHED:
                break
        return None

    async def retrieve(self, batch_id: str) -> Batch:
        """State of a batch; the results of those of the provider's that ended are fetched.

        Raises:
            openai.APIError: The provider does not say; Inspect asks again.
        """
        handed = self._handed[batch_id]
        for name in list(handed.out):
            try:
                await self._look(handed, name)
            except OpenAIError as error:
                kind = kind_of(error)
                count_fault(self._name, kind, said=f"{kind.words} when asked for batch {name}")
                raise
        return self._batch(batch_id)

    async def _look(self, handed: _Handed, name: str) -> None:
        """Ask for one of the provider's batches."""
        try:
            batch = await self._retrieve(name)
        except APIStatusError as error:
            if error.status_code in _GONE:
                lacking = _error(EXPIRED, f"batch {name} is not known to the provider")
            elif error.status_code in (401, 403):
                lacking = _error(error.status_code, error.message)
            else:
                raise
            handed.results |= dict.fromkeys(handed.out.pop(name), lacking)
            return
        self._reach.has_answered()
        handed.created_at = batch.created_at or handed.created_at
        if (counts := batch.request_counts) is not None:
            handed.counts[name] = (counts.completed or 0, counts.failed or 0)
        if batch.status not in ENDED:
            return
        found: dict[str, dict[str, Any]] = {}
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            found |= _results(await (await self._content(file)).aread())
        lacking = _lacking(batch)
        own = {
            number: _result(found[number], handed.endpoint) if number in found else lacking
            for number in handed.out.pop(name)
        }
        handed.results |= own
        if name in handed.earlier:
            self._ledger.collected += sum("response" in result for result in own.values())

    def _batch(self, name: str) -> Batch:
        """State of a batch as Inspect sees it."""
        handed = self._handed[name]
        done = sum(count for count, _ in handed.counts.values())
        failed = sum(count for _, count in handed.counts.values())
        return Batch.construct(
            id=name,
            status="in_progress" if handed.out else "completed",
            created_at=handed.created_at,
            output_file_id=name,
            error_file_id=None,
            errors=None,
            request_counts=BatchRequestCounts(
                completed=done, failed=failed, total=len(handed.numbers)
            ),
        )

    async def content(self, file_id: str) -> httpx2.Response:
        """Results of a batch as Inspect sees it: one line a request."""
        handed = self._handed.pop(file_id)
        lines = (
            json.dumps({"custom_id": number} | handed.results[number]) for number in handed.numbers
        )
        return httpx2.Response(200, content="\n".join(lines).encode())


def _results(data: bytes) -> dict[str, dict[str, Any]]:
    """Results by request number; lines that can't be read are left out."""
    results = {}
    for line in data.splitlines():
        with suppress(ValueError):
            result = json.loads(line)
            if isinstance(result, dict) and isinstance(result.get("custom_id"), str):
                results[result["custom_id"]] = result
    return results


def _result(found: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """A provider's result as Inspect reads it: an answer, or an error with an HTTP status."""
    response, error = found.get("response"), found.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        if error is None and (status is None or status < _REFUSED):
            with suppress(ValidationError):
                _ANSWERS[endpoint].model_validate(body)
                return {"response": response, "error": None}
        if isinstance(status, int) and status >= _REFUSED:
            return _error(status, json.dumps(body))
        if isinstance(status, int):
            return _error(_REFUSED, json.dumps({"error": {"code": UNREADABLE_LINE}}))
    said = error.get("message") if isinstance(error, dict) else None
    return _error(EXPIRED, str(said or "the batch ended without an answer"))


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message}}


def _lacking(batch: Batch) -> dict[str, Any]:
    """Error of a request that an ended batch has no result for."""
    errors = (batch.errors.data if batch.errors is not None else None) or []
    words = "; ".join(dict.fromkeys(error.message or error.code or "" for error in errors))
    if batch.status != "failed":
        return _error(EXPIRED, words or f"the batch is {batch.status}")
    full = any(error.code == _FULL for error in errors)
    return _error(_RATE if full else _REFUSED, words or "the batch was not taken")
