"""One log while it grows: each of its cases is asked, read, and written as soon as it has ended."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from signal import SIGINT
from time import monotonic
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
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

from casewise.errors import ModelError
from casewise.evaluation.models._underway import Underway
from casewise.evaluation.models.faults import (
    FaultCounts,
    FaultObserver,
    failed,
    logged_kind,
    printable,
)
from casewise.evaluation.models.keys import make_redactor, redacted
from casewise.evaluation.models.patient import ModelLostError
from casewise.evaluation.plan._costs import Budget, SpentError, Tokens, tokens_of
from casewise.evaluation.runs.ending import Ending
from casewise.evaluation.runs.pieces import Piece
from casewise.evaluation.runs.spec import (
    FAIL_ON_ERROR,
    Clients,
    file_name,
    make_config,
    make_spec,
    make_steps,
    scorer_of,
)
from casewise.evaluation.tasks._asking import ask_unit, read_unit
from casewise.evaluation.tasks._samples import mean
from casewise.logs import CANCELLED, GRADER, LogStatus, LogWriter, without_texts
from casewise.protocols import Status

Observer = Callable[[Status], None]
"""Callback with the status of each judgement, and with ``error`` for each failed attempt at one."""

StopObserver = Callable[[Callable[[], object]], object]
"""Callback at the start with the function that stops the run, from any thread."""


def _ignore(_: Status) -> None:
    pass


def _ignore_line(_model: str, _sentence: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Observers:
    """Callbacks of a run."""

    judgement: Observer = _ignore
    fault: FaultObserver = _ignore_line
    """Called when a model meets a kind of fault for the first time."""
    outage: FaultObserver = _ignore_line
    """Called when a model gives no answers for a while, and when it answers again."""
    stop: StopObserver | None = None
    """Called with the function that stops the run, which then raises CancelledError; not on a
    cluster."""
    ending: Callable[[Ending], object] | None = None
    """Called with the end of a start that leaves something to judge."""
    signal: Callable[[], int] = lambda: SIGINT
    """Number of the signal that interrupted the run."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """State that all logs of one start share in one process."""

    observe: Observer = _ignore
    budget: Budget | None = None


@dataclass(slots=True)
class _State:
    """Conversation state of one case; see ``CaseState``."""

    messages: list[ChatMessage]
    metadata: dict[str, Any]
    output: ModelOutput = field(default_factory=ModelOutput)
    store: Store = field(default_factory=Store)


@dataclass(frozen=True, slots=True)
class PieceResult:
    """Result of a piece."""

    statuses: tuple[Status, ...] = ()
    """Status of each case that was asked on another node."""
    errors: FaultCounts = field(default_factory=Counter)
    """Cases that ended in an error, by model and kind."""
    faults: FaultCounts = field(default_factory=Counter)
    """Faults of its requests on another node, by model and kind."""
    failure: str | None = None
    """Reason why not all of it was judged; None where it was."""
    given_up: str | None = None
    """Reason why its model can't be used at all; None if it can."""
    tokens: Tokens = field(default_factory=dict)
    capped: bool = False
    """True if its share of the cap was spent."""


