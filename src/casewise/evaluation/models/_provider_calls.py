"""Stand between Inspect and a model's provider: count faults, and let none pass for an answer.

All of a model's answers pass here, whichever client sends the requests. The table of faults decides
what becomes of each; Inspect's loop of attempts carries it out, and clients try nothing again.
"""

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import httpx2
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    StopReason,
)

from casewise.errors import CasewiseError
from casewise.evaluation.models._batches import PRICE
from casewise.evaluation.models._completions import read_completion
from casewise.evaluation.models._connections import limit_body, without_retries
from casewise.evaluation.models._fault_table import (
    LONGEST_S,
    ROWS,
    FaultKind,
    Then,
    kind_of,
    kind_of_status,
    row_of,
    status_of,
    status_words,
)
from casewise.evaluation.models._faults import (
    FailedRequestError,
    UnreadAnswerError,
    count_fault,
    failure_reason,
    holding,
    is_count,
    keep_secret,
    redacted,
    redacted_body,
    valid,
)
from casewise.evaluation.models._in_process import PROVIDERS, is_in_process
from casewise.evaluation.models._reachability import (
    Reach,
    now,
    reach_of,
    reaches_beside,
    why_unconnected,
    with_address,
)
from casewise.evaluation.models._said import error_within, root_of, said_of
from casewise.evaluation.models._seam import hooks_of
from casewise.evaluation.models._standing import Asking, current_asking, out, seconds_before
from casewise.evaluation.models._underway import underway
from casewise.files import whole_characters
from casewise.logs import TARGETS, input_tokens

LONGEST = 2_000_000
"""Length of the longest answer: above what any model writes, below what fills memory and logs."""

DECODED = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers of a body that no longer hold once it is read."""

_WATCHED = "casewise_watched"
_NO_RETRIES = [("grpc.enable_retries", 0), ("grpc.service_config", "{}")]
_NAMELESS = ("mockllm", "none", *PROVIDERS)
"""Providers whose answers bear no model's name."""


@dataclass(slots=True)
class _Call:
    """One call of a provider, which may take several attempts of its client."""

    model: str
    reach: Reach
    began: float
    """Start of its last attempt."""
    open: bool = False
    """True if an attempt is under way without a counted fault."""
    told: bool = False
    """True if the last attempt's fault was counted."""
    status: int | None = None
    waits: bool = False
    """True if a connection stands, and the answer is awaited."""
    is_clean: bool = False
    """True if keys were taken out of the answer's body before it was read."""

    def begin_to_wait(self) -> None:
        if not self.waits:
            self.waits = True
            _traffic.get().waiting += 1
            self.reach.begins_to_wait()

    def wait_no_more(self) -> None:
        if self.waits:
            self.waits = False
            _traffic.get().waiting -= 1
            self.reach.waits_no_more()

    def count(self, error: BaseException, kind: FaultKind | None = None) -> None:
        """Count an attempt's error, and tell the model's reach of it."""
        kind = kind or kind_of(error)
        status, self.told, self.open = status_of(error), True, False
        if status is not None:
            self.count_status(status, kind)
            return
        self.wait_no_more()
        if kind in _NO_ANSWER:
            self.reach.has_answered()
        place, said = self.reach.address.place, ""
        if kind is FaultKind.UNTRUSTED:
            said = why_unconnected(error, self.reach.address)
        elif kind is FaultKind.CONNECTION or _is_of_connecting(error):
            is_begun = self.status is not None
            said = why_unconnected(error, self.reach.address, is_begun=is_begun)
            self.reach.has_failed(self.began, said)
        elif kind is FaultKind.TIMEOUT:
            said = f"no answer in time from {place} (timeout)"
        elif kind is FaultKind.UNREADABLE:
            said = f"{kind.words} from {place}: {_shape(error)}"
        elif kind is not FaultKind.OTHER:
            said = f"{kind.words} from {place}"
        count_fault(self.model, kind, said=said)

    def count_status(self, status: int, kind: FaultKind) -> None:
        """Count an error's status."""
        self.reach.has_answered()
        self.wait_no_more()
        said = f"{status_words(status, kind)} from {self.reach.address.place}"
        count_fault(self.model, kind, said=said)


def _shape(error: BaseException) -> str:
    """What an answer is that could not be read, without a word of it."""
    cause = root_of(error)
    return str(cause) if isinstance(cause, UnreadAnswerError) else type(cause).__name__


