"""A model whose requests are repeated by the table of faults, made around any model of Inspect's.

Nothing of Inspect's, and no client, is changed: one request is one call of ``Model.generate``.
"""

import asyncio
import copy
import random
import re
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Self

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, StopReason

from casewise.errors import CasewiseError, ModelError
from casewise.evaluation.models.faults import (
    MAX_WAIT_S,
    REACTIONS,
    FailedRequestError,
    Fault,
    FaultCounts,
    FaultKind,
    FaultObserver,
    Then,
    UnreadAnswerError,
    classify,
    root_of,
    status_words,
)
from casewise.evaluation.models.keys import keep_secret
from casewise.evaluation.models.servers import host_of, setting_of, url_of, why_unconnected
from casewise.files import whole_characters
from casewise.logs import input_tokens

CONNECTIONS = 50
"""Requests of a model at once, where nobody sets them."""

UNREACHABLE_S = 30.0
"""Seconds of nothing but failed connections after which a model is given up."""

SAID_S = 5.0
"""Seconds without an answer after which a line says why nothing comes."""

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

MAX_TOKENS = 10**9
"""Tokens of an answer above which a count is no count."""

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

    def cost(self, asked: int, answered: int) -> float | None:
        """Dollars for tokens in and out; None where a price is unknown."""
        if self.input is None or self.output is None:
            return None
        return (asked * self.input + answered * self.output) / 1e6


def _ignore(_model: str, _sentence: str) -> None:
    pass


@dataclass(slots=True)
class Watch:
    """What the models of one start share: callbacks, counts of faults, and each other."""

    fault: FaultObserver = _ignore
    """Called when a model meets a kind of fault for the first time."""
    outage: FaultObserver = _ignore
    """Called when a model gives no answers for a while, and when it answers again."""
    unreachable_s: float = UNREACHABLE_S
    counts: FaultCounts = field(default_factory=Counter)
    servers: list["Server"] = field(default_factory=list)


