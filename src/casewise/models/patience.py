"""Clients of models: a request is sent again by the table of faults, around Inspect's.

Nothing of Inspect's, and no client of a provider, is changed: one request is one call of
``Model.generate``, or of our own provider. A ``Server`` is what the requests of a model know of
each other: its address, what is said where it can't be reached, and until when nothing is sent.
"""

import asyncio
import copy
import os
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Self
from urllib.parse import urlsplit

from inspect_ai.model import (
    ChatMessage,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    StopReason,
    compute_model_cost,
    get_model_info,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from casewise.choices import IN_PROCESS, TARGETS
from casewise.errors import CasewiseError, ModelError, UsageError
from casewise.files import whole_characters
from casewise.logs import input_tokens
from casewise.models.chat import MAX_TOKENS, ChatCompletions, proxy_of
from casewise.models.faults import (
    MAX_WAIT_S,
    REACTIONS,
    Action,
    FailedRequestError,
    Fault,
    FaultCounts,
    FaultKind,
    FaultObserver,
    UnreadAnswerError,
    causes_of,
    classify,
    root_of,
)
from casewise.models.keys import keep_secret

_PORTS = {"http": 80, "https": 443}


def url_of(model: Model) -> str:
    """Address of a model's server, in one spelling; empty where only the provider knows it."""
    return plain_url(base_of(model))


def base_of(model: Model) -> str:
    """Base of a model's API, as its client has it; empty where only the provider knows it."""
    client = getattr(model.api, "client", None)
    return str(getattr(client, "base_url", None) or model.api.base_url or "")


def plain_url(base: str) -> str:
    """An address without name, password and usual port; empty of what is none."""
    try:
        parts = urlsplit(base)
        port = None if parts.port == _PORTS.get(parts.scheme) else parts.port
    except ValueError:
        return ""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}" if host else ""


def host_of(url: str) -> str:
    """Host and port of an address, for messages; with the proxy on the way, if there is one."""
    parts = urlsplit(url)
    if not parts.hostname:
        return "the provider"
    host = f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, '')}"
    proxy = proxy_of(url).rsplit("@", 1)[-1]
    return f"{host} through the proxy {proxy}" if proxy else host


def setting_of(model: str) -> str:
    """Setting that a model's address comes from."""
    service, *names = model.split("/")
    if service == TARGETS:
        return "the field url of the target"
    if service == "openai-api" and names:
        service = names[0]
    return f"{service.upper().replace('-', '_')}_BASE_URL or --model-base-url"


def is_web_address(text: str) -> bool:
    """Tell whether a request can be sent to an address, by its form."""
    try:
        parts = urlsplit(text)
        return parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_address(model: str, address: str) -> None:
    """Refuse an address that no request can be sent to.

    Raises:
        ModelError: It is no address of a web server.
    """
    if not is_web_address(address):
        # The part before an @ may be a password.
        raise ModelError(
            f"{model}: no request can be sent to the address {address.rsplit('@', 1)[-1]!r} "
            "(expected http://HOST:PORT/PATH or https://HOST/PATH): check "
            f"{setting_of(model)}"
        )


_UNCONNECTED = (
    ("gaierror", "no such host: {}"),
    ("SSLCertVerificationError", "the certificate of {} is not trusted"),
    ("SSLError", "{} does not speak TLS as expected (is it http:// instead of https://?)"),
    ("LineTooLong", "headers too large in the answer of {}"),
    ("BadStatusLine", "{} does not speak HTTP"),
    ("ContentEncoding", "the answer of {} can't be unpacked"),
    (
        "Disconnected|ContentLength|TransferEncoding|Payload|Protocol",
        "connection closed by {} before the answer was whole",
    ),
)
"""Failed connections, answers that break off and those that are no HTTP, by names of errors."""