def _is_of_connecting(error: BaseException) -> bool:
    """Tell whether an error is a timeout before there was a connection."""
    names = (type(raised).__name__ for raised in (error, error.__cause__))
    return any("ConnectTimeout" in name or "ConnectionTimeout" in name for name in names)


_call: ContextVar[_Call | None] = ContextVar("casewise_call", default=None)


@dataclass(slots=True)
class Traffic:
    """Answers of one start, and requests that were sent and never had theirs kept."""

    answers: int = 0
    waiting: int = 0
    """Requests whose answers are awaited now."""
    lost: int = 0
    """Requests of other processes whose answers are not kept."""
    _cut: set[Asking] = field(default_factory=set)

    @property
    def in_flight(self) -> int:
        """Number of requests that were stopped while they waited, or whose answers were lost."""
        return self.lost + len(self._cut)

    def begin(self) -> None:
        """Note an attempt: what became of the one before it no longer counts."""
        self._cut.discard(current_asking())

    def cut(self) -> None:
        """Note an attempt that was sent, and whose answer is not kept."""
        if (asking := current_asking()) is not None:
            self._cut.add(asking)


_traffic: ContextVar[Traffic] = ContextVar("casewise_traffic", default=Traffic())  # noqa: B039


def add_traffic(answers: int, in_flight: int) -> None:
    """Count the answers and the lost requests of another process."""
    traffic = _traffic.get()
    traffic.answers += answers
    traffic.lost += in_flight


def traffic_counted() -> AbstractContextManager[Traffic]:
    """Count the answers and the lost requests of what the block starts in its context."""
    return holding(_traffic, Traffic())


def watch(model: Model) -> Model:
    """Watch a model from now on; one that is shared is watched once."""
    api = model.api
    keep_secret(api.api_key)
    if _WATCHED in vars(api):
        return model
    vars(api)[_WATCHED] = True
    client: Any = getattr(api, "client", None)
    _repeat_nothing(api, client)
    _watch_attempts(hooks_of(api))
    follows_connections = _watch_connections(client)
    _redact_errors(client)
    watcher = _Watcher(model, follows_connections)
    vars(api)["generate"] = watcher.generate
    if not is_in_process(str(model)):
        vars(model)["generate"] = watcher.ask
        vars(api)["retry_wait"] = lambda: watcher.wait
    vars(model)["should_retry"] = watcher.should_retry
    return model


def _repeat_nothing(api: Any, client: Any) -> None:
    """Turn a client's own attempts and redirects off.

    It would repeat what its server may have carried out, or send a case elsewhere.
    """
    if hasattr(client, "max_retries"):
        client.max_retries = 0
    if hasattr(api, "disable_retry"):
        # Grok's, whose channel repeats calls.
        api.model_args.setdefault("channel_options", _NO_RETRIES)
    if hasattr(getattr(api, "session", None), "create_client"):
        # Bedrock's.
        create = api.session.create_client

        def create_once(*given: Any, config: Any, **named: Any) -> Any:
            once = type(config)(retries={"mode": "standard", "total_max_attempts": 1})
            return create(*given, config=config.merge(once), **named)

        vars(api.session)["create_client"] = create_once
    if hasattr(api, "model_client") and not hasattr(api, "disable_retry"):
        # Google's, made anew for each request.
        made = api.model_client
        vars(api)["model_client"] = lambda *given: without_retries(made(*given))
    if hasattr(api, "_http_default_args"):
        # Mistral's, whose client is made anew for each request.
        made_arguments = api._http_default_args

        def without_redirects() -> Any:
            given = made_arguments()
            for http in given.values():
                if hasattr(http, "follow_redirects"):
                    http.follow_redirects = False
            return given

        vars(api)["_http_default_args"] = without_redirects


