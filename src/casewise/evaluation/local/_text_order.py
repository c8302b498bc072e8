"""Answer the requests of all tasks that run at once, one after the other, in text order.

Neighbours in this order share the beginnings of their prompts, and with them what an engine has
computed of the last one. Conditions of one model are tasks of their own, whose prompts of one case
differ little: they wait here together.
"""

import asyncio
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from casewise.evaluation.local._line import Batch, Key, Line

START_S = 3.0
"""Seconds without news after which tasks that have not asked yet are not waited for."""

PATIENCE_S = 0.2
"""The same for a task that has asked before: it may have ended, or be about to send its next."""

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
    """Whether nobody waits for the answer any more."""


class TextOrder(Generic[Request, Answer]):
    """A queue with one worker, for one engine.

    Args:
        worker: Of one thread.
        answer: Answers tickets, in their order; called by one thread at a time. Each answer goes
            out when it comes, and what is raised goes to the tickets that are left.
        batch: How many tickets it gets at once.
    """

    def __init__(
        self,
        worker: Executor,
        answer: Callable[[Sequence[Ticket[Request, Answer]]], Iterable[Answer]],
        batch: Batch = Batch(),  # noqa: B008 - frozen
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
        """Tell which tasks will ask: the first answer waits until each of them has asked.

        Whoever asks is waited for again when it has nothing in the line, as its next request may
        come before all others; who is waited for in vain is not until it asks again.
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
                self._line.drop(lambda one: one is ticket)
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
        """What is to be answered now; nothing ends the worker."""
        with self._news:
            while len(self._line):
                self._wait_for_all()
                if not len(self._line):
                    break
                taken = self._line.take(self._last, self._batch)
                # From here on nobody can take a ticket back, only lose interest.
                wanted = [one for one in taken if one.future.set_running_or_notify_cancel()]
                if wanted:
                    self._last = wanted[-1].key
                    return wanted
            self._works = False
            return []

    def _wait_for_all(self) -> None:
        """Until every task has something in the line, or was waited for in vain."""
        while len(self._line):
            present = {one.asker for one in self._line}
            if self._awaited <= present:
                break
            if not self._news.wait(self._patience):
                self._awaited &= present
                break
        self._patience = PATIENCE_S