def why_unconnected(error: BaseException, url: str) -> str:
    """Reason of a failed connection in the system's words, with the host; none of the server's."""
    place, chain = host_of(url), list(causes_of(error))
    names = " ".join(type(cause).__name__ for cause in chain)
    sentences = (sentence for pattern, sentence in _UNCONNECTED if re.search(pattern, names))
    if (sentence := next(sentences, None)) is not None:
        details = (getattr(cause, "verify_message", "") for cause in chain)
        return sentence.format(place) + "".join(f" ({detail})" for detail in {*details} if detail)
    numbers = [cause.errno for cause in chain if isinstance(cause, OSError) and cause.errno]
    why = os.strerror(numbers[-1]).lower() if numbers else type(chain[-1]).__name__
    return f"{why} at {place}"


BATCH_PROVIDERS = frozenset({"anthropic", "google", "grok", "openai", "together"})
"""Providers whose batch interface Inspect knows; any other would be asked live."""

BATCHED_AT_ONCE = 5_000
"""Most cases of a model that wait for batches at the same time; each takes about 70 kB."""

BATCH_NOTE = (
    "--batch: a batch that can't be created, expires or is cancelled, or whose run is stopped or "
    "killed, may be paid again"
)

_HOSTS = frozenset({"azure", "bedrock", "vertex"})
"""Other companies that host the models, whose batches Inspect does not know."""


def check_batches(*models: str | None) -> None:
    """Refuse models that Inspect would ask live.

    Raises:
        UsageError: Inspect knows no batch interface for a model.
    """
    for model in filter(None, models):
        provider, _, name = model.partition("/")
        if provider not in BATCH_PROVIDERS or name.split("/")[0] in _HOSTS:
            known = ", ".join(f"{provider}/..." for provider in sorted(BATCH_PROVIDERS))
            raise UsageError(
                f"--batch: no batch interface is known for {model}: leave --batch out, or choose "
                f"a model of {known} (not one hosted by Azure, Bedrock or Vertex)"
            )


CONNECTIONS = 50
"""Requests of a model at once, where nobody sets them."""

UNREACHABLE_S = 30.0
"""Seconds of nothing but failed connections after which a model is given up."""

BELIEVED = 3
"""Attempts after which a wait that was told is too short: some servers always say 0."""

FIRST_S, MOST_S = 0.5, 60.0
"""Seconds before a request is asked again where the provider names none: at first, and at most."""

LONGEST = 2_000_000
"""Characters of the longest answer: above what any model writes, below what fills logs."""

MOST_UNREAD = 10
"""Answers that can't be read, before the first that can, after which a model is left."""

BATCH_PRICE = 0.5
"""Price of a token in a batch, as a share of its usual price."""

_UNLIMITED = 1_000_000
_OUTCOMES: Mapping[FaultKind, StopReason] = {
    FaultKind.CONTENT_FILTER: "content_filter",
    FaultKind.CONTEXT_TOO_LONG: "model_length",
    FaultKind.NO_CHOICES: "unknown",
}
"""Faults of one case that are outcomes, by Inspect's name of each."""

_NO_ANSWER = (FaultKind.UNREADABLE, FaultKind.NO_CHOICES, FaultKind.TOO_LONG, FaultKind.OTHER_MODEL)


