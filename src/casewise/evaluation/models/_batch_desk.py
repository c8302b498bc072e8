"""Stand between Inspect and OpenAI's Files and Batches interface, so that no answer is lost.

Inspect uploads a file of requests, asks for the batch, and fetches one file of results. The desk
splits its requests: those that a batch of an earlier start holds are waited for there, the others
are sent. The results that it gives back hold one line for each request, whatever became of it:
Inspect would wait for ever for a request that is missing, and take one line that it can't read for
the failure of all.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import uuid4

import httpx2
from inspect_ai.model import Model
from openai import APIStatusError, AsyncOpenAI, OpenAIError
from openai.types import Batch, FileObject
from openai.types.batch_request_counts import BatchRequestCounts
from openai.types.chat import ChatCompletion
from openai.types.responses import Response
from pydantic import BaseModel, ValidationError

from casewise.errors import CasewiseError
from casewise.evaluation.models._batches import TICK_S, BatchLedger, NotSentError, batch_settings
from casewise.evaluation.models._fault_table import (
    CANCELLED,
    NO_LINE,
    NOT_TAKEN,
    UNREADABLE_LINE,
    kind_of,
    row_of,
)
from casewise.evaluation.models._faults import count_fault
from casewise.evaluation.models._reachability import reach_of
from casewise.evaluation.models._standing import seconds_before

ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
"""Statuses that a batch keeps."""

_FAILED = 400
"""Least HTTP status of an error."""
_UNSAID = 418
"""Status that Inspect needs of an error that none said; the code tells its kind."""
_GONE = (400, 404, 410)
_PASSING = 408
"""Least status after which a batch may have been taken all the same."""
_LOOKS = 3
"""Looks for a batch that may have been taken."""
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
            self._ledger.sending(self._name, handed.file, handed.new)
            more["extra_headers"] = {"Idempotency-Key": handed.file} | (
                more.get("extra_headers") or {}
            )
            batch = await self._send(handed.file, endpoint=endpoint, **more)
            self._ledger.sent(handed.file, batch)
            handed.out[batch] = set(handed.new)
        return self._batch(input_file_id)

    async def _send(self, file: str, **more: Any) -> str:
        """Name of the batch of a file: one, whatever is answered to its creation.

        Raises:
            NotSentError: It was not taken.
        """
        try:
            return str((await self._create(input_file_id=file, **more)).id)
        except CasewiseError:
            raise
        except Exception as error:  # a status, a cut connection, a body that is no batch
            refused = isinstance(error, APIStatusError) and error.status_code < _PASSING
            # Otherwise it may have been taken and not be listed yet.
            found = await self._settled(file, 1 if refused else _LOOKS)
            if found is None:
                self._ledger.sent(file, None)
                raise NotSentError from error
            return found

    async def _settled(self, file: str, looks: int) -> str | None:
        """The batch of a file, if there is one, however long the provider takes to say so."""
        failed = 0
        while looks:
            try:
                if (found := await self._find(file)) is not None:
                    return found
                looks -= 1
            except OpenAIError as error:
                if row_of(error).is_final:
                    # The next start looks again.
                    raise NotSentError from error
                failed += 1
            if looks:
                tick = batch_settings().tick or TICK_S
                await asyncio.sleep(max(tick, seconds_before(failed, None) if failed else 0.0))
        return None

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
                lacking = _error(NO_LINE, f"batch {name} is not known to the provider")
            elif row_of(error).is_final:
                lacking = _answered(error.status_code, json.dumps({"error": error.body}))
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
        lines: list[dict[str, Any]] = []
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            lines += _results(await (await self._content(file)).aread())
        found = self._first_of_each(name, lines, handed.out[name])
        lacking = _lacking(batch, resend=self._ledger.resends_cancelled)
        own = {
            number: _result(found[number], handed.endpoint) if number in found else lacking
            for number in handed.out.pop(name)
        }
        handed.results |= own
        if name in handed.earlier:
            self._ledger.collected += sum("response" in result for result in own.values())

    def _first_of_each(
        self, name: str, lines: Iterable[dict[str, Any]], asked: Set[str]
    ) -> dict[str, dict[str, Any]]:
        """Results by request number, the first of each; says where there are others."""
        found: dict[str, dict[str, Any]] = {}
        again, other, strange = set[str](), set[str](), set[str]()
        for line in lines:
            number = line["custom_id"]
            if number not in asked:
                strange.add(number)
            elif number not in found:
                found[number] = line
            else:
                again.add(number)
                if _content(line) != _content(found[number]):
                    other.add(number)
        if again:
            self._reach.tell(
                self._name,
                f"batch {name}: {len(again):,} requests have more than one result, which differ "
                f"for {len(other):,} of them; the first of each is kept",
            )
        if strange:
            self._reach.tell(
                self._name,
                f"batch {name}: {len(strange):,} results are of no request in it, and left out",
            )
        return found

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


def _results(data: bytes) -> list[dict[str, Any]]:
    """Results with a request's number; lines that can't be read are left out."""
    results = []
    for line in data.splitlines():
        with suppress(ValueError):
            result = json.loads(line)
            if isinstance(result, dict) and isinstance(result.get("custom_id"), str):
                results.append(result)
    return results


def _content(line: Mapping[str, Any]) -> Any:
    """Part of a result that two lines of one request should share."""
    response = line.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    said = body.get("choices", body.get("output", body)) if isinstance(body, dict) else body
    return said, line.get("error")


def _result(found: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """A provider's result as Inspect reads it: an answer, or an error with an HTTP status."""
    response, error = found.get("response"), found.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), response.get("body")
        if error is None and (status is None or status < _FAILED):
            with suppress(ValidationError):
                _ANSWERS[endpoint].model_validate(body)
                return {"response": response, "error": None}
        if isinstance(status, int) and status >= _FAILED:
            return _answered(status, json.dumps(body))
        if isinstance(status, int):
            return _error(UNREADABLE_LINE, "the answer can't be read")
    said = error if isinstance(error, dict) else {}
    words = str(said.get("message") or "the batch ended without an answer")
    return _error(NO_LINE, words, code=said.get("code"))


def _answered(status: int, body: str) -> dict[str, Any]:
    """Error of a request whose answer had a status."""
    return {"error": {"code": status, "message": body}}


def _error(ours: str, message: str, *, code: object = None) -> dict[str, Any]:
    """Error of a request without an answer.

    Args:
        ours: Code by which casewise tells of it.
        message: The provider's words, or ours.
        code: The provider's own code, which goes first.
    """
    told = {"error": {"code": code, "type": ours, "message": message}}
    return _answered(_UNSAID, json.dumps(told))


def _lacking(batch: Batch, *, resend: bool) -> dict[str, Any]:
    """Error of a request that an ended batch has no result for.

    Args:
        batch: The batch.
        resend: Whether the requests of a cancelled one are sent again.
    """
    errors = (batch.errors.data if batch.errors is not None else None) or []
    words = "; ".join(dict.fromkeys(error.message or error.code or "" for error in errors))
    if batch.status == "failed":
        code = next((error.code for error in errors if error.code), None)
        return _error(NOT_TAKEN, words or "the batch was not taken", code=code)
    if batch.status == "cancelled" and not resend:
        return _error(CANCELLED, f"batch {batch.id} was cancelled")
    return _error(NO_LINE, words or f"the batch is {batch.status}")
