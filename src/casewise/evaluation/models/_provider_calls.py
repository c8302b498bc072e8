"""Stand between Inspect and a model's provider: count what goes wrong, let no fault be an answer.

Whatever client sends the requests, all of a model's answers pass here. Inspect's own retries stay;
they are told of what it would take for an answer, or for a fault of ours.
"""

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2
from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput

from casewise.errors import CasewiseError
from casewise.evaluation.models._answer_journal import remembered, underway
from casewise.evaluation.models._batches import PRICE, as_batched, cause_of, count_answered
from casewise.evaluation.models._faults import (
    FaultKind,
    UnreadAnswerError,
    count_fault,
    failure_reason,
    keep_secret,
    kind_of,
    kind_of_status,
    redacted,
    secrets_of_address,
    status_of,
    status_words,
)
from casewise.evaluation.models._in_process import is_in_process
from casewise.evaluation.models._model_address import why_unconnected
from casewise.evaluation.models._reachability import Reach, now, reach_of
from casewise.evaluation.models._seam import HOOKS

LONGEST = 2_000_000
"""Letters of the longest answer: above what any model writes, below what fills memory and logs."""

MOST_UNREAD = 4
"""Unread answers in a row after which a request has failed: some servers answer a prompt so for
ever, and waits double."""

_WATCHED = "casewise_watched"
_NAMELESS = ("mockllm", "none")
"""Providers whose answers bear no model's name, as do those of models in this process."""


@dataclass(slots=True)
class _Call:
    """One call of a provider, which may take several attempts of its client."""

    model: str
    reach: Reach
    began: float
    """Time at which its last attempt began."""
    open: bool = False
    """True if an attempt is under way of which nothing was counted."""
    told: bool = False
    """True if the last attempt's fault was counted by its status."""
    status: int | None = None
    waits: bool = False
    """True if a connection stands, and the answer is awaited."""

    def begin_to_wait(self) -> None:
        if not self.waits:
            self.waits = True
            self.reach.begins_to_wait()

    def wait_no_more(self) -> None:
        if self.waits:
            self.waits = False
            self.reach.waits_no_more()

    def count(self, error: BaseException, kind: FaultKind | None = None) -> None:
        """Count an attempt's error, and say what it was; whether it reached a server, too."""
        kind = kind or kind_of(error)
        status, self.told, self.open = status_of(error), True, False
        if status is not None:
            self.count_status(status, kind)
            return
        self.wait_no_more()
        if kind in _NO_ANSWER:
            self.reach.has_answered()
        place, said = self.reach.address.place, ""
        if kind is FaultKind.CONNECTION or _is_of_connecting(error):
            said = why_unconnected(error, self.reach.address)
            self.reach.has_failed(self.began, said)
        elif kind is FaultKind.TIMEOUT:
            said = f"no answer in time from {place} (timeout)"
        elif kind is not FaultKind.OTHER:
            said = f"{kind.words} from {place}"
        count_fault(self.model, kind, said=said)

    def count_status(self, status: int, kind: FaultKind) -> None:
        """Count an answer that tells of an error."""
        self.reach.has_answered()
        self.wait_no_more()
        count_fault(
            self.model, kind, said=f"{status_words(status)} from {self.reach.address.place}"
        )


def _is_of_connecting(error: BaseException) -> bool:
    """Tell if an error, a timeout as it may be, is of the time before there was a connection."""
    cause = error.__cause__
    names = [type(raised).__name__ for raised in (error, cause) if raised is not None]
    return any("ConnectTimeout" in name or "ConnectionTimeout" in name for name in names)


_call: ContextVar[_Call | None] = ContextVar("casewise_call", default=None)
_unread: ContextVar[int] = ContextVar("casewise_unread", default=0)


def watch(model: Model) -> Model:
    """Watch a model from now on; once is enough for one that is shared."""
    api = model.api
    keep_secret(api.api_key, *secrets_of_address(api.base_url))
    if _WATCHED in vars(api):
        return model
    vars(api)[_WATCHED] = True
    client = getattr(api, "client", None)
    _watch_attempts(getattr(api, HOOKS, None))
    follows_connections = _watch_connections(client)
    _redact_errors(client)
    watcher = _Watcher(model, follows_connections)
    vars(api)["generate"] = watcher.generate
    if not is_in_process(str(model)):
        vars(model)["generate"] = watcher.ask
    vars(model)["should_retry"] = watcher.should_retry
    return model