class ModelLostError(ModelError):
    """A model that is asked no more: this request was not sent."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Dollars for a million tokens; None where unknown."""

    input: float | None = None
    output: float | None = None

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Dollars for tokens in and out; None where a price is unknown."""
        if self.input is None or self.output is None:
            return None
        return (tokens_in * self.input + tokens_out * self.output) / 1e6


@dataclass(slots=True)
class Watch:
    """What the models of one start share: callbacks, and counts of faults."""

    fault: FaultObserver = lambda _model, _sentence: None
    """Called when a model meets a kind of fault for the first time."""
    counts: FaultCounts = field(default_factory=Counter)


@dataclass(slots=True)
class Server:
    """State of one model's server in one start: all that its requests know of each other."""

    model: str
    url: str
    watch: Watch
    slots: asyncio.Semaphore
    lost: str = ""
    """Message on a model that is asked no more; empty for any other."""
    is_lost: asyncio.Event = field(default_factory=asyncio.Event)
    is_proven: bool = False
    """True once a case was asked to its end: the model can do what the protocol needs."""
    gives_logprobs: bool = False
    """True once an answer listed the log-probabilities of its first token's candidates."""
    by_name: bool = False
    """True once an answer has come under the model's own name."""
    in_batches: int = 0
    """Requests that wait for a batch."""
    failed_batch: BaseException | None = None
    """Error that a request of a batch ended in, the latest."""
    _unread: int | None = 0
    """Answers that could not be read; None once one was read."""
    _has_come: bool = False
    """True once anything has come, be it an error's status."""
    _silent_since: float | None = None
    """When requests began to fail, or to wait, without an answer since."""
    _pause_until: float = 0.0

    def lose(self, problem: str) -> None:
        """Give the model up: no further request is sent."""
        if not self.lost:
            self.lost = f"{self.model}: {problem}" + (
                f"; its address is {self.url}" * bool(self.url)
            )
            self.is_lost.set()

    def check(self) -> None:
        """Raise ``ModelLostError`` for a model that was given up."""
        if self.lost:
            raise ModelLostError(self.lost)

    @asynccontextmanager
    async def turn(self, seconds: float) -> AsyncIterator[None]:
        """A connection, after a request's own wait and while the provider takes requests.

        Raises:
            ModelLostError: The model is asked no more.
        """
        await self._sleep(seconds)
        async with self.slots:
            while (pause := self._pause_until - monotonic()) > 0 and not self.lost:
                await self._sleep(pause)
            self.check()
            yield

    async def _sleep(self, seconds: float) -> None:
        """Wait, but no longer than the model is asked."""
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.is_lost.wait(), seconds)

    def answer(self, *, is_read: bool = True) -> None:
        """Note an answer, or an error other than a limit of requests."""
        self._has_come, self._silent_since = True, None
        if is_read:
            self._unread = None

    def fail(self, fault: Fault, error: Exception, seconds: float) -> None:
        """Note a failed request, and give the model up where no later one would do better.

        Args:
            fault: What failed.
            error: Its error.
            seconds: Seconds after which the request would be sent again.
        """
        kind, reaction = fault.kind, REACTIONS[fault.kind]
        if reaction.action is Action.WAIT:
            self._has_come = True
            self._pause(kind, seconds)
        elif kind is FaultKind.CONNECTION:
            self._fail_to_connect(why_unconnected(error, self.url), seconds)
        elif fault.status is not None or kind in _NO_ANSWER:
            self.answer(is_read=False)
        if kind in _NO_ANSWER and self._unread is not None:
            self._unread += 1
            if self._unread >= MOST_UNREAD:
                self.lose(f"{self._unread} answers, and none could be read: {fault.reason}")
        if reaction.action is Action.LEAVE:
            why = fault.plain
            if kind is FaultKind.UNTRUSTED:
                why = f"{why_unconnected(error, self.url)}; {reaction.advice}"
            self.lose(why)

    def _pause(self, kind: FaultKind, seconds: float) -> None:
        """Send nothing for the seconds that the provider asks for."""
        if self._silence(seconds) > MAX_WAIT_S + seconds:
            self.lose(f"{kind.words} for {MAX_WAIT_S / 60:.0f} minutes, and no answer")
        self._pause_until = max(self._pause_until, monotonic() + seconds)

    def _fail_to_connect(self, why: str, seconds: float) -> None:
        """Note a failed connection; before anything has come, the model is given up in time."""
        if not self._has_come and self._silence(seconds) > UNREACHABLE_S:
            self.lose(
                f"given up after {self._silence(0):.0f} s without any answer: {why}. Check: is the "
                f"server up? Is the address right: {setting_of(self.model)}? And proxy variables"
            )

    def _silence(self, seconds: float) -> float:
        """Seconds without an answer, with those until the next request."""
        self._silent_since = self._silent_since or monotonic()
        return monotonic() - self._silent_since + seconds


