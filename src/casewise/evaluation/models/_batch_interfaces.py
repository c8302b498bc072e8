"""Each provider's interface of batches in one form: create one, find it, look at it, read it.

Inspect writes the requests and reads the answers; here stands what it leaves out: a batch is
created by one call, which nothing repeats, and can be found again when the answer to it is lost.
"""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar
from uuid import uuid4

import httpx2

from casewise.evaluation.models._connections import without_retries
from casewise.evaluation.models._fault_table import (
    CANCELLED,
    NO_LINE,
    NOT_TAKEN,
    UNREADABLE_LINE,
)
from casewise.evaluation.models._said import GRPC_CODES, read_error

SEARCHED = 1_000
"""Batches of the account among which one is looked for, the newest first."""

_PAGE = 100
_FAILED = 400
"""Least HTTP status of an error."""
_EARLIER_S = 60.0
"""Seconds by which a provider's clock may be behind ours."""

Begin = Callable[[str], None]
"""Called with the mark of a batch just before it is created."""


class NoResultError(Exception):
    """A request without an answer in its batch.

    Args:
        error: The provider's own error, or one of casewise's.
    """

    def __init__(self, error: Mapping[str, Any]) -> None:
        self.said = read_error(None, {}, {"error": dict(error)})
        super().__init__(str(error.get("message") or "the batch ended without an answer"))


def no_result(ours: str, message: str, code: object = None) -> NoResultError:
    """Error of a request that casewise itself tells of.

    Args:
        ours: Code by which casewise tells of it.
        message: The provider's words, or ours.
        code: The provider's own code, which goes first.
    """
    return NoResultError({"code": code, "type": ours, "message": message})


@dataclass(frozen=True, slots=True)
class Job:
    """State of one of a provider's batches."""

    name: str
    created_at: int = 0
    done: int = 0
    failed: int = 0
    ended: str = ""
    """State that it keeps, in the provider's word; empty while it lasts."""
    is_cancelled: bool = False
    is_refused: bool = False
    """True if it was not taken."""
    code: str | None = None
    """The provider's code for it."""
    words: str = ""
    places: tuple[str, ...] = ()
    """Files or addresses of its results."""

    def lacking(self, *, resend: bool) -> NoResultError:
        """Error of a request that it has no result for.

        Args:
            resend: Whether the requests of a cancelled one are sent again.
        """
        if self.is_refused:
            return no_result(NOT_TAKEN, self.words or "the batch was not taken", self.code)
        if self.is_cancelled and not resend:
            return no_result(CANCELLED, f"batch {self.name} was cancelled")
        return no_result(NO_LINE, self.words or f"the batch is {self.ended}")


class BatchInterface(ABC):
    """Batches of one provider.

    Args:
        batcher: Inspect's, which holds the client.
    """

    batcher: Any
    is_exact: ClassVar[bool] = True
    """Whether a batch is known by its mark alone."""

    def __init__(self, batcher: Any) -> None:
        self.batcher = batcher
        self._create = batcher._create_batch

    @abstractmethod
    async def submit(self, requests: list[Any], begin: Begin) -> str:
        """Create a batch by one call, and return its name; empty where the answer has none."""

    @abstractmethod
    async def find(self, mark: str) -> tuple[str, ...]:
        """Names of the batches that may be the one of a mark."""

    @abstractmethod
    async def look(self, name: str) -> Job:
        """State of a batch."""

    @abstractmethod
    async def results(self, job: Job) -> list[tuple[str, Any]]:
        """Results of a batch that ended, each with the number of its request."""

    @abstractmethod
    def read(self, result: Any, *, resend: bool) -> Any:
        """The answer in a result, or its error."""

    def content(self, result: Any) -> Any:
        """Part of a result that two results of one request should share."""
        return result


class _Files(BatchInterface):
    """Batches whose requests are uploaded as a file."""

    def __init__(self, batcher: Any) -> None:
        super().__init__(batcher)
        self._begin: Begin = lambda _: None
        self._submit = batcher._submit_batch_for_file
        vars(batcher)["_submit_batch_for_file"] = self._submit_marked

    async def submit(self, requests: list[Any], begin: Begin) -> str:
        self._begin = begin
        return str(await self._create(requests))

    @abstractmethod
    async def _submit_marked(self, file_id: str, extra_headers: dict[str, str]) -> str:
        """Create the batch of an uploaded file."""


