"""Run of one log: ask, read and keep each of its cases. Also the state that logs share."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.event import ModelEvent
from inspect_ai.log import (
    EvalError,
    EvalLog,
    EvalMetric,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalStats,
)
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage
from inspect_ai.scorer import Score
from inspect_ai.util import Store

from casewise.evaluation.executor._shards import FAIL_ON_ERROR, RETRY_ON_ERROR, Work, cell_name
from casewise.evaluation.models._answer_journal import AnswerJournal, Underway, asking
from casewise.evaluation.models._batches import BatchObserver
from casewise.evaluation.models._faults import FaultCounts, FaultObserver, logged_kind, redacted
from casewise.evaluation.plan._costs import Budget, SpentError, Tokens, tokens_of
from casewise.evaluation.tasks._asking import ModelHealth
from casewise.evaluation.tasks._samples import mean
from casewise.logs import GRADER, LogStatus, LogWriter, without_texts
from casewise.protocols import Status

Observer = Callable[[Status], None]
"""Callback with the status of each judgement, and with ``error`` for each failed attempt at one."""

StopObserver = Callable[[Callable[[], object]], object]
"""Callback at the start with the function that stops the run, from any thread."""


def _ignore(_: Status) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Observers:
    """Callbacks of a run."""

    judgement: Observer = _ignore
    fault: FaultObserver | None = None
    """Called when a model meets a kind of fault for the first time."""
    outage: FaultObserver | None = None
    """Called when a server that had answered goes away, and when it answers again; not on a
    cluster."""
    batches: BatchObserver | None = None
    """Called with the progress of batches."""
    stop: StopObserver | None = None
    """Called with the function that stops the run, which then raises CancelledError; not on a
    cluster."""


@dataclass(slots=True)
class RunContext:
    """State that all logs of one start share in one process."""

    observe: Observer = _ignore
    budget: Budget | None = None
    journal: AnswerJournal | None = None
    """Journal of answers that no log holds yet; None on a cluster, in a folder that is not on this
    machine, and where texts are withheld."""
    health: ModelHealth = field(default_factory=ModelHealth)
    writer: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="casewise-logs")
    )
    """The thread that writes the logs."""


@dataclass(frozen=True, slots=True)
class ShardOutcome:
    """Outcome of a log."""

    log: EvalLog
    """The log, without samples."""
    judged: int
    errors: FaultCounts
    """Cases that ended in an error."""
    given_up: str | None = None
    """Reason why its model can't be used at all; None if it can."""

    @property
    def tokens(self) -> Tokens:
        """Tokens by model, those of failed attempts included."""
        return tokens_of(self.log.stats.model_usage)


@dataclass(slots=True)
class _State:
    """Conversation state of one case; see ``CaseState``."""

    messages: list[ChatMessage]
    output: ModelOutput
    metadata: dict[str, Any]
    store: Store = field(default_factory=Store)


@dataclass(slots=True)
class _Sums:
    """Sums of all samples, for the header."""

    judged: int = 0
    failed: int = 0
    errors: FaultCounts = field(default_factory=Counter)
    values: dict[str, list[float]] = field(default_factory=dict)
    usage: dict[str, ModelUsage] = field(default_factory=dict)
    graders: dict[str, ModelUsage] = field(default_factory=dict)