class _Watcher:
    """Observer of a model's calls."""

    def __init__(self, model: Model, follows_connections: bool) -> None:
        self._model, self._name = model, str(model)
        self._generate = model.api.generate
        self._ask = model.generate
        self._follows_connections = follows_connections
        """True if it is told when a connection stands."""
        self._should_retry = model.should_retry
        self._by_name = False
        """True if an answer has come under the model's own name."""

    async def ask(self, *given: Any, **named: Any) -> ModelOutput:
        """``Model.generate``, which gives a model up whose server can't be reached."""
        answer = await reach_of(self._model).until_given_up(lambda: self._ask(*given, **named))
        given_config: GenerateConfig | None = named.get("config")
        batch = given_config.batch if given_config is not None else None
        # As Inspect merges them: what a request leaves open is the model's.
        batched = self._model.config.batch if batch is None else batch
        if batched and answer.usage is not None and answer.usage.total_cost is not None:
            # Inspect counts at the price of live requests.
            answer.usage.total_cost *= PRICE
        return answer

    async def generate(
        self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig
    ) -> Any:
        """The provider's answer to a request, or the answer that an earlier start had of it."""
        place = remembered(self._name, input)
        if place is not None and (known := place.take()) is not None:
            _note_answer(self._name, known)
            return known
        call = _Call(self._name, reach_of(self._model), now())
        token = _call.set(call)
        if not self._follows_connections or config.batch:
            call.begin_to_wait()
        number = None if place is None else place.name
        if config.batch:
            config = as_batched(self._model, config, number)
        try:
            generated = await self._generate(input, tools, tool_choice, config)
            answer = generated[0] if isinstance(generated, tuple) else generated
            if isinstance(answer, ModelOutput):
                self._check(answer)
        except Exception as error:
            count_answered(config, number, error)
            raise self._counted(cause_of(error), call) from None
        finally:
            _call.reset(token)
            call.wait_no_more()
        if isinstance(answer, ModelOutput):
            _unread.set(0)
            call.reach.has_answered()
            if answer.stop_reason == "content_filter" and answer.choices:
                count_fault(self._name, FaultKind.CONTENT_FILTER)
            if place is not None:
                place.keep(answer)
            _note_answer(self._name, answer)
        elif not call.told:
            call.count(answer)
        count_answered(config, number, answer if isinstance(answer, Exception) else None)
        return generated

    def should_retry(self, error: BaseException) -> bool:
        """Inspect's own decision, and that unread answers are asked for again."""
        if type(error).__name__ in _TIMEOUTS:
            place = reach_of(self._model).address.place
            said = f"no answer in time from {place} (timeout)"
            count_fault(self._name, FaultKind.TIMEOUT, said=said)
        if isinstance(error, UnreadAnswerError):
            return error.again
        return self._should_retry(error)

    def _counted(self, error: Exception, call: _Call) -> Exception:
        """Count the error of an attempt, and say of what can't be read that it is no answer."""
        if isinstance(error, UnreadAnswerError):
            kind = error.kind
        elif call.open and call.status is not None and kind_of(error) not in _NO_CONNECTION:
            # The server had said that all is well: what then fails is the reading.
            kind = FaultKind.UNREADABLE
        else:
            kind = kind_of(error)
        # That the model can't be used is no fault of the attempt.
        if not call.told and not isinstance(error, CasewiseError):
            call.count(error, kind)
        if kind not in _NO_ANSWER:
            return error
        times = _unread.get() + 1
        _unread.set(times % MOST_UNREAD)
        return UnreadAnswerError(kind, failure_reason(error), again=times < MOST_UNREAD)

    def _check(self, answer: ModelOutput) -> None:
        if not answer.choices and not answer.error:
            raise UnreadAnswerError(FaultKind.UNREADABLE, "the answer has no choices")
        if answer.choices and len(answer.completion) > LONGEST:
            raise UnreadAnswerError(
                FaultKind.TOO_LONG, f"the answer has {len(answer.completion):,} letters"
            )
        if not answer.choices:
            return
        if other_model(self._model, answer) is None:
            self._by_name = True
            return
        if self._by_name:
            raise UnreadAnswerError(
                FaultKind.OTHER_MODEL, f"the answer is by {answer.model[:60]!r}, not by the model"
            )
        # A server may have a name of its own for every answer: then it is the model's.
        count_fault(self._name, FaultKind.OTHER_MODEL)


def _note_answer(model: str, answer: ModelOutput) -> None:
    """Count what an answer took for the sample that asked."""
    if (sample := underway()) is not None:
        sample.answers.append((model, answer, sample.grading))


_TIMEOUTS = ("AttemptTimeoutError", "StreamIdleTimeoutError")
"""Inspect's own errors of an attempt that took too long."""

