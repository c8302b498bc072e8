"""Stand between Inspect and the batches of a provider: no answer is lost, none is paid twice.

Inspect collects requests, asks for a batch, and follows it. The desk splits its requests: those
that a batch of an earlier start holds are waited for there, the others are sent. The results that
it gives back hold one for each request, whatever became of it: Inspect would wait for ever for a
request that is missing, and take one line that it can't read for the failure of all.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from inspect_ai.model import Model

from casewise.errors import CasewiseError
from casewise.evaluation.models._batch_interfaces import Job, interface_of, no_result
from casewise.evaluation.models._batches import TICK_S, BatchLedger, NotSentError, batch_settings
from casewise.evaluation.models._fault_table import (
    NO_LINE,
    UNREADABLE_LINE,
    FaultKind,
    kind_of,
    row_of,
)
from casewise.evaluation.models._faults import count_fault
from casewise.evaluation.models._reachability import reach_of
from casewise.evaluation.models._said import said_of
from casewise.evaluation.models._seam import batcher as inspects
from casewise.evaluation.models._seam import hooks_of
from casewise.evaluation.models._standing import seconds_before

_GONE = (400, 404, 410)
_REFUSED = range(400, 408)
"""HTTP statuses after which a batch was hardly taken."""
_LOOKS = 3
"""Looks for a batch that may have been taken."""


@dataclass(slots=True)
class _Handed:
    """One batch as Inspect sees it."""

    numbers: tuple[str, ...]
    out: dict[str, set[str]]
    """Requests whose answers are awaited, by batch of the provider's."""
    earlier: frozenset[str]
    """Batches of earlier starts."""
    created_at: int = 0
    counts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Requests done and failed, by batch."""
    results: dict[str, Any] = field(default_factory=dict)
    """Answers and errors by request."""


class BatchDesk:
    """Replacement for what one of Inspect's batchers does at its provider.

    Args:
        batcher: Inspect's batcher.
        model: The model that it sends requests of.
        ledger: Ledger of the batches that are out.
    """

    def __init__(self, batcher: Any, model: Model, ledger: BatchLedger) -> None:
        self._name, self.ledger = str(model), ledger
        self._reach = reach_of(model)
        hooks = hooks_of(model.api)
        self._header = hooks.REQUEST_ID_HEADER if hooks is not None else ""
        self._interface = interface_of(batcher)
        self._handed: dict[str, _Handed] = {}
        self._numbers: dict[int, str] = {}
        vars(batcher).update(
            _create_batch=self.create, _check_batch=self.check, _handle_batch_result=self.results
        )

    def note(self, request: Mapping[str, Any], number: str | None) -> None:
        """Note the number of a request that is about to wait for its batch."""
        if number is not None:
            self._numbers[id(request)] = number

    async def create(self, requests: list[Any]) -> str:
        """Send those of Inspect's requests that no earlier batch holds, as a batch.

        Raises:
            NotSentError: It is not taken.
        """
        for request in requests:
            request.custom_id = self._numbers.pop(id(request.request), request.custom_id)
            # Inspect takes the number from there, where the request has headers.
            if self._header and (headers := request.request.get("extra_headers")):
                headers[self._header] = request.custom_id
        numbers = tuple(request.custom_id for request in requests)
        try:
            await self.ledger.claim(self._name, self._interface.find)
        except CasewiseError:
            raise
        except Exception as error:
            raise NotSentError from error
        earlier = self.ledger.take(numbers)
        held = set[str]().union(*earlier.values())
        handed = _Handed(numbers, dict(earlier), frozenset(earlier))
        new = [request for request in requests if request.custom_id not in held]
        if new:
            try:
                await self._send(handed, new)
            except NotSentError:
                self.ledger.give_back(held)
                raise
        self._reach.has_answered()
        name = f"casewise-{uuid4().hex}"
        self._handed[name] = handed
        return name

    async def _send(self, handed: _Handed, requests: list[Any]) -> None:
        """Create one batch, whatever is answered to its creation.

        Raises:
            NotSentError: It was not taken.
        """
        numbers, mark = tuple(request.custom_id for request in requests), ""

        def begin(given: str) -> None:
            nonlocal mark
            mark = given
            self.ledger.sending(self._name, mark, numbers)

        try:
            if not (name := await self._interface.submit(requests, begin)):
                raise no_result(UNREADABLE_LINE, "the answer to the creation names no batch")
            names: tuple[str, ...] = (name,)
        except CasewiseError:
            raise
        except Exception as error:  # a status, a cut connection, a body that is no batch
            if not mark:
                raise NotSentError from error
            # Unless it was refused, it may have been taken and not be listed yet.
            names = await self._settled(mark, 1 if said_of(error).status in _REFUSED else _LOOKS)
            if not names:
                self.ledger.sent(mark)
                raise NotSentError from error
        self.ledger.sent(mark, *names)
        handed.out |= {name: set(numbers) for name in names}

    async def _settled(self, mark: str, looks: int) -> tuple[str, ...]:
        """Batches of a mark, if there are any, however long the provider takes to say so."""
        failed = 0
        while looks:
            try:
                found = self.ledger.unknown(await self._interface.find(mark))
                if found:
                    if not self._interface.is_exact:
                        self._tell_of(found)
                    return found
                looks -= 1
            except Exception as error:
                row = row_of(error)
                if row.is_final or row.kind is FaultKind.OTHER:
                    # The next start looks again.
                    raise NotSentError from error
                failed += 1
            if looks:
                tick = batch_settings().tick or TICK_S
                await asyncio.sleep(max(tick, seconds_before(failed, None) if failed else 0.0))
        return ()

    def _tell_of(self, found: tuple[str, ...]) -> None:
        self._reach.tell(
            self._name,
            f"no answer named a batch that was sent; {', '.join(found)} of the same size began "
            "then, and nothing is sent again before its results are read",
        )

    async def check(self, batch: Any) -> Any:
        """State of a batch as Inspect sees it; the results of batches that ended are fetched.

        Raises:
            Exception: The provider does not say; Inspect asks again.
        """
        handed = self._handed[batch.id]
        for name in list(handed.out):
            try:
                await self._look(handed, name)
            except Exception as error:
                kind = kind_of(error)
                count_fault(self._name, kind, said=f"{kind.words} when asked for batch {name}")
                raise
        return inspects.BatchCheckResult(
            completed_count=sum(done for done, _ in handed.counts.values()),
            failed_count=sum(failed for _, failed in handed.counts.values()),
            created_at=handed.created_at,
            completion_info=None if handed.out else handed,
        )

    async def _look(self, handed: _Handed, name: str) -> None:
        """Ask for one of the provider's batches."""
        try:
            job = await self._interface.look(name)
        except Exception as error:
            if said_of(error).status in _GONE:
                unknown = no_result(NO_LINE, f"batch {name} is not known to the provider")
                self._end(handed, name, {}, unknown)
            elif row_of(error).is_final:
                self._end(handed, name, {}, error)
            else:
                raise
            return
        self._reach.has_answered()
        handed.created_at = job.created_at or handed.created_at
        handed.counts[name] = (job.done, job.failed)
        if not job.ended:
            return
        resend = self.ledger.resends_cancelled
        found = self._first_of_each(job, await self._interface.results(job), handed)
        read = {number: self._interface.read(found[number], resend=resend) for number in found}
        self._end(handed, name, read, job.lacking(resend=resend))

    def _end(self, handed: _Handed, name: str, read: Mapping[str, Any], lacking: Exception) -> None:
        """Keep the results of a batch that ended, and errors of requests that none has."""
        own = handed.out.pop(name)
        left = {other: waiting - read.keys() for other, waiting in handed.out.items()}
        handed.out = {other: waiting for other, waiting in left.items() if waiting}
        elsewhere = set[str]().union(*handed.out.values())
        handed.results |= {number: read[number] for number in own & read.keys()}
        handed.results |= dict.fromkeys(own - read.keys() - elsewhere, lacking)
        if name in handed.earlier:
            self.ledger.collected += sum(
                not isinstance(read[number], Exception) for number in own & read.keys()
            )

    def _first_of_each(
        self, job: Job, results: Iterable[tuple[str, Any]], handed: _Handed
    ) -> dict[str, Any]:
        """Results by request number, the first of each; says where there are others."""
        asked, content = handed.out[job.name], self._interface.content
        found: dict[str, Any] = {}
        again, other, strange = set[str](), set[str](), set[str]()
        for number, result in results:
            if number not in asked:
                strange.add(number)
            elif number not in found:
                found[number] = result
            else:
                again.add(number)
                if content(result) != content(found[number]):
                    other.add(number)
        if again:
            self._reach.tell(
                self._name,
                f"batch {job.name}: {len(again):,} requests have more than one result, which "
                f"differ for {len(other):,} of them; the first of each is kept",
            )
        if strange:
            self._reach.tell(
                self._name,
                f"batch {job.name}: {len(strange):,} results are of no request in it, and left out",
            )
        return found

    async def results(self, batch: Any, completion_info: Any) -> dict[str, Any]:
        """Results of a batch as Inspect sees it: one a request."""
        del self._handed[batch.id]
        return {number: completion_info.results[number] for number in completion_info.numbers}