class _OpenAI(_Files):
    async def _submit_marked(self, file_id: str, extra_headers: dict[str, str]) -> str:
        self._begin(file_id)
        headers = {"Idempotency-Key": file_id} | extra_headers
        return str(await self._submit(file_id, headers))

    async def find(self, mark: str) -> tuple[str, ...]:
        seen = 0
        async for batch in self.batcher._openai_client.batches.list(limit=_PAGE):
            seen += 1
            if batch.input_file_id == mark:
                return (batch.id,)
            if seen == SEARCHED:
                break
        return ()

    async def look(self, name: str) -> Job:
        told = await self.batcher._openai_client.batches.retrieve(name)
        batch = self.batcher._adapt_batch_info(told)
        counts, status = batch.request_counts, batch.status
        errors = (batch.errors.data if batch.errors is not None else None) or []
        return Job(
            name,
            created_at=batch.created_at or 0,
            done=(counts.completed or 0) if counts is not None else 0,
            failed=(counts.failed or 0) if counts is not None else 0,
            ended=status if status in {"completed", "failed", "expired", "cancelled"} else "",
            is_cancelled=status == "cancelled",
            is_refused=status == "failed",
            code=next((error.code for error in errors if error.code), None),
            words="; ".join(dict.fromkeys(error.message or error.code or "" for error in errors)),
            places=tuple(filter(None, (batch.output_file_id, batch.error_file_id))),
        )

    async def results(self, job: Job) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for place in job.places:
            content = await self.batcher._openai_client.files.content(place)
            found += _lines(await content.aread(), "custom_id")
        return found

    def read(self, result: Any, *, resend: bool) -> Any:
        response, error = result.get("response"), result.get("error")
        if isinstance(response, dict):
            status, body = response.get("status_code"), response.get("body")
            if error is None and (status is None or status < _FAILED):
                with suppress(ValueError):
                    return self.batcher._response_cls.model_validate(body)
            if isinstance(status, int) and status >= _FAILED:
                return _status_error(self.batcher._openai_client, status, body)
            if isinstance(status, int):
                return no_result(UNREADABLE_LINE, "the answer can't be read")
        said = error if isinstance(error, dict) else {}
        words = str(said.get("message") or "the batch ended without an answer")
        return no_result(NO_LINE, words, said.get("code"))

    def content(self, result: Any) -> Any:
        response = result.get("response")
        body = response.get("body") if isinstance(response, dict) else None
        said = body.get("choices", body.get("output", body)) if isinstance(body, dict) else body
        return said, result.get("error")


class _Together(_OpenAI):
    """OpenAI's form, in which a list is bare and a new batch is a member of its answer."""

    async def _submit_marked(self, file_id: str, extra_headers: dict[str, str]) -> str:
        self._begin(file_id)
        # By the client whose retries are off: the provider's own repeats a creation.
        told = await self.batcher._openai_client.post(
            "/batches",
            cast_to=object,
            body={"endpoint": self.batcher.endpoint, "input_file_id": file_id},
            options={"headers": extra_headers} if extra_headers else {},
        )
        job = told.get("job") if isinstance(told, dict) else None
        return str(job.get("id") or "") if isinstance(job, dict) else ""

    async def find(self, mark: str) -> tuple[str, ...]:
        jobs = await self.batcher._openai_client.get("/batches", cast_to=object)
        return tuple(str(job["id"]) for job in jobs if job.get("input_file_id") == mark)