class _Watcher:
    """Observer of a model's calls."""

    def __init__(self, model: Model, follows_connections: bool) -> None:
        self._model, self._name = model, str(model)
        self._generate = model.api.generate
        self._ask = model.generate
        self._follows_connections = follows_connections
        """True if the client tells when a connection stands."""
        self._should_retry = model.should_retry
        self._is_target = self._name.startswith(f"{TARGETS}/")
        """True if it takes keys out by itself, and needs the ids of its conversations whole."""
        self._by_name = False
        """True once an answer has come under the model's own name."""

    async def ask(self, *given: Any, **named: Any) -> ModelOutput:
        """Answer as ``Model.generate`` does; give the model up if it can't be reached."""
        answer = await reach_of(self._model).until_given_up(lambda: self._ask(*given, **named))
        batch = getattr(named.get("config"), "batch", None)
        # As Inspect merges them: a setting that the request leaves open is the model's.
        batched = self._model.config.batch if batch is None else batch
        if batched and answer.usage is not None and answer.usage.total_cost is not None:
            # Inspect counts at the price of live requests.
            answer.usage.total_cost *= PRICE
        return answer

    async def generate(
        self, input: list[ChatMessage], tools: Any, tool_choice: Any, config: GenerateConfig
    ) -> Any:
        """The provider's answer to a request."""
        reach, traffic = reach_of(self._model), _traffic.get()
        reach.check()
        traffic.begin()
        call = _Call(self._name, reach, now())
        if not self._follows_connections or config.batch:
            call.begin_to_wait()
        error: Exception | None = None
        generated: Any = None
        with out():
            try:
                with holding(_call, call):
                    generated = await self._generate(input, tools, tool_choice, config)
                answer = generated[0] if isinstance(generated, tuple) else generated
                if isinstance(answer, ModelOutput):
                    self._check(answer)
                else:
                    error = answer
            except Exception as raised:
                error = raised
            except asyncio.CancelledError:
                # Inspect's limit on an attempt cancels it, too; the next one begins anew.
                if call.waits:
                    traffic.cut()
                raise
            finally:
                call.wait_no_more()
            if error is not None:
                answer = self._outcome(error, call)
        call_record = generated[1:] if isinstance(generated, tuple) else ()
        if isinstance(answer, Exception):
            if not call_record:
                raise answer from None
            return answer, *call_record
        reach.has_answered()
        reach.rest.end()
        if error is None:
            reach.unread = None
        if error is None and answer.stop_reason == "content_filter" and answer.choices:
            count_fault(self._name, FaultKind.CONTENT_FILTER)
        if error is None and answer.stop_reason == "model_length" and answer.usage is None:
            # The text is the provider's message, and no answer.
            answer = _unasked(self._model, FaultKind.CONTEXT_TOO_LONG)
            count_fault(self._name, FaultKind.CONTEXT_TOO_LONG)
        if not (call.is_clean or self._is_target):
            answer = _without_keys(answer)
        answer = valid(answer)
        if answer.usage is not None and not _is_counted(answer, answer.usage):
            answer.usage = None
        traffic.answers += 1
        _note_answer(self._name, answer)
        return (answer, *call_record) if call_record else answer

    def should_retry(self, error: BaseException) -> bool:
        """Tell whether to ask again, as the table says."""
        if type(error).__name__ in _TIMEOUTS:
            _traffic.get().begin()
            place = reach_of(self._model).address.place
            said = f"no answer in time from {place} (timeout)"
            count_fault(self._name, FaultKind.TIMEOUT, said=said)
        # Inspect counts, and has fewer requests under way after a limit.
        usual, asking, row = self._should_retry(error), current_asking(), row_of(error)
        if asking is None:
            return usual
        # Who stops a run cancels its requests.
        if isinstance(error, CasewiseError) or not isinstance(error, Exception):
            return False
        reach = reach_of(self._model)
        if row.then is Then.WAIT and reach.rest.seconds > LONGEST_S:
            said = f"{row.kind.words} for {LONGEST_S / 60:.0f} minutes, and no answer in them"
            reach.leave(row.kind.words, with_address(self._model, said))
        return asking.may_be_repeated(row, now())

    def wait(self, state: Any) -> float:
        """Seconds before the next attempt, for Inspect's state of its attempts."""
        error = state.outcome.exception()
        seconds = seconds_before(state.attempt_number, said_of(error).wait)
        if row_of(error).then is Then.WAIT:
            reach_of(self._model).rest.begin(seconds)
        return seconds

    def _outcome(self, error: Exception, call: _Call) -> Exception | ModelOutput:
        """Count an attempt's error, and return what it comes to.

        That is an unread answer, if there was an answer; an output without text, if only this case
        can't be answered; else the error. A final one gives the model up.
        """
        # A model that can't be used is no fault of the attempt.
        if isinstance(error, CasewiseError):
            return error
        row = row_of(error)
        is_read = call.open and call.status is not None and call.status < _FAILED
        if is_read and status_of(error) is None and row.kind not in _NO_CONNECTION:
            # After a status of success, only the reading can fail.
            row = row if row.kind in _NO_ANSWER else ROWS[FaultKind.UNREADABLE]
        if not call.told:
            call.count(error, row.kind)
        if row.kind in _NO_ANSWER:
            reach, asking = call.reach, current_asking()
            if reach.unread is not None:
                reach.unread += 1
                if reach.unread >= MOST_UNREAD:
                    why = f"{reach.unread} answers, and none could be read: {_shape(error)}"
                    reach.leave(row.kind.words, with_address(self._model, why))
            if row.kind is FaultKind.NO_CHOICES and asking and asking.times[row.kind]:
                return _unasked(self._model, row.kind)
            return UnreadAnswerError(row.kind, failure_reason(error))
        if row.kind in _STOP_REASONS:
            return _unasked(self._model, row.kind)
        if row.is_final:
            said = said_of(error)
            reason = failure_reason(error)
            request = FailedRequestError(row.kind, reason, said.status, said.location)
            why = request.plain
            if row.kind is FaultKind.UNTRUSTED:
                why = why_unconnected(error, call.reach.address)
            reaches = reaches_beside(self._model) if row.then is Then.STOP else [call.reach]
            for reach in reaches:
                reach.leave(row.kind.words, with_address(self._model, why, reach.model))
            return request
        return error

    def _check(self, answer: ModelOutput) -> None:
        """Raise ``UnreadAnswerError`` for an output that is no answer of the model."""
        if not answer.choices:
            if not answer.error:
                raise UnreadAnswerError(FaultKind.NO_CHOICES, "an empty list of choices")
        elif (letters := len(answer.completion)) > LONGEST:
            raise UnreadAnswerError(FaultKind.TOO_LONG, f"the answer has {letters:,} letters")
        elif other_model(self._model, answer) is None:
            self._by_name = True
        elif self._by_name:
            raise UnreadAnswerError(
                FaultKind.OTHER_MODEL, f"the answer is by {answer.model[:60]!r}, not by the model"
            )
        else:
            # A server may have its own name for the model in every answer.
            count_fault(self._name, FaultKind.OTHER_MODEL)


