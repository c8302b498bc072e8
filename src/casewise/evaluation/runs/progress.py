"""Progress of a plan in a folder of logs, read from headers and summaries, without a model."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from casewise.errors import InputError, UsageError
from casewise.evaluation.models.faults import FaultCounts, FaultKind, logged_kind
from casewise.evaluation.plan._costs import Budget, Tokens, cost_of, tokens_of
from casewise.evaluation.plan._plan import Cell
from casewise.files import address_of
from casewise.logs import (
    REDACTED,
    Asked,
    Attempts,
    LogFolder,
    LoggedRun,
    LogHeader,
    counting,
    read_records,
    runs_of,
)


class Stage(StrEnum):
    """Stage of a model under a condition."""

    DONE = "done"
    PARTLY = "partly"
    FAILED = "failed"
    """Given up after too many errors; the next start tries again what is not judged."""
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True)
class CellState:
    """State of one model under one condition."""

    state: Stage
    judged: int
    total: int
    """Judgements asked for: cases, as often as each is asked."""
    errors: int = 0
    """Cases that ended in an error; of a cell that is done, they stay so."""
    tokens: Tokens = field(default_factory=dict)
    """Tokens by model; a grader's stand under its own name."""
    log: Path | None = None
    """Latest log that holds the judgements."""
    kinds: Mapping[FaultKind, int] = field(default_factory=dict)
    """Number of the errors that stay, by kind."""
    finished: Set[Asked] = field(default_factory=set)
    """Samples, each with its epoch, that need not be asked again; empty where all is done."""
    run: str | None = None
    """Id of the run that further logs would be parts of; None where nothing is begun."""
    in_shards: bool = False
    """True if logs that are parts hold some of it."""


@dataclass(frozen=True, slots=True)
class Done:
    """Progress of a plan in a folder."""

    states: tuple[CellState, ...]
    """States in the order of the cells."""
    others: tuple[str, ...]
    """Models and conditions that the folder holds and the plan does not."""

    def errors(self, cells: Sequence[Cell]) -> FaultCounts:
        """Number of cases whose errors stay, by model and kind."""
        counts: FaultCounts = Counter()
        for cell, state in zip(cells, self.states, strict=True):
            counts.update({(cell.model, kind): number for kind, number in state.kinds.items()})
        return counts

    @property
    def judged(self) -> int:
        """Judgements over all cells."""
        return sum(state.judged for state in self.states)

    def spent(self, cells: Sequence[Cell]) -> float:
        """Dollars that the requests took, at known prices; an unknown price counts as nothing."""
        pairs = zip(cells, self.states, strict=True)
        return sum(cost_of(state.tokens, cell.prices) for cell, state in pairs)


def read_done(cells: Sequence[Cell], log_dir: Path | LogFolder) -> Done:
    """Read the progress of a plan; no log is changed, and none is waited for.

    Args:
        cells: The plan.
        log_dir: The folder; one that was read before is read again only where it has changed.

    Raises:
        UsageError: The texts of its logs were removed, so that nothing can be added to them.
    """
    headers: dict[str, list[LogHeader]] = {}
    folder = LogFolder.at(log_dir)
    for header in folder.headers():
        if header.metadata.get(REDACTED):
            raise UsageError(
                f"{address_of(folder.path)} holds logs without their texts (casewise export "
                "--to redacted-logs): a run can't go on there; give another --log-dir"
            )
        headers.setdefault(header.key.identity, []).append(header)
    keys = [cell.identity for cell in cells]
    states = tuple(
        _state(cell, runs_of(headers.get(key, []))) for cell, key in zip(cells, keys, strict=True)
    )
    others = [title_of(logs[0]) for key, logs in headers.items() if key not in set(keys)]
    return Done(states, tuple(dict.fromkeys(others)))


def title_of(header: LogHeader) -> str:
    """A log's model, condition and data set."""
    return f"{header.condition.title} over {header.metadata.get('dataset')}"