@dataclass(slots=True)
class Server:
    """State of one model's server in one start."""

    model: str
    url: str
    key: str | None
    watch: Watch
    slots: asyncio.Semaphore
    lost: str = ""
    """Message on a model that is asked no more; empty for any other."""
    has_answered: bool = False
    """True once anything has come, be it an error's status."""
    is_proven: bool = False
    """True once a case was asked to its end: the model can do what the protocol needs."""
    unread: int | None = 0
    """Answers that could not be read; None once one was read."""
    by_name: bool = False
    """True once an answer has come under the model's own name."""
    is_lost: asyncio.Event = field(default_factory=asyncio.Event)
    _failing_since: datetime | None = None
    _silent_since: datetime | None = None
    _is_told: bool = False
    _rest_until: datetime = datetime.min

    def check(self) -> None:
        """Raise ``ModelLostError`` for a model that was given up."""
        if self.lost:
            raise ModelLostError(self.lost)

    def lose(self, problem: str) -> None:
        """Give the model up: no further request is sent."""
        if not self.lost:
            self.lost = f"{self.model}: {problem}" + (
                f"; its address is {self.url}" * bool(self.url)
            )
            self.is_lost.set()

    def answer(self) -> None:
        """Note that something came."""
        self.has_answered, self._failing_since = True, None
        if self._is_told and self._silent_since is not None:
            seconds = (datetime.now() - self._silent_since).total_seconds()
            self.watch.outage(self.model, f"answers again, after {seconds:,.0f} s")
        self._silent_since, self._is_told = None, False

    def fail_to_connect(self, why: str, seconds: float) -> None:
        """Note a failed connection; before anything has come, the model is given up in time."""
        now = datetime.now()
        self._failing_since = self._failing_since or now
        patience = self.watch.unreachable_s
        if self.has_answered:
            since = f"{self._failing_since:%H:%M:%S}"
            self._tell(
                f"no connection to {self.url or 'the provider'} since {since} ({why}); its "
                "requests wait, and are sent again until it answers",
                seconds,
            )
        elif (now - self._failing_since).total_seconds() + seconds > patience:
            self.lose(
                f"given up after {patience:.0f} s without any answer: {why}. Check: is the server "
                f"up? Is the address right: {setting_of(self.model)}? And proxy variables"
            )

    def rest(self, seconds: float) -> None:
        """Note that the provider asks to wait."""
        self._rest_until = max(self._rest_until, datetime.now() + timedelta(seconds=seconds))
        since = self._silent_since or datetime.now()
        self._tell(
            f"rate limited since {since:%H:%M:%S}; its requests wait until "
            f"{self._rest_until:%H:%M:%S}",
            seconds,
        )

    @property
    def rest_s(self) -> float:
        """Seconds until a request may be sent."""
        return max(0.0, (self._rest_until - datetime.now()).total_seconds())

    def _tell(self, sentence: str, seconds: float) -> None:
        now = datetime.now()
        self._silent_since = self._silent_since or now
        silent = (now - self._silent_since).total_seconds() + seconds
        if silent > SAID_S and not self._is_told:
            self._is_told = True
            self.watch.outage(self.model, sentence)

    async def sleep(self, seconds: float) -> None:
        """Wait, but no longer than the model is asked."""
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self.is_lost.wait(), seconds)


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
        self.server = Server(title, url_of(model), model.api.api_key, watch, slots)
        watch.servers.append(self.server)
        self._note: Callable[[ModelOutput], object] = lambda _: None

    def noting(self, note: Callable[[ModelOutput], object]) -> Self:
        """The same model, whose answers are given to a function, too."""
        noted = copy.copy(self)
        noted._note = note
        return noted

    async def generate(self, *given: Any, **named: Any) -> ModelOutput:
        """Answer as ``Model.generate`` does.

        Raises:
            FailedRequestError: No answer came to this request.
            ModelLostError: No answer will come to any: it was not sent.
            CasewiseError: The model can't do what is asked of it.
        """
        server, met = self.server, Counter[FaultKind]()
        began = datetime.now()
        while True:
            await server.sleep(server.rest_s)
            try:
                async with server.slots:
                    server.check()
                    output = self._checked(await self._attempt(*given, **named))
            except Exception as error:
                if isinstance(cause := root_of(error), CasewiseError):
                    raise cause from None
                fault = classify(error)
                met[fault.kind] += 1
                outcome = await self._react(fault, error, met, began)
                if outcome is not None:
                    return outcome
            else:
                server.answer()
                server.unread = None
                self._note(output)
                return output

    async def _attempt(self, *given: Any, **named: Any) -> ModelOutput:
        """Send one request."""
        batch = getattr(named.get("config"), "batch", None) or self.config.batch
        if not batch:
            output = await super().generate(*given, **named)
        else:
            # After a batch that can't be created Inspect begins no other: none is waited for.
            asked = asyncio.create_task(super().generate(*given, **named))
            lost = asyncio.create_task(self.server.is_lost.wait())
            try:
                await asyncio.wait({asked, lost}, return_when=asyncio.FIRST_COMPLETED)
                self.server.check()
                output = await asked
            except ModelLostError:
                raise
            except Exception as error:
                fault = classify(error)
                self.server.lose(f"a batch failed ({fault.words}); run the same command again")
                raise
            finally:
                asked.cancel()
                lost.cancel()
        self._price(output.usage, batch=bool(batch))
        return output

    def _price(self, usage: ModelUsage | None, *, batch: bool) -> None:
        if usage is not None:
            given = self.prices.cost(input_tokens(usage), usage.output_tokens)
            cost = usage.total_cost if given is None else given
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
            self._count(FaultKind.CONTENT_FILTER, FaultKind.CONTENT_FILTER.words)
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

    async def _react(
        self, fault: Fault, error: Exception, met: Counter[FaultKind], began: datetime
    ) -> ModelOutput | None:
        """Do what the table says: return an outcome, raise, or wait for the next attempt."""
        server, kind, reaction = self.server, fault.kind, REACTIONS[fault.kind]
        self._count(kind, self._sentence(fault, error))
        if fault.status is not None or kind in _NO_ANSWER:
            server.answer()
        if kind in _NO_ANSWER and server.unread is not None:
            server.unread += 1
            if server.unread >= MOST_UNREAD:
                server.lose(f"{server.unread} answers, and none could be read: {fault.reason}")
        is_spent = met[kind] > reaction.times
        if kind in _OUTCOMES and is_spent:
            return ModelOutput.from_content(self.name, "", _OUTCOMES[kind])
        seconds = seconds_before(met.total(), fault.wait)
        if kind is FaultKind.CONNECTION:
            server.fail_to_connect(why_unconnected(error, server.url), seconds)
        elif reaction.then is Then.WAIT:
            if (datetime.now() - began).total_seconds() > MAX_WAIT_S:
                server.lose(f"{kind.words} for {MAX_WAIT_S / 60:.0f} minutes, and no answer")
            server.rest(seconds)
            is_spent = bool(server.lost)
        elif reaction.is_final:
            failed = FailedRequestError(fault)
            why = failed.plain
            if kind is FaultKind.UNTRUSTED:
                why = f"{why_unconnected(error, server.url)}; {reaction.advice}"
            for other in server.watch.servers if reaction.then is Then.STOP else [server]:
                if (other.url, other.key) == (server.url, server.key):
                    other.lose(why)
            raise failed from None
        if is_spent or server.lost:
            raise FailedRequestError(fault) from None
        await server.sleep(seconds)
        return None

    def _count(self, kind: FaultKind, sentence: str) -> None:
        watch = self.server.watch
        if not watch.counts[self.title, kind]:
            watch.fault(self.title, sentence)
        watch.counts[self.title, kind] += 1

    def _sentence(self, fault: Fault, error: Exception) -> str:
        """A fault in words that may be printed."""
        kind, place = fault.kind, host_of(self.server.url)
        if fault.status is not None:
            return f"{status_words(fault.status, kind)} from {place}"
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


