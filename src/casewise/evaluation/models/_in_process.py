"""Models that run in this process, and the line in which their requests wait.

The requests of all tasks that run at once are answered one after the other, in text order.
Neighbours in this order share the beginnings of their prompts, and what an engine has computed of
them. Conditions of one model are tasks of their own with like prompts: they wait here together.
"""

import asyncio
import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count, groupby
from operator import itemgetter
from typing import Any, Generic, Literal, TypeVar

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    Logprob,
    Logprobs,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    TopLogprob,
)

from casewise.logs import message_text

Key = str | tuple[int, ...]
"""Prompt of a request, as text or tokens; in one line all are of one kind."""

Item = TypeVar("Item")

_tell: ContextVar[Callable[[str], None]] = ContextVar("casewise_tell", default=lambda _: None)


@contextmanager
def told_of_local_models(told: Callable[[str], None]) -> Iterator[None]:
    """Pass messages of this process's models to a person, while the block runs."""
    token = _tell.set(told)
    try:
        yield
    finally:
        _tell.reset(token)


def tell(line: str) -> None:
    """Send a message on a model: that its weights are fetched, or how it would be faster."""
    _tell.get()(line)


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """Number of elements that two texts share from their beginnings on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (this, that) in pairs if this != that), min(len(one), len(other)))


@dataclass(frozen=True, slots=True)
class Batch:
    """Limits of one batch of requests."""

    most: int = 1
    """Most requests."""
    elements: int = 0
    """Most letters or tokens, each request counted as long as the longest."""


class Line(Generic[Item]):
    """Items that wait under keys, taken in text order.

    Next comes the item that shares the longest beginning with the last one; of several, the first
    in order. So a tree of beginnings is walked branch by branch: where all items wait, each
    beginning is met once, and where some come late, as much is shared as the waiting ones allow.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Key, int, Item]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Item]:
        return (item for _, _, item in self._waiting)

    def add(self, key: Key, item: Item) -> None:
        """Add an item; those with one key come in the order in which they were added."""
        insort(self._waiting, (key, self._added, item), key=itemgetter(0, 1))
        self._added += 1

    def drop(self, unwanted: Item) -> None:
        """Drop an item that nobody waits for any more."""
        self._waiting = [entry for entry in self._waiting if entry[2] is not unwanted]

    def take(self, last: Key | None, batch: Batch = Batch()) -> list[Item]:
        """Take the item that comes after a key, and as many more as a batch allows.

        A batch is filled with the items whose lengths are nearest to the first one's.
        """
        key, _, first = self._waiting.pop(0 if last is None else self._after(last))
        taken, longest = [first], len(key)
        if batch.most > 1:
            for entry in sorted(self._waiting, key=lambda entry: abs(len(entry[0]) - len(key))):
                longest = max(longest, len(entry[0]))
                if len(taken) == batch.most or longest * (len(taken) + 1) > batch.elements:
                    break
                self._waiting.remove(entry)
                taken.append(entry[2])
        return taken

    def _after(self, last: Key) -> int:
        def place_of(key: Key) -> int:
            return bisect_left(self._waiting, key, key=itemgetter(0))

        # The neighbours of the last key's place share most with it.
        here = place_of(last)
        beside = self._waiting[max(0, here - 1) : here + 1]
        shared = max(common_prefix(last, key) for key, _, _ in beside)
        return place_of(last[:shared])


START_S = 3.0
"""Seconds without news after which tasks that have not asked yet are not waited for."""

PATIENCE_S = 0.2
"""Seconds without news after which tasks that have asked before are not waited for: they may have
ended, or be about to send their next request."""

Request = TypeVar("Request")
Answer = TypeVar("Answer")


@dataclass(slots=True, eq=False)
class Ticket(Generic[Request, Answer]):
    """A request that waits, or is being answered."""

    key: Key
    request: Request
    asker: int
    future: "Future[Answer]" = field(default_factory=Future)
    given_up: bool = False
    """True if nobody waits for the answer any more."""


class TextOrder(Generic[Request, Answer]):
    """A queue with one worker, for one engine.

    Args:
        worker: Executor of one thread.
        answer: Answers tickets, in their order; called by one thread at a time. Each answer goes
            out when it comes, and what is raised goes to the tickets that are left.
        batch: Limits of the tickets that it gets at once.
    """

    def __init__(
        self,
        worker: Executor,
        answer: Callable[[Sequence[Ticket[Request, Answer]]], Iterable[Answer]],
        batch: Batch = Batch(),
    ) -> None:
        self._answer = answer
        self._batch = batch
        self._line: Line[Ticket[Request, Answer]] = Line()
        self._news = threading.Condition()
        self._worker = worker
        self._works = False
        self._last: Key | None = None
        self._awaited: set[int] = set()
        self._patience = PATIENCE_S

    def expect(self, askers: set[int]) -> None:
        """Expect tasks to ask: the first answer waits until each of them has asked.

        A task that asks is waited for again when it has nothing in the line, as its next request
        may come before all others; one that was waited for in vain is not until it asks again.
        """
        with self._news:
            self._awaited = set(askers)
            self._patience = START_S

    async def ask(self, key: Key, request: Request, asker: int) -> Answer:
        """Wait for the request's turn, and for its answer."""
        ticket: Ticket[Request, Answer] = Ticket(key, request, asker)
        with self._news:
            self._line.add(key, ticket)
            self._awaited.add(asker)
            self._news.notify_all()
            starts, self._works = not self._works, True
        if starts:
            self._worker.submit(self._work)
        try:
            return await asyncio.wrap_future(ticket.future)
        except asyncio.CancelledError:
            ticket.given_up = True
            with self._news:
                self._line.drop(ticket)
                self._news.notify_all()
            raise

    def _work(self) -> None:
        while tickets := self._next():
            answered = 0
            try:
                for ticket, answer in zip(tickets, self._answer(tickets), strict=True):
                    ticket.future.set_result(answer)
                    answered += 1
            except BaseException as error:  # each asker is to see it, and none to wait for ever
                for ticket in tickets[answered:]:
                    ticket.future.set_exception(error)

    def _next(self) -> list[Ticket[Request, Answer]]:
        """Requests to answer now; none, which ends the worker, where the line is empty."""
        with self._news:
            while self._wait_for_all():
                taken = self._line.take(self._last, self._batch)
                # From here on nobody can take a ticket back, only lose interest.
                wanted = [one for one in taken if one.future.set_running_or_notify_cancel()]
                if wanted:
                    self._last = wanted[-1].key
                    return wanted
            self._works = False
            return []

    def _wait_for_all(self) -> bool:
        """Wait until every task has a request in the line, or was waited for in vain.

        Returns:
            False where the line is empty.
        """
        while len(self._line):
            present = {ticket.asker for ticket in self._line}
            if self._awaited <= present:
                break
            if not self._news.wait(self._patience):
                self._awaited &= present
                break
        self._patience = PATIENCE_S
        return len(self._line) > 0