class ShardRun:
    """Run that asks the cases of one log, and writes it.

    Args:
        work: The cases, and how they are asked.
        folder: Folder of the log, a path or an address.
        context: State that the logs of the run share.
    """

    def __init__(self, work: Work, folder: str, context: RunContext) -> None:
        self.work = work
        self.outcome: ShardOutcome | None = None
        """Outcome of the log; None until it is ended."""
        self._address = f"{folder}/{work.file_name}"
        self._context = context
        self._name = cell_name(work.cell)
        self._writer: LogWriter | None = None
        self._sums = _Sums()
        self._left = work.size
        self._error: EvalError | None = None
        self._given_up: str | None = None
        self._started = ""

    async def ask(self, sample: Sample, epoch: int) -> None:
        """Ask one case, again where that ends in an error, and write its sample.

        Raises:
            SpentError: All that the run may cost is spent.
            OSError: The log can't be written.
        """
        if self._error is None:
            kept = await self._attempts(sample, epoch)
            waiting = self._open().add(kept)
            if waiting is not None:
                await asyncio.shield(asyncio.wrap_future(waiting))
        self._left -= 1
        if not self._left:
            self.end("success" if self._error is None and self._given_up is None else "error")

    def end(self, status: LogStatus) -> None:
        """Write what is left, and the header; a second call does nothing."""
        if self.outcome is not None:
            return
        sums = self._sums
        log = self._open().finish(
            status,
            self._results(),
            EvalStats(
                started_at=self._started,
                completed_at=_now(),
                model_usage=sums.usage,
                role_usage=sums.graders,
            ),
            self._error if status == "error" else None,
        )
        self.outcome = ShardOutcome(log, sums.judged, sums.errors, self._given_up)

    def end_if_begun(self) -> None:
        """End a log that was begun, and left before its last case was asked."""
        if self._writer is not None:
            self.end("cancelled" if self._error is None else "error")

    def _open(self) -> LogWriter:
        """Writer of the log, which is begun when its first case is asked."""
        if self._writer is None:
            self._started = _now()
            self._writer = LogWriter(
                self._address, self.work.spec, self.work.plan, self._context.writer
            )
        return self._writer

    async def _attempts(self, sample: Sample, epoch: int) -> EvalSample:
        """Ask a case until it is judged, its attempts are used up, or its model is given up."""
        self._open()
        begun, started = monotonic(), _now()
        events: list[ModelEvent] = []
        of_run = epoch if self.work.part is None else self.work.part.epoch
        for attempt in range(RETRY_ON_ERROR + 1):
            under = Underway(
                self._name, str(sample.id), of_run, self._context.journal, events=events
            )
            state = _State(_messages(sample), ModelOutput(), sample.metadata or {})
            outcome: Score | Exception
            try:
                outcome = await self._ask_and_read(sample, state, under)
            except SpentError:
                raise
            except Exception as error:
                if self._context.journal is not None and self._context.journal.failure is not None:
                    raise self._context.journal.failure from None
                outcome = error
                self._context.observe(Status.ERROR)
                if self._is_given_up(error):
                    break
            if isinstance(outcome, Score) or attempt == RETRY_ON_ERROR:
                break
        times = (started, monotonic() - begun, under)
        return self._keep(sample, epoch, state, outcome, times)

    async def _ask_and_read(self, sample: Sample, state: _State, under: Underway) -> Score:
        context, work = self._context, self.work
        context.health.check(work.clients.model, work.clients.grader)
        if context.budget is not None:
            await context.budget.admit(under)
        judged = False
        try:
            with asking(under):
                await work.ask(state, work.clients.model, work.config)
                context.health.answer(work.clients.model)
                under.grading = True
                score = await work.read(state, str(sample.target), work.clients.model)
            judged = True
        finally:
            if context.budget is not None:
                context.budget.end(under, judged=judged)
        context.observe(Status((score.metadata or {})["status"]))
        return score

    def _is_given_up(self, error: Exception) -> bool:
        """Tell whether an error shows that the model can't be used; the reason is kept."""
        reason = self._context.health.fail(self.work.clients.model, error)
        self._given_up = self._given_up or reason
        return reason is not None

    def _keep(
        self,
        sample: Sample,
        epoch: int,
        state: _State,
        outcome: Score | Exception,
        times: tuple[str, float, Underway],
    ) -> EvalSample:
        """Count the outcome of a case, and make its sample for the log."""
        started, seconds, under = times
        usage, grader = under.usage, under.graders_usage
        withhold = self.work.cell.request.withhold
        error = None if isinstance(outcome, Score) else _error(outcome, withhold=withhold)
        self._count(outcome, usage, grader, error)
        kept = _BLANK.model_copy(
            update={
                "id": str(sample.id),
                "epoch": epoch,
                "input": sample.input,
                "target": sample.target,
                "messages": state.messages,
                "output": state.output,
                "scores": {self.work.scorer: outcome} if isinstance(outcome, Score) else None,
                "metadata": state.metadata,
                "store": dict(state.store.items()),
                "events": list(under.events),
                "model_usage": usage,
                "role_usage": {GRADER: grader} if grader is not None else {},
                "started_at": started,
                "completed_at": _now(),
                "total_time": seconds,
                "working_time": under.seconds,
                "uuid": uuid4().hex,
                "error": error,
                "attachments": {},
            }
        )
        return without_texts(kept, self.work.cell.model) if withhold else kept

    def _count(
        self,
        outcome: Score | Exception,
        usage: Mapping[str, ModelUsage],
        grader: ModelUsage | None,
        error: EvalError | None,
    ) -> None:
        sums = self._sums
        for model, used in usage.items():
            sums.usage[model] = sums.usage[model] + used if model in sums.usage else used
        if grader is not None:
            before = sums.graders.get(GRADER)
            sums.graders[GRADER] = grader if before is None else before + grader
        if isinstance(outcome, Score):
            sums.judged += 1
            for name, value in _numbers(outcome).items():
                sums.values.setdefault(name, []).append(value)
            return
        assert error is not None
        sums.failed += 1
        sums.errors[self.work.cell.model, logged_kind(error.message)] += 1
        if sums.failed >= FAIL_ON_ERROR * self.work.size and self._error is None:
            self._error = error

    def _results(self) -> EvalResults:
        """Results that Inspect's viewer shows above the samples: means, a first look only."""
        sums, names = self._sums, _METRICS[self.work.scorer]
        metrics = {
            shown: EvalMetric(name=f"casewise/{shown}", value=mean(sums.values.get(name, [])))
            for shown, name in names.items()
        }
        score = EvalScore(
            name=self.work.scorer,
            scorer=self.work.scorer,
            scored_samples=sums.judged,
            unscored_samples=self.work.size - sums.judged,
            metrics=metrics,
        )
        return EvalResults(
            total_samples=self.work.size, completed_samples=sums.judged, scores=[score]
        )


_BLANK = EvalSample.model_construct(id="", epoch=1, input="", target="")
"""Sample that each case copies: half the time of a new one goes to fields that stay None."""

_METRICS = {
    "read_answers": {"coverage": "read", "says_safe": "says_safe", "as_intended": "as_intended"},
    "grade_reply": {"graded": "graded", "refuses": "refusal"},
}
"""Inspect's metrics by scorer, and the numbers that they are the means of."""


def _numbers(score: Score) -> dict[str, float]:
    values = score.value if isinstance(score.value, Mapping) else {}
    return {name: float(value) for name, value in values.items() if isinstance(value, float)}


def _messages(sample: Sample) -> list[ChatMessage]:
    assert not isinstance(sample.input, str)
    return list(sample.input)


def _error(error: Exception, *, withhold: bool) -> EvalError:
    """An error as the log keeps it: without its traceback, which would hold what was asked."""
    message = redacted(str(getattr(error, "message", None) or repr(error)))
    if withhold:
        message = logged_kind(message).words
    return EvalError(message=message, traceback="", traceback_ansi="")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