class _Google(_Files):
    def __init__(self, batcher: Any) -> None:
        super().__init__(batcher)
        without_retries(batcher._client)

    async def _submit_marked(self, file_id: str, extra_headers: dict[str, str]) -> str:
        mark = f"casewise-{uuid4().hex}"
        self._begin(mark)
        headers = {"http_options": {"headers": extra_headers}} if extra_headers else {}
        job = await self.batcher._client.aio.batches.create(
            model=self.batcher._model_name, src=file_id, config={"display_name": mark} | headers
        )
        return job.name or ""

    async def find(self, mark: str) -> tuple[str, ...]:
        seen = 0
        async for job in await self.batcher._client.aio.batches.list(config={"page_size": _PAGE}):
            seen += 1
            if job.display_name == mark:
                return (job.name,)
            if seen == SEARCHED:
                break
        return ()

    async def look(self, name: str) -> Job:
        job = await self.batcher._client.aio.batches.get(name=name)
        state = getattr(job.state, "value", job.state) or ""
        word = str(state).removeprefix("JOB_STATE_").lower().replace("_", " ")
        place = job.dest.file_name if job.dest is not None else None
        return Job(
            name,
            created_at=_moment(job.create_time),
            ended=word if word in _GOOGLE_ENDS else "",
            is_cancelled=word == "cancelled",
            words=str(job.error.message or "") if job.error is not None else "",
            places=(place,) if place else (),
        )

    async def results(self, job: Job) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for place in job.places:
            found += _lines(await self.batcher._download_result_file(place), "key")
        return found

    def read(self, result: Any, *, resend: bool) -> Any:
        error = result.get("error")
        if isinstance(error, dict):
            return _of_grpc(error.get("code"), str(error.get("message") or ""), resend=resend)
        with suppress(Exception):  # what the client makes of another form is anything
            return self.batcher._parse_jsonl_line(result)[1]
        return no_result(UNREADABLE_LINE, "the answer can't be read")


_GOOGLE_ENDS = frozenset({"succeeded", "partially succeeded", "failed", "cancelled", "expired"})


class _Anthropic(BatchInterface):
    """Batches without a name: one is known by its time and size, and by its results."""

    is_exact = False

    async def submit(self, requests: list[Any], begin: Begin) -> str:
        begin(f"{time.time():.0f}/{len(requests)}/{uuid4().hex}")
        return str(await self._create(requests))

    async def find(self, mark: str) -> tuple[str, ...]:
        since, size, _ = mark.split("/")
        found: list[str] = []
        seen = 0
        async for batch in self.batcher._client.messages.batches.list(limit=_PAGE):
            seen += 1
            if batch.created_at.timestamp() < float(since) - _EARLIER_S or seen == SEARCHED:
                break
            counts = batch.request_counts
            whole = counts.processing + counts.succeeded + counts.errored
            if whole + counts.canceled + counts.expired == int(size):
                found.append(batch.id)
        return tuple(found)

    async def look(self, name: str) -> Job:
        batch = await self.batcher._client.messages.batches.retrieve(name)
        counts = batch.request_counts
        return Job(
            name,
            created_at=_moment(batch.created_at),
            done=counts.succeeded,
            failed=counts.errored + counts.expired + counts.canceled,
            ended="ended" if batch.processing_status == "ended" else "",
            is_cancelled=batch.cancel_initiated_at is not None,
            places=(batch.results_url,) if batch.results_url else (),
        )

    async def results(self, job: Job) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for place in job.places:
            told = await self.batcher._client.get(place, cast_to=httpx2.Response)
            found += _lines(told.content, "custom_id")
        return found

    def read(self, result: Any, *, resend: bool) -> Any:
        from anthropic.types import Message

        told = result.get("result")
        told = told if isinstance(told, dict) else {}
        match told.get("type"):
            case "succeeded":
                with suppress(ValueError):
                    return Message.model_validate(told.get("message"))
                return no_result(UNREADABLE_LINE, "the answer can't be read")
            case "canceled" if not resend:
                return no_result(CANCELLED, "the request was cancelled")
            case "errored":
                body = told.get("error")
                status = read_error(None, {}, body).status
                if status is not None:
                    return _status_error(self.batcher._client, status, body)
        return no_result(NO_LINE, f"the request is {told.get('type') or 'without a result'}")