class PatientModel(Model):
    """A model whose requests are repeated by the table of faults.

    Args:
        model: The model of Inspect's.
        title: Its name, as people write it.
        watch: What the models of one start share.
        connections: Requests at once.
        prices: Prices that a person gave.
    """

    def __init__(
        self,
        model: Model,
        title: str,
        watch: Watch,
        connections: int = CONNECTIONS,
        prices: Prices | None = None,
    ) -> None:
        # Requests are limited here: limits of Inspect's outlive a run.
        own = GenerateConfig(max_retries=0, max_connections=_UNLIMITED)
        super().__init__(model.api, model.config.merge(own), model.model_args)
        keep_secret(model.api.api_key)
        self.title, self.prices = title, prices or Prices()
        slots = asyncio.Semaphore(connections)
        self.server = Server(title, url_of(model), watch, slots)
        self._note: Callable[[ModelOutput], object] = lambda _: None

    def with_observer(self, note: Callable[[ModelOutput], object]) -> Self:
        """The same model, whose answers are given to a function, too."""
        observed = copy.copy(self)
        observed._note = note
        return observed

    async def generate(self, *args: Any, **named: Any) -> ModelOutput:
        """Answer as ``Model.generate`` does.

        Raises:
            FailedRequestError: No answer came to this request.
            ModelLostError: No answer will come to any: it was not sent.
            CasewiseError: The model can't do what is asked of it.
        """
        server, met, seconds = self.server, Counter[FaultKind](), 0.0
        while True:
            try:
                async with server.turn(seconds):
                    output = self._checked(await self._attempt(*args, **named))
            except Exception as error:
                if isinstance(cause := root_of(error), CasewiseError):
                    raise cause from None
                fault = classify(error)
                kind = fault.kind
                met[kind] += 1
                self._count(kind, self._sentence(fault, error))
                seconds = retry_wait(met.total(), fault.wait)
                server.fail(fault, error, seconds)
                reaction = REACTIONS[kind]
                is_spent = reaction.action is not Action.WAIT and met[kind] > reaction.times
                if is_spent and kind in _OUTCOMES:
                    return ModelOutput.from_content(self.name, "", _OUTCOMES[kind])
                # Another batch may take a day.
                is_spent = is_spent or (self._is_batched(named) and kind not in _NO_ANSWER)
                if is_spent or server.lost:
                    raise FailedRequestError(fault) from None
            else:
                server.answer()
                self._note(output)
                return output

    def _is_batched(self, named: Mapping[str, Any]) -> bool:
        return bool(getattr(named.get("config"), "batch", None) or self.config.batch)

    async def _attempt(self, *args: Any, **named: Any) -> ModelOutput:
        """Send one request."""
        is_batched = self._is_batched(named)
        if is_batched:
            output = await self._wait_for_batch(super().generate(*args, **named))
        elif isinstance(self.api, ChatCompletions):
            output = await self._ask_server(*args, **named)
        else:
            output = await super().generate(*args, **named)
        self._price(output.usage, batch=is_batched)
        return output

    async def _ask_server(
        self,
        input: str | list[ChatMessage],
        tools: Sequence[ToolInfo] = (),
        tool_choice: ToolChoice | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
    ) -> ModelOutput:
        """Answer of a server of chat completions.

        Inspect's record of a request, which no log here holds, takes more of the processor than the
        request. Replies and tools that a request holds are prepared by Inspect, all the same.
        """
        messages: list[ChatMessage] = (
            [ChatMessageUser(content=input)] if isinstance(input, str) else input
        )
        if tools or any(message.role not in ("system", "user") for message in messages):
            return await super().generate(messages, tools, tool_choice, config)
        settings, began = self.config.merge(config), monotonic()
        async with asyncio.timeout(settings.attempt_timeout):
            output = await self.api.generate(messages, [], "none", settings)
        assert isinstance(output, ModelOutput)
        output.time = monotonic() - began
        if output.usage is not None and (info := get_model_info(self)) is not None and info.cost:
            output.usage.total_cost = compute_model_cost(info.cost, output.usage)
        return output

    async def _wait_for_batch(self, request: Coroutine[Any, Any, ModelOutput]) -> ModelOutput:
        """Answer out of a batch.

        A batch that fails gives each of its requests one error; Inspect begins no other after one
        that can't be created, so that the model is given up and none is waited for.
        """
        server = self.server
        answer = asyncio.create_task(request)
        lost = asyncio.create_task(server.is_lost.wait())
        server.in_batches += 1
        try:
            await asyncio.wait({answer, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                server.check()
            return await answer
        except ModelLostError:
            raise
        except Exception as error:
            cause = root_of(error)
            if cause is server.failed_batch or server.in_batches == 1:
                words = classify(cause).words
                server.lose(f"a batch failed ({words}); run the same command again")
            server.failed_batch = cause
            raise
        finally:
            server.in_batches -= 1
            answer.cancel()
            lost.cancel()

    def _price(self, usage: ModelUsage | None, *, batch: bool) -> None:
        if usage is not None:
            known_cost = self.prices.cost(input_tokens(usage), usage.output_tokens)
            cost = usage.total_cost if known_cost is None else known_cost
            usage.total_cost = cost if cost is None or not batch else cost * BATCH_PRICE

    def _checked(self, output: ModelOutput) -> ModelOutput:
        """An answer of the model that was asked, which a log can hold.

        Raises:
            UnreadAnswerError: It is none.
        """
        if not output.choices:
            raise UnreadAnswerError(FaultKind.NO_CHOICES, "an empty list of choices")
        text = output.completion
        if len(text) > LONGEST:
            raise UnreadAnswerError(FaultKind.TOO_LONG, f"the answer has {len(text):,} letters")
        if self.other_name(output) is None:
            self.server.by_name = True
        elif self.server.by_name:
            name = output.model[:60]
            raise UnreadAnswerError(
                FaultKind.OTHER_MODEL, f"the answer is by {name!r}, not by the model"
            )
        else:
            # A server may have its own name for the model in every answer.
            self._count(FaultKind.OTHER_MODEL, FaultKind.OTHER_MODEL.words)
        if output.stop_reason == "content_filter":
            by_bot = FaultKind.DECLINED in (output.message.metadata or {})
            kind = FaultKind.DECLINED if by_bot else FaultKind.CONTENT_FILTER
            self._count(kind, kind.words)
        if output.stop_reason == "model_length" and output.usage is None:
            # The text is the provider's message, and no answer.
            self._count(FaultKind.CONTEXT_TOO_LONG, FaultKind.CONTEXT_TOO_LONG.words)
            return ModelOutput.from_content(self.name, "", "model_length")
        if (usage := output.usage) is not None and not _is_counted(usage, text):
            output.usage = None
        try:
            text.encode()
        except UnicodeEncodeError:
            # Half of a surrogate pair is no character: no log could hold it.
            return ModelOutput.model_validate(whole_characters(output.model_dump()))
        return output

    def _count(self, kind: FaultKind, sentence: str) -> None:
        watch = self.server.watch
        if not watch.counts[self.title, kind]:
            watch.fault(self.title, sentence)
        watch.counts[self.title, kind] += 1

    def _sentence(self, fault: Fault, error: Exception) -> str:
        """A fault in words that may be printed."""
        kind, place = fault.kind, host_of(self.server.url)
        if fault.status is not None:
            wait = f", which asks to wait {fault.wait:,.0f} s" if fault.wait else ""
            return f"{fault.words} from {place}{wait}"
        if kind in (FaultKind.CONNECTION, FaultKind.UNTRUSTED):
            return why_unconnected(error, self.server.url)
        if kind is FaultKind.TIMEOUT:
            return f"no answer in time from {place} (timeout)"
        cause = root_of(error)
        shape = str(cause) if isinstance(cause, UnreadAnswerError) else type(cause).__name__
        return f"{kind.words} from {place}: {shape}"

    def other_name(self, answer: ModelOutput) -> str | None:
        """Name in an answer, if it is not that of the model that was asked."""
        # First: nearly every answer bears the name.
        if not answer.model or answer.model == self.name:
            return None
        is_nameless = self.title.split("/")[0] in _NAMELESS
        if is_nameless or is_same_model(self.name, answer.model):
            return None
        return answer.model[:60]


_NAMELESS = ("mockllm", "none", *IN_PROCESS)
"""Providers whose answers bear no model's name."""


def is_same_model(requested: str, answered: str) -> bool:
    """Tell whether an answer's model is the one asked for: the same name, or a dated edition."""
    shorter, other = sorted((_last(requested), _last(answered)), key=len)
    return other == shorter or (
        other.startswith(shorter) and _EDITION.match(other[len(shorter) :]) is not None
    )


_EDITION = re.compile(r"[-@:._](v?\d|latest|preview|exp|gguf|free)", re.IGNORECASE)


def _last(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").split("/")[-1].lower()


def _is_counted(usage: ModelUsage, text: str) -> bool:
    """Tell whether numbers of tokens can be those of an answer and its request."""
    counts = [count or 0 for name, count in usage if name != "total_cost"]
    possible = all(type(count) is int and 0 <= count <= MAX_TOKENS for count in counts)
    return possible and input_tokens(usage) > 0 and bool(text) <= usage.output_tokens


def retry_wait(attempt: int, wait: float | None) -> float:
    """Seconds before the next attempt: those that were told, else twice as long each time.

    Args:
        attempt: Number of attempts so far.
        wait: Seconds that the provider asks for; None where it names none. After ``BELIEVED``
            attempts they are the least.
    """
    if wait is not None and attempt <= BELIEVED:
        return min(wait, MAX_WAIT_S)
    usual = min(FIRST_S * 2 ** min(attempt - 1, 20), MOST_S) * random.uniform(0.8, 1.2)
    return float(max(usual, min(wait or 0.0, MAX_WAIT_S)))


Usage = dict[str, ModelUsage]
"""Tokens by model."""


@dataclass(slots=True)
class SampleAttempt:
    """One attempt at one sample."""

    answers: list[tuple[str, ModelOutput, bool]] = field(default_factory=list)
    """Answers with the model that gave each, and True if that is the grader."""

    def count_answers(self, model: PatientModel, *, is_grader: bool = False) -> PatientModel:
        """The model, or the grader, whose answers are counted here."""
        return model.with_observer(
            lambda output: self.answers.append((model.title, output, is_grader))
        )

    @property
    def usage(self) -> Usage:
        """Tokens of all models, the grader's included."""
        return _sum((model, answer.usage) for model, answer, _ in self.answers)

    @property
    def graders_usage(self) -> ModelUsage | None:
        """Tokens of the grader; None where none was asked."""
        grades = (("", answer.usage) for _, answer, by_grader in self.answers if by_grader)
        return _sum(grades).get("")

    @property
    def seconds(self) -> float:
        """Seconds that answers took, without waiting for a connection or after a failed attempt."""
        return sum(answer.time or 0.0 for _, answer, _ in self.answers)


def _sum(parts: Iterable[tuple[str, ModelUsage | None]]) -> Usage:
    sums: Usage = {}
    for model, used in parts:
        if used is not None:
            sums[model] = sums[model] + used if model in sums else used
    return sums