class PieceRun:
    """Run of a piece: its cases are asked in any order, and stand in one log.

    Args:
        piece: The cases.
        clients: Clients of their model and grader.
        folder: Folder of the log, a path or an address.
        context: State that the logs of the start share.
    """

    def __init__(self, piece: Piece, clients: Clients, folder: str, context: RunContext) -> None:
        cell = piece.cell
        condition = cell.planned.condition
        self.piece = piece
        self.clients = clients
        self.config = make_config(piece, clients.model)
        self.log: EvalLog | None = None
        """The log without samples; None until it is ended."""
        self.judged = 0
        self.errors: FaultCounts = Counter()
        """Cases that ended in an error, by model and kind."""
        self._folder = folder
        self._context = context
        tells, samples = condition.tells_context, cell.draw.samples
        self._ask = ask_unit(condition.protocol, samples, condition.tools, tells)
        self._writer: LogWriter | None = None
        self._left = piece.size
        self._error: EvalError | None = None
        self._stats = EvalStats()
        self._values: dict[str, list[float]] = {}

    async def ask(self, sample: Sample, epoch: int) -> None:
        """Ask one case, and write its sample.

        Raises:
            SpentError: All that the run may cost is spent.
            OSError: The log can't be written.
        """
        if self._error is None:
            kept = await self._judge(sample, epoch)
            if kept is not None:
                self._open().add(kept)
        self._left -= 1
        if not self._left:
            self.end("success" if self._error is None and self.given_up is None else "error")

    def end(self, status: LogStatus) -> None:
        """End the log; a second call does nothing.

        Raises:
            OSError: It can't be written.
        """
        if self.log is None:
            writer = self._open()
            self._stats.completed_at = _now()
            error = self._error if status == "error" else None
            self.log = writer.finish(status, self._results(), self._stats, error)

    def end_if_begun(self) -> None:
        """End a log that was begun, and left before its last case was asked."""
        if self._writer is not None:
            self.end("cancelled" if self._error is None else "error")

    def _open(self) -> LogWriter:
        """Writer of the log, which is begun when its first case is asked."""
        if self._writer is None:
            self._stats.started_at = _now()
            spec = make_spec(self.piece, self.clients.model)
            self._writer = LogWriter(
                f"{self._folder}/{file_name(spec)}",
                spec,
                make_steps(self.piece.cell, self.config),
                make_redactor(),
            )
        return self._writer

    @property
    def given_up(self) -> str | None:
        """Reason why its model can't be used any more; None if it can."""
        lost = (client.server.lost for client in self.clients.all)
        return next(filter(None, lost), None)

    @property
    def failure(self) -> str | None:
        """Reason why not all of it was judged; None where it was."""
        if self.given_up is not None or self.log is None or self.log.status == "success":
            return self.given_up
        why = printable(self.log.error.message) if self.log.error else self.log.status
        return f"{self.piece.cell.model}: {why}"

    @property
    def result(self) -> PieceResult:
        """Its result so far, without what the observers of its process see of it."""
        # Tokens are those of failed attempts too.
        tokens = tokens_of(self._stats.model_usage)
        return PieceResult(
            errors=self.errors, failure=self.failure, given_up=self.given_up, tokens=tokens
        )

    async def _judge(self, sample: Sample, epoch: int) -> EvalSample | None:
        """Ask a case; how often a request is repeated, the table of faults says.

        Returns:
            The sample; None where no answer came before its model was left.
        """
        self._open()
        begun, started = monotonic(), _now()
        under = Underway(self.piece.cell.usual)
        assert not isinstance(sample.input, str)
        state = _State(list(sample.input), sample.metadata or {})
        outcome: Score | EvalError
        try:
            outcome = await self._ask_and_read(sample, state, under)
        except SpentError:
            raise
        except ModelLostError:
            if not under.answers:
                return None
            # What they took is counted; its case is asked again.
            outcome = EvalError(message=CANCELLED, traceback="", traceback_ansi="")
        except Exception as error:
            outcome = _error(error, withhold=self.piece.cell.request.withhold)
            self._context.observe(Status.ERROR)
            server = self.clients.model.server
            if isinstance(error, ModelError) and not server.is_proven:
                # It can't do what the protocol needs: what follows would fail alike.
                server.lose(str(error))
        self._count(outcome, under)
        is_judged = isinstance(outcome, Score)
        sampled = EvalSample(
            id=str(sample.id),
            epoch=epoch,
            input=sample.input,
            target=sample.target,
            messages=state.messages,
            output=state.output,
            scores={scorer_of(self.piece.cell): outcome} if isinstance(outcome, Score) else None,
            metadata=state.metadata,
            store=dict(state.store.items()),
            model_usage=under.usage,
            role_usage={GRADER: used} if (used := under.graders_usage) is not None else {},
            started_at=started,
            completed_at=_now(),
            total_time=monotonic() - begun,
            working_time=under.seconds,
            uuid=uuid4().hex,
            error=None if is_judged else outcome,
        )
        if self.piece.cell.request.withhold:
            return without_texts(sampled, self.piece.cell.model)
        return sampled

    async def _ask_and_read(self, sample: Sample, state: _State, under: Underway) -> Score:
        context, clients, cell = self._context, self.clients, self.piece.cell
        self._check()
        if context.budget is not None:
            await context.budget.admit(under)
        judged = False
        try:
            model = under.noted(clients.model)
            grader = under.noted(clients.grader, is_grader=True) if clients.grader else None
            await self._ask(state, model, self.config)
            clients.model.server.is_proven = True
            read = read_unit(cell.planned.condition.protocol, cell.request.grader, grader)
            score = await read(state, str(sample.target), model)
            judged = True
        finally:
            if context.budget is not None:
                context.budget.end(under, judged=judged)
        context.observe(Status((score.metadata or {})["status"]))
        return score

    def _check(self) -> None:
        """Raise ``ModelLostError`` if the model or its grader was given up."""
        for client in self.clients.all:
            client.server.check()

    def _count(self, outcome: Score | EvalError, under: Underway) -> None:
        """Count the outcome and the tokens of a case, for the header."""
        _add(self._stats.model_usage, under.usage)
        if (used := under.graders_usage) is not None:
            _add(self._stats.role_usage, {GRADER: used})
        if isinstance(outcome, Score):
            self.judged += 1
            values = outcome.value if isinstance(outcome.value, Mapping) else {}
            for name, value in values.items():
                if isinstance(value, float):
                    self._values.setdefault(name, []).append(value)
            return
        if outcome.message == CANCELLED:
            return
        self.errors[self.piece.cell.model, logged_kind(outcome.message)] += 1
        if self.errors.total() >= FAIL_ON_ERROR * self.piece.size and self._error is None:
            self._error = outcome

    def _results(self) -> EvalResults:
        """Results that Inspect's viewer shows above the samples: means, a first look only."""
        scorer, size = scorer_of(self.piece.cell), self.piece.size
        metrics = {
            shown: EvalMetric(name=f"casewise/{shown}", value=mean(self._values.get(name, [])))
            for shown, name in _METRICS[scorer].items()
        }
        score = EvalScore(
            name=scorer,
            scorer=scorer,
            scored_samples=self.judged,
            unscored_samples=size - self.judged,
            metrics=metrics,
        )
        return EvalResults(total_samples=size, completed_samples=self.judged, scores=[score])


_METRICS = {
    "read_answers": {"coverage": "read", "says_safe": "says_safe", "as_intended": "as_intended"},
    "grade_reply": {"graded": "graded", "refuses": "refusal"},
}
"""Inspect's metrics by scorer, and the numbers that they are the means of."""


def _add(sums: dict[str, ModelUsage], usage: Mapping[str, ModelUsage]) -> None:
    for model, used in usage.items():
        sums[model] = sums[model] + used if model in sums else used


def _error(error: Exception, *, withhold: bool) -> EvalError:
    """An error as the log keeps it: without its traceback, which would hold what was asked."""
    message = str(error) if isinstance(error, ModelError) else failed(error).message
    message = redacted(message)
    if withhold:
        message = logged_kind(message).words
    return EvalError(message=message, traceback="", traceback_ansi="")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
