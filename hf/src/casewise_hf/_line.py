"""The line in which requests for one model wait.

The requests of all tasks that run at once are answered one after the other, in text order.
Neighbours in this order share the beginnings of their prompts, and what an engine has computed of
them. Conditions of one model are tasks of their own with like prompts: they wait here together.
"""

import asyncio
import threading
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Generic, TypeVar

Key = str | tuple[int, ...]
"""Prompt of a request, as text or tokens; in one line all are of one kind."""

Item = TypeVar("Item")


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