_NO_CONNECTION = (FaultKind.CONNECTION, FaultKind.TIMEOUT)
_NO_ANSWER = (FaultKind.UNREADABLE, FaultKind.TOO_LONG, FaultKind.OTHER_MODEL)


def attempt_failed(error: BaseException) -> None:
    """Count at once that an attempt got no answer, where the client knows it."""
    call = _call.get()
    if call is not None and call.open:
        call.count(error)


def connected() -> None:
    """Note that an attempt has its connection, where the client knows it."""
    call = _call.get()
    if call is not None:
        call.begin_to_wait()


def other_model(asked: Model, answer: ModelOutput) -> str | None:
    """The name that an answer bears, if it is not that of the model that was asked."""
    # First: it is so of nearly every answer, and Inspect takes its time to write a model's name.
    if not answer.model or answer.model == asked.name:
        return None
    if is_in_process(str(asked)) or str(asked).split("/")[0] in _NAMELESS:
        return None
    return None if is_same_model(asked.name, answer.model) else answer.model[:60]


def is_same_model(asked: str, answered: str) -> bool:
    """Tell if an answer's model is the one asked for: the same name, or a dated edition of it."""
    shorter, other = sorted((_last(asked), _last(answered)), key=len)
    return other == shorter or (
        other.startswith(shorter) and _EDITION.match(other[len(shorter) :]) is not None
    )


_EDITION = re.compile(r"[-@:._](v?\d|latest|preview|exp|gguf|free)", re.IGNORECASE)


def _last(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").split("/")[-1].lower()


def _watch_attempts(hooks: Any) -> None:
    """Count what a provider's client tries again by itself, where Inspect follows its attempts."""
    if hooks is None:
        return
    begin: Callable[[str], None] = hooks.update_request_time
    end: Callable[..., None] = hooks.record_response

    def began(request_id: str) -> None:
        call = _call.get()
        if call is not None:
            if call.open:
                # The client tries again, and no status said why.
                call.count(ConnectionError())
            call.open, call.told, call.status, call.began = True, False, None, now()
        begin(request_id)

    def ended(
        request_id: str | None, status: int, headers: Mapping[str, str] | None, **more: Any
    ) -> None:
        call = _call.get()
        if call is not None:
            call.status = status
            call.reach.has_answered()
            if status in _AGAIN or status >= 500:
                call.count_status(status, kind_of_status(status))
                call.open, call.told = False, True
            elif status >= 400:
                # Whether it is an error or a provider's refusal is known when it is read.
                call.open = False
        end(request_id, status, headers, **more)

    hooks.update_request_time, hooks.record_response = began, ended


_AGAIN = (408, 409, 429)
"""Statuses below 500 after which clients try again."""


def _watch_connections(client: Any) -> bool:
    """Note each attempt that gets its connection, and each that fails, in clients over httpx.

    Returns:
        Whether the client is of that sort.
    """
    http = getattr(client, "_client", None)
    send = getattr(http, "send", None)
    if http is None or send is None or not hasattr(http, "build_request"):
        return False

    async def watched(request: Any, *given: Any, **named: Any) -> Any:
        if _call.get() is None:
            return await send(request, *given, **named)
        request.extensions = {**request.extensions, "trace": _trace}
        try:
            return await send(request, *given, **named)
        except Exception as error:
            attempt_failed(error)
            raise

    vars(http)["send"] = watched
    return True


async def _trace(event: str, info: Mapping[str, Any]) -> None:  # noqa: ARG001
    if event.endswith("send_request_headers.started"):
        connected()


def _redact_errors(client: Any) -> None:
    """Take keys out of what a server says of an error, before anything is made of it.

    The clients that are generated from a provider's description share this method.
    """
    if (made := getattr(client, "_make_status_error_from_response", None)) is None:
        return

    def clean(response: httpx2.Response) -> Exception:
        try:
            response.request  # noqa: B018
        except RuntimeError:
            # A line of a batch's results was sent by nobody.
            response.request = httpx2.Request("POST", str(client.base_url))
        try:
            text = response.text
        except httpx2.StreamError:
            return made(response)  # type: ignore[no-any-return]
        shown = redacted(text)
        if shown != text:
            headers = {
                name: value
                for name, value in response.headers.items()
                if name.lower() not in ("content-encoding", "content-length", "transfer-encoding")
            }
            response = type(response)(
                response.status_code,
                headers=headers,
                content=shown.encode(),
                request=response.request,
            )
        return made(response)  # type: ignore[no-any-return]

    client._make_status_error_from_response = clean