_NAMELESS = ("mockllm", "none", "casewise", "casewise-hf")
"""Providers whose answers bear no model's name."""


def is_same_model(asked: str, answered: str) -> bool:
    """Tell whether an answer's model is the one asked for: the same name, or a dated edition."""
    shorter, other = sorted((_last(asked), _last(answered)), key=len)
    return other == shorter or (
        other.startswith(shorter) and _EDITION.match(other[len(shorter) :]) is not None
    )


_EDITION = re.compile(r"[-@:._](v?\d|latest|preview|exp|gguf|free)", re.IGNORECASE)


def _last(name: str) -> str:
    return name.replace("\\", "/").rstrip("/").split("/")[-1].lower()


def _is_counted(usage: ModelUsage, text: str) -> bool:
    """Tell whether numbers of tokens can be those of an answer and its request."""
    counts = [count or 0 for name, count in usage if name != "total_cost"]
    possible = all(type(one) is int and 0 <= one <= MAX_TOKENS for one in counts)
    return possible and input_tokens(usage) > 0 and bool(text) <= usage.output_tokens


def seconds_before(attempt: int, told: float | None) -> float:
    """Seconds before the next attempt: those that were told, else twice as long each time.

    Args:
        attempt: Number of attempts so far.
        told: Seconds that the provider asks for; None where it names none. After ``BELIEVED``
            attempts they are the least.
    """
    if told is not None and attempt <= BELIEVED:
        return min(told, MAX_WAIT_S)
    usual = min(FIRST_S * 2 ** min(attempt - 1, 20), MOST_S) * random.uniform(0.8, 1.2)
    return float(max(usual, min(told or 0.0, MAX_WAIT_S)))