class _Grok(BatchInterface):
    """Batches to which requests are added one by one."""

    def __init__(self, batcher: Any) -> None:
        super().__init__(batcher)
        self._mark = ""

    @property
    def _batches(self) -> Any:
        return self.batcher._client.batch

    async def submit(self, requests: list[Any], begin: Begin) -> str:
        self._mark = f"casewise-{uuid4().hex}"
        begin(self._mark)
        batches, given = self._batches, self._batches.create
        own, add = vars(batches), batches.add

        async def create(batch_name: str, **more: Any) -> Any:  # noqa: ARG001
            try:
                return await given(self._mark, **more)
            except Exception:
                for name in await self.find(self._mark):
                    return await batches.get(name)
                raise

        async def add_once(batch_id: str, batch_requests: list[Any]) -> None:
            await _added(batches, add, batch_id, batch_requests[0])

        own.update(create=create, add=add_once)
        try:
            return str(await self._create(requests))
        finally:
            del own["create"], own["add"]

    async def find(self, mark: str) -> tuple[str, ...]:
        seen, token = 0, None
        while seen < SEARCHED:
            page = await self._batches.list(limit=_PAGE, pagination_token=token)
            if found := [one.batch_id for one in page.batches if one.name == mark]:
                return tuple(found)
            seen, token = seen + _PAGE, page.pagination_token
            if not token:
                break
        return ()

    async def look(self, name: str) -> Job:
        batch = await self._batches.get(name)
        state = batch.state
        failed = state.num_error + state.num_cancelled
        return Job(
            name,
            created_at=int(batch.create_time.seconds),
            done=state.num_success,
            failed=failed,
            # A batch without requests was left so by a start that was killed.
            ended="" if state.num_success + failed < state.num_requests else "ended",
            is_cancelled=batch.cancel_time.seconds > 0,
            places=(name,),
        )

    async def results(self, job: Job) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        token = None
        while True:
            page = await self._batches.list_batch_results(job.name, pagination_token=token)
            found += [(result.batch_request_id, result) for result in page.results]
            token = page.pagination_token
            if not token:
                return found

    def read(self, result: Any, *, resend: bool) -> Any:
        if result.is_success:
            return result.response
        return _of_grpc(result.proto.error.code, result.error_message or "", resend=resend)

    def content(self, result: Any) -> Any:
        return result.proto.response.completion_response.SerializeToString(), result.error_message


async def _added(batches: Any, add: Any, batch_id: str, request: Any) -> None:
    """Add a request to a batch once: where the answer is lost, the batch says whether it has it."""
    try:
        await add(batch_id=batch_id, batch_requests=[request])
    except Exception as error:
        token = None
        while True:
            page = await batches.list_batch_requests(batch_id, pagination_token=token)
            held = {one.batch_request_id for one in page.batch_request_metadata}
            if request._batch_request_id in held:
                return
            token = page.pagination_token
            if not token:
                raise error


_INTERFACES: Mapping[str, type[BatchInterface]] = {
    "AnthropicBatcher": _Anthropic,
    "GoogleBatcher": _Google,
    "GrokBatcher": _Grok,
    "OpenAIBatcher": _OpenAI,
    "TogetherBatcher": _Together,
}


def interface_of(batcher: Any) -> BatchInterface:
    """Interface of the provider that one of Inspect's batchers sends to."""
    return _INTERFACES[type(batcher).__name__](batcher)


def _lines(data: bytes, number: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Results with a request's number; lines that can't be read are left out."""
    for line in data.splitlines():
        with suppress(ValueError):
            result = json.loads(line)
            if isinstance(result, dict) and isinstance(result.get(number), str):
                yield result[number], result


def _status_error(client: Any, status: int, body: Any) -> Any:
    """Error of a request whose answer had a status, as the provider's client raises it."""
    return client._make_status_error_from_response(
        httpx2.Response(status, json=body, request=httpx2.Request("POST", str(client.base_url)))
    )


def _of_grpc(code: Any, message: str, *, resend: bool) -> NoResultError:
    """Error of a request under a number of gRPC's."""
    name = GRPC_CODES[code] if isinstance(code, int) and 0 <= code < len(GRPC_CODES) else None
    if name == "CANCELLED" and not resend:
        return no_result(CANCELLED, "the request was cancelled")
    if name in {None, "OK", "CANCELLED"}:
        return no_result(NO_LINE, message, code)
    return NoResultError({"code": name, "message": message})


def _moment(when: datetime | None) -> int:
    return int(when.timestamp()) if when is not None else 0
