"""Make, review and repair contexts, in rounds: decisions wait for all answers of a round.

Each request is sent once: what was answered before is read from the journal.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from inspect_ai.model import GenerateConfig, Model, ModelOutput, ResponseSchema
from inspect_ai.util import JSONSchema

from casewise.cases import Side, digest
from casewise.choices import Structured
from casewise.contexts import (
    NOT_MENDED,
    ContextFault,
    Fault,
    context_schema,
    pair_schema,
    read_review,
    render_repair,
    render_review,
    review_nonce,
)
from casewise.errors import CasewiseError, ModelError
from casewise.evaluation.generate._context_attempts import (
    ContextWork,
    compare,
    read_attempt,
    sum_tokens,
)
from casewise.evaluation.generate._files import ReplyJournal, RequestOutcome
from casewise.evaluation.generate._generation_plan import REVIEW_TRIES, GeneratePlan
from casewise.evaluation.models import open_model, patience
from casewise.evaluation.models._fault_table import FaultKind, status_of
from casewise.evaluation.models._faults import FailedRequestError, failed, failure_reason
from casewise.evaluation.models._reachability import UnreachableError, with_address
from casewise.evaluation.tasks._asking import was_cut
from casewise.logs import input_tokens, provider_refused

GIVE_UP = 5
"""Failed requests, without an answer among them, after which a model can't be used."""

_UNSUPPORTED = (400, 404, 405, 415, 422, 501)
"""Statuses of servers that take no schema."""


@dataclass(slots=True)
class Asker:
    """Sender of one model's requests; answers in the journal are not asked for again."""

    model: Model
    journal: ReplyJournal
    structured: Structured
    asked: int = 0
    """Requests sent."""
    failures: list[str] = field(default_factory=list)
    """Why requests failed, in words of ours alone."""
    _answered: int = 0
    _takes_schema: bool = True

    async def ask(
        self,
        prompt: str,
        *,
        seed: int,
        temperature: float,
        max_tokens: int,
        schema: Mapping[str, Any] | None = None,
    ) -> RequestOutcome:
        """Answer to a prompt, from the journal or the model; an error is an outcome, too.

        Raises:
            ModelError: Nothing but errors has come from the model, or it can't be reached.
        """
        schema = None if self.structured is Structured.OFF else schema
        key = digest(str(self.model), prompt, seed, temperature, max_tokens, dict(schema or {}))
        if (known := self.journal.known.get(key)) is not None:
            return known
        config = GenerateConfig(seed=seed, temperature=temperature, max_tokens=max_tokens)
        try:
            # What a person set for the model itself goes before what is usual here.
            output = await self._generate(prompt, config.merge(self.model.config), schema)
        except Exception as error:
            return self._failed(error)
        self._answered += 1
        usage = output.usage
        reply = RequestOutcome(
            text=output.completion,
            refused=provider_refused(output),
            cut=was_cut(output),
            input_tokens=input_tokens(usage) if usage else 0,
            output_tokens=usage.output_tokens if usage else 0,
        )
        self.journal.keep(key, reply)
        return reply

    async def _generate(
        self, prompt: str, plain: GenerateConfig, schema: Mapping[str, Any] | None
    ) -> ModelOutput:
        if schema is None or not self._takes_schema:
            return await self._send(prompt, plain)
        form = ResponseSchema(
            name="context", json_schema=JSONSchema.model_validate(schema), strict=True
        )
        try:
            return await self._send(prompt, plain.merge(GenerateConfig(response_schema=form)))
        except Exception as error:
            takes_none = isinstance(error, NotImplementedError) or status_of(error) in _UNSUPPORTED
            if self.structured is Structured.ON or not takes_none:
                raise
        output = await self._send(prompt, plain)
        # The answer without a schema shows that the schema was what the server refused.
        self._takes_schema = False
        return output

    async def _send(self, prompt: str, config: GenerateConfig) -> ModelOutput:
        """Send one request.

        Raises:
            FailedRequestError: The provider reports an error in place of an answer.
        """
        self.asked += 1
        output = await self.model.generate(prompt, config=config)
        if output.error and not output.completion and not provider_refused(output):
            reason = failure_reason(RuntimeError(output.error))
            raise FailedRequestError(FaultKind.OTHER, reason, None)
        return output

    def _failed(self, error: Exception) -> RequestOutcome:
        if isinstance(error, UnreachableError):
            raise error
        request = failed(error)
        self.journal.keep_failure(str(self.model), request.message)
        reason = str(error) if isinstance(error, CasewiseError) else request.plain
        self.failures.append(reason)
        if not self._answered and len(self.failures) >= GIVE_UP:
            raise self.unusable()
        return RequestOutcome(error=reason)

    def unusable(self) -> ModelError:
        """Error of a model that gives nothing but errors."""
        return ModelError(
            f"{with_address(self.model, self.failures[0])} "
            f"(what the provider said is in {self.journal.failed})"
        )