def _is_counted(answer: ModelOutput, usage: ModelUsage) -> bool:
    """Tell whether numbers of tokens can be those of an answer and its request."""
    counts = (count or 0 for name, count in usage if name != "total_cost")
    is_written = bool(answer.completion)
    return (
        all(map(is_count, counts)) and input_tokens(usage) > 0 and is_written <= usage.output_tokens
    )


def _unasked(model: Model, kind: FaultKind) -> ModelOutput:
    """Output without text, of a case that has no other."""
    return ModelOutput.from_content(model.name, "", _STOP_REASONS[kind])


def _without_keys(answer: ModelOutput) -> ModelOutput:
    """An output without known keys: that of a stream, or of a client whose bodies aren't seen."""
    text = answer.model_dump_json()
    clean = redacted(text)
    return answer if clean == text else ModelOutput.model_validate_json(clean)


def _note_answer(model: str, answer: ModelOutput) -> None:
    """Add an answer to those of the sample that asked."""
    if (sample := underway()) is not None:
        sample.answers.append((model, answer, sample.grading))


_TIMEOUTS = ("AttemptTimeoutError", "StreamIdleTimeoutError")
"""Inspect's own errors of an attempt that took too long."""

COMPLETIONS = "/chat/completions"
"""End of the address of OpenAI's chat completions."""

_FAILED = 300
"""Least HTTP status that is no success."""

_STOP_REASONS: Mapping[FaultKind, StopReason] = {
    FaultKind.CONTENT_FILTER: "content_filter",
    FaultKind.CONTEXT_TOO_LONG: "model_length",
    FaultKind.NO_CHOICES: "unknown",
}
"""Faults of one case that are outcomes, by Inspect's name of each."""

MOST_UNREAD = 10
"""Answers that can't be read, before the first that can, after which a model is left."""

_NO_CONNECTION = (FaultKind.CONNECTION, FaultKind.TIMEOUT)
_NO_ANSWER = (FaultKind.UNREADABLE, FaultKind.NO_CHOICES, FaultKind.TOO_LONG, FaultKind.OTHER_MODEL)


