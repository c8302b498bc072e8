"""Stand between Inspect and OpenAI's Files and Batches interface, so that no answer is lost.

Inspect hands in a file of requests, asks how the batch is, and fetches one file of results. What it
hands in is split here: requests that a batch of an earlier start holds are waited for there, the
others are sent. What it fetches holds one line for each request, whatever became of it: Inspect
would wait for ever for a request that is missing, and take one line that it can't read for the
failure of all.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import uuid4

from inspect_ai.model import Model
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, OpenAIError
from openai.types import Batch, FileObject
from openai.types.batch_request_counts import BatchRequestCounts
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel, ValidationError

from casewise.evaluation.models._batches import BatchLedger, NotSentError
from casewise.evaluation.models._faults import count_fault, kind_of
from casewise.evaluation.models._reachability import reach_of

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""Statuses that a batch keeps."""

EXPIRED = 408
"""The status given to what a batch ended without: it is worth another request."""

_REFUSED = 400
_FULL = "token_limit_exceeded"
"""A batch that does not fit into what may be out at once."""
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
    """Those that no earlier batch holds."""
    file: str
    """File of the requests that are sent; empty where none is."""
    out: dict[str, set[str]]
    """Requests whose answers are awaited, by batch."""
    earlier: frozenset[str]
    """Batches of earlier starts."""
    endpoint: str = ""
    created_at: int = 0
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Requests done and failed, by batch."""
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    reasons: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Failure by request number."""


class BatchDesk:
    """Takes the place of a client's Files and Batches.

    Args:
        model: Its client is OpenAI's.
        ledger: Where batches are noted that are out.
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
            held = {number for numbers in earlier.values() for number in numbers}
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
        except APIStatusError as error:
            if error.status_code < 500:
                self._ledger.sent(file, None)
                raise
            failed: OpenAIError = error
        except APIConnectionError as error:
            failed = error
        # It may have been taken all the same.
        sent = await self._find(file)
        if sent is None:
            self._ledger.sent(file, None)
            raise failed
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

    async def retrieve(self, batch_id: str, **more: Any) -> Batch:
        """State of a batch; one that has ended is fetched first.

        Raises:
            openai.APIError: The provider does not say; Inspect asks again.
        """
        handed = self._handed.get(batch_id)
        if handed is None:
            return await self._retrieve(batch_id, **more)
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
            if error.status_code not in (*_GONE, 401, 403):
                raise
            gone = error.status_code in _GONE
            status = EXPIRED if gone else error.status_code
            words = f"batch {name} is not known to the provider" if gone else error.message
            handed.reasons |= dict.fromkeys(handed.out.pop(name), (status, words))
            return
        self._reach.has_answered()
        handed.created_at = batch.created_at or handed.created_at
        if batch.request_counts is not None:
            counts = batch.request_counts
            handed.counts[name] = (counts.completed or 0, counts.failed or 0)
        if batch.status not in ENDED:
            return
        results: dict[str, dict[str, Any]] = {}
        for file in (batch.output_file_id, batch.error_file_id):
            if file:
                results |= _results(await (await self._content(file)).aread())
        own = handed.out.pop(name)
        handed.results |= {number: results[number] for number in own & results.keys()}
        handed.reasons |= dict.fromkeys(own - results.keys(), _why(batch))
        if name in handed.earlier:
            self._ledger.collected += sum(
                _is_answer(results.get(number, {}), handed.endpoint) for number in own
            )

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

    async def content(self, file_id: str, **more: Any) -> Any:
        """The results of what Inspect takes for a batch: one line a request."""
        handed = self._handed.pop(file_id, None)
        if handed is None:
            return await self._content(file_id, **more)
        lines = (
            json.dumps({"custom_id": number} | _result(handed, number)) for number in handed.numbers
        )
        return _Content("\n".join(lines).encode())


@dataclass(frozen=True, slots=True)
class _Content:
    """A file, as the client gives it."""

    data: bytes

    async def aread(self) -> bytes:
        """Its bytes."""
        return self.data


def _results(data: bytes) -> dict[str, dict[str, Any]]:
    """Results by request number; lines that can't be read are left out."""
    results = {}
    for line in data.splitlines():
        try:
            result = json.loads(line)
        except ValueError:
            continue
        if isinstance(result, dict) and isinstance(result.get("custom_id"), str):
            results[result["custom_id"]] = result
    return results


def _result(handed: _Handed, number: str) -> dict[str, Any]:
    """A line as Inspect reads it: an answer, or an error with an HTTP status."""
    result = handed.results.get(number)
    if result is None:
        return _error(*handed.reasons.get(number, (EXPIRED, "the batch ended without an answer")))
    if _is_answer(result, handed.endpoint):
        return {"response": result["response"], "error": None}
    response, error = result.get("response"), result.get("error")
    if isinstance(response, dict) and isinstance(status := response.get("status_code"), int):
        if status >= _REFUSED:
            return _error(status, json.dumps(response.get("body")))
        return _error(_REFUSED, "the answer can't be read")
    said = error.get("message") if isinstance(error, dict) else None
    return _error(EXPIRED, str(said or "the batch ended without an answer"))


def _is_answer(result: Mapping[str, Any], endpoint: str) -> bool:
    response = result.get("response")
    if result.get("error") is not None or not isinstance(response, dict):
        return False
    if response.get("status_code", 200) >= _REFUSED:
        return False
    try:
        _ANSWERS[endpoint].model_validate(response.get("body"))
    except ValidationError:
        return False
    return True


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": {"code": status, "message": message}}


def _why(batch: Batch) -> tuple[int, str]:
    """Status and reason of requests that a batch has no result for."""
    errors = (batch.errors.data if batch.errors is not None else None) or []
    words = "; ".join(dict.fromkeys(error.message or error.code or "" for error in errors))
    if batch.status != "failed":
        return EXPIRED, words or f"the batch is {batch.status}"
    full = any(error.code == _FULL for error in errors)
    return _RATE if full else _REFUSED, words or "the batch was not taken"