def make_budget(cells: Sequence[Cell], done: Done, cap: float) -> Budget:
    """Make a budget that counts what earlier starts spent.

    Raises:
        UsageError: The cap is no amount, or a model has no known price.
    """
    if not 0 <= cap < float("inf"):
        raise UsageError(f"--max-cost {cap}: give dollars, 0 or more")
    prices = {model: known for cell in cells for model, known in cell.prices.items()}
    unknown = [name for name, known in prices.items() if None in (known.input, known.output)]
    if unknown:
        raise UsageError(
            f"--max-cost needs the price of every model, and {', '.join(unknown)} has none that is "
            "known: give --price-in and --price-out (dollars a million tokens; a grader's are "
            "--grader-price-in and --grader-price-out), or in a sweep's file price_in and "
            "price_out of the model"
        )
    # A whole batch is under way before the first answer says what it took.
    usual = [
        cell.cost_usd / cell.judgements
        for cell in cells
        if cell.request.batch and cell.cost_usd is not None and cell.judgements
    ]
    return Budget(cap, done.spent(cells), prices, max(usual, default=0.0))


def _state(cell: Cell, runs: Sequence[LoggedRun]) -> CellState:
    states = [_state_of(run, cell) for run in runs]
    begun = CellState(Stage.NOT_BEGUN, 0, cell.judgements)
    return max(states, key=lambda one: (one.judged, one.state is Stage.DONE), default=begun)


def _state_of(run: LoggedRun, cell: Cell) -> CellState:
    held = [_Held.of(header, cell) for header in run.logs]
    counted = counting([log.attempts for log in held])
    # Another start may have had more cases.
    wanted = set(cell.planned.condition.sample_ids)
    judged = {asked for log in counted for asked in log.judged if asked[0] in wanted}
    stayed = {asked for log in counted for asked in log.stayed if asked[0] in wanted}
    latest = run.logs[-1]
    done = len(judged) + len(stayed) >= cell.judgements
    failed = not done and latest.log.status == "error"
    begun = Stage.PARTLY if judged else Stage.NOT_BEGUN
    return CellState(
        state=Stage.DONE if done else Stage.FAILED if failed else begun,
        judged=len(judged),
        total=cell.judgements,
        errors=len(stayed) + sum(len(attempts.open) for attempts in counted if failed),
        tokens=_tokens_of(run, held),
        log=latest.path,
        kinds=Counter(
            kind
            for log, counts in zip(held, counted, strict=True)
            for asked, kind in log.errors.items()
            if asked in counts.stayed
        ),
        # Over millions it would take gigabytes, for nothing.
        finished=set() if done else judged | stayed,
        run=run.first.run,
        in_shards=any(header.part is not None for header in run.logs),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """Part of a cell that one log holds."""

    attempts: Attempts
    tokens: Tokens
    errors: Mapping[Asked, FaultKind] = field(default_factory=dict)
    """Kinds of the errors that cases ended in."""

    @classmethod
    def of(cls, header: LogHeader, cell: Cell) -> "_Held":
        """Part that a log holds; epochs that the cell doesn't ask for are left out."""
        epochs = range(1, cell.request.epochs + 1)
        if header.part is not None and header.all_judged:
            attempts = Attempts.of_header(header) if header.part.epoch in epochs else Attempts()
            return cls(attempts, tokens_of(header.log.stats.model_usage))
        try:
            records = [record for record in read_records(header) if record.epoch in epochs]
        except InputError:  # cut short: a start sets it aside
            records = []
        errors = {
            (record.case, record.epoch): logged_kind(record.error)
            for record in records
            if record.error is not None
        }
        tokens = _sum_of(tokens_of(record.usage) for record in records)
        return cls(Attempts.of_records(header, records), tokens, errors)


def _tokens_of(run: LoggedRun, held: Sequence[_Held]) -> Tokens:
    """Tokens of all parts, and of the whole log with the most judgements: it holds the others'."""
    logs = list(zip(run.logs, held, strict=True))
    whole = [log for header, log in logs if header.part is None]
    parts = [log.tokens for header, log in logs if header.part is not None]
    most = max(whole, key=lambda log: len(log.attempts.judged), default=None)
    return _sum_of([*parts, *([most.tokens] if most is not None else [])])


def _sum_of(parts: Iterable[Tokens]) -> Tokens:
    total: dict[str, tuple[int, int]] = {}
    for part in parts:
        for model, (asked, answered) in part.items():
            before = total.get(model, (0, 0))
            total[model] = (before[0] + asked, before[1] + answered)
    return total