def attempt_failed(error: BaseException) -> None:
    """Count an attempt without an answer at once, where the client knows it."""
    if (call := _call.get()) is not None and call.open:
        call.count(error)


def connected() -> None:
    """Note the connection of an attempt, where the client knows it."""
    if (call := _call.get()) is not None:
        call.begin_to_wait()


def answer_begun(status: int) -> None:
    """Note the head of an attempt's answer, where Inspect does not follow its attempts."""
    if (call := _call.get()) is not None:
        call.status = status


def redacted_answer(body: bytes) -> bytes:
    """The body of an attempt's answer without known keys."""
    if (call := _call.get()) is not None:
        call.is_clean = True
    return redacted_body(body)


def other_model(asked: Model, answer: ModelOutput) -> str | None:
    """Name in an answer, if it is not that of the model that was asked."""
    # First: nearly every answer bears the name, and Inspect is slow to write a model's name.
    if not answer.model or answer.model == asked.name:
        return None
    if str(asked).split("/")[0] in _NAMELESS or is_same_model(asked.name, answer.model):
        return None
    return answer.model[:60]


def is_same_model(asked: str, answered: str) -> bool:
    """Tell whether an answer's model is the one asked for: the same name, or a dated edition."""
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
        if (call := _call.get()) is not None:
            if call.open:
                # The client tries again by itself.
                status = call.status
                if status is not None and status >= _FAILED:
                    call.count_status(status, kind_of_status(status))
                else:
                    call.count(ConnectionError())
            call.open, call.told, call.status, call.began = True, False, None, now()
        begin(request_id)

    def ended(
        request_id: str | None, status: int, headers: Mapping[str, str] | None, **more: Any
    ) -> None:
        if (call := _call.get()) is not None:
            call.status = status
            call.reach.has_answered()
        end(request_id, status, headers, **more)

    hooks.update_request_time, hooks.record_response = began, ended


def _watch_connections(client: Any) -> bool:
    """Note each attempt that gets its connection, and each that fails, in clients over httpx.

    Keys are redacted in the bodies of answers, under any status, before anything is made of them.

    Returns:
        True if the client is over httpx.
    """
    http = getattr(client, "_client", None)
    send = getattr(http, "send", None)
    if http is None or send is None or not hasattr(http, "build_request"):
        return False

    async def watched(request: Any, *given: Any, **named: Any) -> Any:
        if _call.get() is None:
            return _as_said(await send(request, *given, **named))
        request.extensions = {**request.extensions, "trace": _trace}
        try:
            return _as_said(await send(request, *given, **named))
        except Exception as error:
            attempt_failed(error)
            raise

    vars(http)["send"] = watched
    http.follow_redirects = False
    http.event_hooks["response"].append(_limit)
    return True


async def _limit(response: Any) -> None:
    """Read a body to a limit; a batch's results, which no call asks for, have none."""
    if _call.get() is not None:
        limit_body(response)


async def _trace(event: str, info: Mapping[str, Any]) -> None:  # noqa: ARG001
    if event.endswith("send_request_headers.started"):
        connected()


def _as_said(response: Any) -> Any:
    """The response without known keys in its body, and under the status that its body says.

    A chat completion is brought into one form; what is streamed stays as it is.

    Raises:
        UnreadAnswerError: It is no completion.
    """
    try:
        body = response.content
    except httpx2.StreamError:
        return response
    clean, status = redacted_answer(body), response.status_code
    said = (error_within(clean) if status < _FAILED else None) or status
    headers = {
        name: value for name, value in response.headers.items() if name.lower() not in DECODED
    }
    if said >= _FAILED:
        with suppress(ValueError, RecursionError):
            clean = json.dumps(whole_characters(json.loads(clean))).encode()
    elif response.is_success and response.request.url.path.endswith(COMPLETIONS):
        clean = json.dumps(read_completion(clean)).encode()
        headers["content-type"] = "application/json"
    if clean == body and said == status:
        return response
    return type(response)(said, headers=headers, content=clean, request=response.request)


def _redact_errors(client: Any) -> None:
    """Redact keys from a server's words on an error, before anything is made of them.

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
        return made(_as_said(response))  # type: ignore[no-any-return]

    client._make_status_error_from_response = clean