WINDOW = 64
"""Cases of a task in flight, which wait in text order with those of other tasks. They cost memory
only, as one is answered at a time."""

PROVIDERS = frozenset({"casewise", "casewise-hf"})
"""Providers of the models that run in this process."""

_numbers = count(1)


def is_in_process(model: str) -> bool:
    """Tell whether a model, by its name, runs in this process."""
    return model.partition("/")[0] in PROVIDERS


class InProcess(ModelAPI):
    """A model of this process: the requests of all tasks wait in one line.

    Each task has its own client, so that none keeps the others' requests out of the line.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - Inspect's signature
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, config=config)
        self.asker = next(_numbers)
        """Number of this client among those of its model."""
        self.prepare(model_args)

    def prepare(self, model_args: Mapping[str, Any]) -> None:
        """Check the model's arguments, and load it."""
        raise NotImplementedError

    @property
    def line(self) -> TextOrder[Any, Any]:
        """Queue of the requests of all clients of the model."""
        raise NotImplementedError

    @property
    def made_with(self) -> Mapping[str, str]:
        """Settings that its numbers depend on: ``dtype``, ``device``, versions."""
        return {}

    def connection_key(self) -> str:
        """Name under which Inspect counts connections: another for each client, and so task."""
        return f"{self.model_name}#{self.asker}"

    def max_connections(self) -> int:
        """Most requests of a task that wait in the line."""
        return WINDOW

    async def first_piece(self, text: str) -> tuple[str, bool]:
        """The first piece of a text under the model's tokenizer, and whether it is the only one."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class TokenPlace:
    """One token of an answer, and its candidates."""

    text: str
    logprob: float
    candidates: tuple[tuple[str, float], ...]
    """Tokens that might have stood there, with natural-log probabilities over the whole
    vocabulary, the most probable first."""


@dataclass(frozen=True, slots=True)
class Replied:
    """An answer, and its cost in tokens and time."""

    text: str
    places: tuple[TokenPlace, ...]
    """Empty where no log-probabilities were asked for."""
    written: int
    """Tokens of the answer, its end included."""
    computed: int
    """Tokens of the prompt that went through the model."""
    reused: int
    """Tokens of the prompt that the last prompt's cache held."""
    stop: Literal["stop", "max_tokens"]
    seconds: float


def to_output(
    model: str, replied: Replied, made_with: Mapping[str, str] | None = None
) -> ModelOutput:
    """An engine's answer as Inspect's output."""
    logprobs = [
        Logprob(
            token=place.text,
            logprob=place.logprob,
            top_logprobs=[
                TopLogprob(token=text, logprob=logprob) for text, logprob in place.candidates
            ],
        )
        for place in replied.places
    ]
    choice = ChatCompletionChoice(
        message=ChatMessageAssistant(content=replied.text, model=model, source="generate"),
        stop_reason=replied.stop,
        logprobs=Logprobs(content=logprobs) if logprobs else None,
    )
    usage = ModelUsage(
        input_tokens=replied.computed,
        input_tokens_cache_read=replied.reused,
        output_tokens=replied.written,
        total_tokens=replied.computed + replied.reused + replied.written,
    )
    return ModelOutput(
        model=model,
        choices=[choice],
        usage=usage,
        time=replied.seconds,
        metadata=dict(made_with) if made_with else None,
    )


def too_long(model: str, tokens: int, window: int | None) -> ModelOutput:
    """Output for a prompt that a model's window has no room for."""
    message = ChatMessageAssistant(content="")
    return ModelOutput(
        model=model,
        choices=[ChatCompletionChoice(message=message, stop_reason="model_length")],
        error=f"the prompt has {tokens} tokens; {model} takes {window}",
    )


def plain_turns(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    """Messages for chat templates, few of which know tools: their results become the user's."""
    turns: list[dict[str, str]] = []
    for returned, group in groupby(messages, lambda one: one.role == "tool"):
        if returned:
            results = "\n".join(f"[tool result: {one.text}]" for one in group)
            turns.append({"role": "user", "content": results})
        else:
            turns += [{"role": one.role, "content": message_text(one)} for one in group]
    return turns
