"""Make, review and repair, in rounds: what is decided waits for all answers of its round."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from casewise.cases import Side, digest
from casewise.contexts import (
    NOT_MENDED,
    Fault,
    FaultKind,
    context_schema,
    pair_schema,
    read_review,
    render_making,
    render_repair,
    render_review,
    review_nonce,
)
from casewise.evaluation.generate._asking import Asker
from casewise.evaluation.generate._journal import Reply
from casewise.evaluation.generate._work import Work, compare, read_attempt

REVIEW_TRIES = 2
"""Times that the critic is asked about a context, where its answer can't be read."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a round is."""

    what: str
    """``writing``, ``reviewing`` or ``repairing``."""
    done: int
    total: int


Watcher = Callable[[Step], None]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Who is asked, and how often."""

    writer: Asker
    critic: Asker | None
    candidates: int
    repairs: int
    seed: int
    temperature: float
    max_tokens: int
    review_tokens: int
    """Longest answers of the two, in tokens."""
    watch: Watcher

    async def make(self, works: Sequence[Work]) -> None:
        """Bring every work to its end: without a fault, or with those that stay.

        Raises:
            ModelError: A model can't be used at all.
        """
        await self._all("writing", [self._write(work) for work in works])
        while True:
            compare(works)
            unseen = [
                (work, side)
                for work in works
                if self.critic and not work.current.faults
                for side in work.sides
                if side not in work.current.reviews
            ]
            if unseen:
                await self._all("reviewing", [self._review(work, side) for work, side in unseen])
                continue
            broken = [work for work in works if work.is_open(self.repairs)]
            if not broken:
                return
            await self._all("repairing", [self._repair(work) for work in broken])

    async def _all(self, what: str, todo: Sequence[Awaitable[None]]) -> None:
        done = 0
        self.watch(Step(what, done, len(todo)))

        async def one(asked: Awaitable[None]) -> None:
            nonlocal done
            await asked
            done += 1
            self.watch(Step(what, done, len(todo)))

        async with asyncio.TaskGroup() as group:
            for asked in todo:
                group.create_task(one(asked))

    async def _write(self, work: Work) -> None:
        prompt = self._prompt(work)
        replies = await asyncio.gather(
            *(self._ask(work, prompt, number) for number in range(1, self.candidates + 1))
        )
        for reply in replies:
            work.attempts.append(read_attempt(work, reply))

    async def _repair(self, work: Work) -> None:
        prompt = render_repair(self._prompt(work), work.draft, work.current.faults)
        reply = await self._ask(work, prompt, len(work.attempts) + 1)
        attempt = read_attempt(work, reply)
        work.count_repair()
        work.take_repair(attempt)

    def _prompt(self, work: Work) -> str:
        return render_making(work.query.query, work.piece, work.query.language, work.matched)

    async def _ask(self, work: Work, prompt: str, number: int) -> Reply:
        return await self.writer.ask(
            prompt,
            seed=self._seed(work, "write", number),
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            schema=pair_schema(work.matched) if work.piece == "both" else context_schema(),
        )

    def _seed(self, work: Work, what: str, number: int) -> int:
        """Of one request: no two have the same, and order plays no role."""
        return int(digest(self.seed, work.query.query, work.piece, what, number), 16) % 2**31

    async def _review(self, work: Work, side: Side) -> None:
        assert self.critic is not None
        attempt, query = work.current, work.query
        values = attempt.contexts[side]
        prompt = render_review(query.query, side, values, query.language)
        nonce = review_nonce(query.query, side, values)
        found: Fault | None = None
        for number in range(1, REVIEW_TRIES + 1):
            reply = await self.critic.ask(
                prompt,
                seed=self._seed(work, f"review {side} {attempt.number}", number),
                # The same again would give the same answer.
                temperature=0.0 if number == 1 else self.temperature,
                max_tokens=self.review_tokens,
            )
            attempt.review_tokens = (
                attempt.review_tokens[0] + reply.input_tokens,
                attempt.review_tokens[1] + reply.output_tokens,
            )
            if reply.error is not None:
                reason = f"the request to the critic failed: {reply.error}"
                found = Fault(FaultKind.FAILED, reason, side)
                break
            if reply.refused:
                found = Fault(FaultKind.UNCHECKED, "the critic declined to review it", side)
                continue
            found = read_review(reply.text, nonce).fault(side)
            if found is None or found.kind not in NOT_MENDED:
                break
        attempt.reviews[side] = found