def open_askers(plan: GeneratePlan, journal: ReplyJournal) -> dict[str, Asker]:
    """Askers of a plan's models, by name.

    Raises:
        ModelError: A model can't be opened.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    request = plan.request
    limits = patience(max_connections=request.max_connections)
    return {
        name: Asker(
            open_model(
                name,
                base_url=request.model_base_url,
                model_args=request.model_args,
                usual=limits,
            ),
            journal,
            plan.structured,
        )
        for name in plan.models
    }


@dataclass(frozen=True, slots=True)
class RoundStep:
    """Progress of a round."""

    what: str
    """``writing``, ``reviewing`` or ``repairing``."""
    done: int
    total: int


Watcher = Callable[[RoundStep], None]


@dataclass(frozen=True, slots=True)
class Rounds:
    """Rounds of requests to the writer and the critic."""

    plan: GeneratePlan
    writer: Asker
    critic: Asker | None
    watch: Watcher

    async def make(self, works: Sequence[ContextWork]) -> None:
        """Bring every piece to its end: without a fault, or with those that stay.

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
            broken = [work for work in works if work.is_open(self.plan.repairs)]
            if not broken:
                return
            await self._all("repairing", [self._repair(work) for work in broken])

    async def _all(self, what: str, todo: Sequence[Awaitable[None]]) -> None:
        done = 0
        self.watch(RoundStep(what, done, len(todo)))

        async def one(asked: Awaitable[None]) -> None:
            nonlocal done
            await asked
            done += 1
            self.watch(RoundStep(what, done, len(todo)))

        async with asyncio.TaskGroup() as group:
            for asked in todo:
                group.create_task(one(asked))

    async def _write(self, work: ContextWork) -> None:
        numbers = range(1, self.plan.request.candidates + 1)
        asked = (self._ask(work, work.prompt, number) for number in numbers)
        for reply in await asyncio.gather(*asked):
            work.attempts.append(read_attempt(work, reply))

    async def _repair(self, work: ContextWork) -> None:
        prompt = render_repair(work.prompt, work.draft, work.current.faults)
        reply = await self._ask(work, prompt, len(work.attempts) + 1)
        work.take_repair(read_attempt(work, reply))

    async def _ask(self, work: ContextWork, prompt: str, number: int) -> RequestOutcome:
        return await self.writer.ask(
            prompt,
            seed=self._seed(work, "write", number),
            temperature=self.plan.request.temperature,
            max_tokens=self.plan.max_tokens,
            schema=pair_schema(work.matched) if work.piece == "both" else context_schema(),
        )

    def _seed(self, work: ContextWork, what: str, number: int) -> int:
        """Seed of one request: another for each, whatever their order."""
        made_of = self.plan.request.seed, work.query.query, work.piece, what, number
        return int(digest(*made_of), 16) % 2**31

    async def _review(self, work: ContextWork, side: Side) -> None:
        assert self.critic is not None
        attempt, query = work.current, work.query
        values = attempt.contexts[side]
        prompt = render_review(query.query, side, values, query.language)
        nonce = review_nonce(query.query, side, values)
        fault: Fault | None = None
        for number in range(1, REVIEW_TRIES + 1):
            reply = await self.critic.ask(
                prompt,
                seed=self._seed(work, f"review {side} {attempt.number}", number),
                # The same again would give the same answer.
                temperature=0.0 if number == 1 else self.plan.request.temperature,
                max_tokens=self.plan.review_tokens,
            )
            attempt.review_tokens = sum_tokens((attempt.review_tokens, reply.tokens))
            if reply.error is not None:
                reason = f"the request to the critic failed: {reply.error}"
                fault = Fault(ContextFault.FAILED, reason, side)
                break
            if reply.refused:
                fault = Fault(ContextFault.UNCHECKED, "the critic declined to review it", side)
                continue
            fault = read_review(reply.text, nonce).fault(side)
            if fault is None or fault.kind not in NOT_MENDED:
                break
        attempt.reviews[side] = fault
