"""What of a plan a folder of logs holds: read from headers and summaries, without a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from inspect_ai.log import EvalLog

from casewise.errors import UsageError
from casewise.evaluation._budget import Budget, cost_of
from casewise.evaluation._cells import Cell
from casewise.evaluation._counted import (
    Counted,
    Judged,
    Tokens,
    add_tokens,
    count,
    headers_in,
)
from casewise.evaluation._plan import Prices
from casewise.evaluation._shards import part_of
from casewise.logs import RunKey


class State(StrEnum):
    """How far a model is under a condition."""

    DONE = "done"
    PARTLY = "partly"
    FAILED = "failed"
    """Given up after too many errors; the next start tries again what is not judged."""
    NOT_BEGUN = "not begun"


@dataclass(frozen=True, slots=True)
class CellState:
    """How far one model is under one condition."""

    state: State
    judged: int
    total: int
    """Judgements asked for: cases, as often as each is asked."""
    errors: int
    """Cases that ended in an error; of a cell that is done, they stay so."""
    tokens: Mapping[str, tuple[int, int]]
    """In and out, by the model that used them; a grader's stand apart."""
    log: Path | None
    """The log that holds the judgements; of shards, the latest."""
    settled: Judged = field(default_factory=set)
    """Samples, each with its epoch, that need not be asked again; empty where all is done."""
    run: str | None = None
    """The run that further shards would be parts of; None where nothing is begun."""
    in_shards: bool = False
    """Whether shards hold some of it."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a folder holds of a plan."""

    states: tuple[CellState, ...]
    """In the order of the cells."""
    others: tuple[str, ...]
    """Models and conditions of the folder that the plan has not."""

    @property
    def judged(self) -> int:
        """Judgements over all cells."""
        return sum(one.judged for one in self.states)

    def spent(self, cells: Sequence[Cell]) -> float:
        """Dollars that the judgements took, at the prices known."""
        return sum(
            cost_of(cell.prices.get(model, Prices()), *used)
            for cell, state in zip(cells, self.states, strict=True)
            for model, used in state.tokens.items()
        )


def read_done(cells: Sequence[Cell], log_dir: Path) -> Done:
    """Tell what of a plan is done; no log is changed, and none is waited for."""
    logs: dict[str, list[EvalLog]] = {}
    for log in headers_in(log_dir):
        logs.setdefault(RunKey.of_log(log).identity, []).append(log)
    keys = [cell.identity for cell in cells]
    states = tuple(_state(cell, logs.get(key, [])) for cell, key in zip(cells, keys, strict=True))
    others = [_title(found[0]) for key, found in logs.items() if key not in set(keys)]
    return Done(states, tuple(dict.fromkeys(others)))


def logs_of(cells: Sequence[Cell], log_dir: Path) -> tuple[Path, ...]:
    """Every log of a folder that belongs to the cells, in their order."""
    places = {cell.identity: place for place, cell in enumerate(cells)}
    found = [(places.get(RunKey.of_log(log).identity), log) for log in headers_in(log_dir)]
    own = sorted((place, log.location) for place, log in found if place is not None)
    return tuple(Path(location) for _, location in own)


def make_budget(cells: Sequence[Cell], done: Done, cap: float) -> Budget:
    """A budget that knows what was spent before.

    Raises:
        UsageError: The cap is no amount, or a model has no known price.
    """
    if not 0 <= cap < float("inf"):
        raise UsageError(f"--max-cost {cap}: give dollars, 0 or more")
    prices = {model: known for cell in cells for model, known in cell.prices.items()}
    unknown = [name for name, one in prices.items() if None in (one.input, one.output)]
    if unknown:
        raise UsageError(
            f"--max-cost needs the price of every model, and {', '.join(unknown)} has none that is "
            "known: give --price-in and --price-out (dollars a million tokens), or in a sweep's "
            "file price_in and price_out of the model"
        )
    # A whole batch is under way before the first answer says what it took.
    usual = [
        cell.estimate.cost_usd / cell.judgements
        for cell in cells
        if cell.request.batch and cell.estimate.cost_usd is not None and cell.judgements
    ]
    spent = done.spent(cells)
    return Budget(cap, spent, lambda name: prices.get(name, Prices()), max(usual, default=0.0))


def _title(log: EvalLog) -> str:
    said = log.eval.metadata or {}
    parts = [str(said.get("protocol")), str(said.get("delivery"))]
    parts += [f"without {said['ablation']}"] if said.get("ablation") else []
    parts += [str(said.get("variant")), str(said.get("dataset"))]
    return f"{log.eval.model}: {', '.join(parts)}"


def _state(cell: Cell, attempts: Sequence[EvalLog]) -> CellState:
    if not attempts:
        return CellState(State.NOT_BEGUN, 0, cell.judgements, 0, {}, None)
    counted = [(log, count(log, cell)) for log in attempts]
    if any(part_of(log) for log in attempts):
        return _state_of_parts(cell, counted)
    found = [_state_of(log, one, cell) for log, one in counted]
    # Each attempt's log begins with what the one before held.
    best = max(found, key=lambda one: (one.judged, one.state is State.DONE))
    latest = max(attempts, key=lambda log: log.eval.created)
    if best.state is not State.DONE and latest.status == "error":
        return replace(best, state=State.FAILED)
    return best


def _state_of(log: EvalLog, found: Counted, cell: Cell) -> CellState:
    """What one log holds."""
    judged, failed = len(found.judged), len(found.failed)
    whole = log.status == "success" and judged + failed >= cell.judgements
    state = State.DONE if whole else State.PARTLY if judged else State.NOT_BEGUN
    errors = failed if whole or log.status == "error" else 0
    return CellState(
        state,
        judged,
        cell.judgements,
        errors,
        found.tokens,
        Path(log.location),
        set() if whole else found.judged,
        log.eval.task_id,
    )


def _state_of_parts(cell: Cell, counted: Sequence[tuple[EvalLog, Counted]]) -> CellState:
    """What shards hold together, and a log that was begun whole, if they go on from one."""
    judged: Judged = set[tuple[str | int, int]]().union(*(one.judged for _, one in counted))
    stayed = [one.failed for log, one in counted if log.status == "success"]
    failed: Judged = set[tuple[str | int, int]]().union(*stayed) - judged
    settled = judged | failed
    latest = max((log for log, _ in counted), key=lambda log: log.eval.created)
    state = State.PARTLY if judged else State.NOT_BEGUN
    if len(settled) >= cell.judgements:
        state = State.DONE
    elif latest.status == "error":
        state = State.FAILED
    runs = sorted({part.run for log, _ in counted if (part := part_of(log)) is not None})
    # Over millions it would take gigabytes, for nothing.
    left = set() if state is State.DONE else settled
    tokens = add_tokens(_apart(counted))
    log = Path(latest.location)
    return CellState(
        state, len(judged), cell.judgements, len(failed), tokens, log, left, runs[0], True
    )


def _apart(counted: Sequence[tuple[EvalLog, Counted]]) -> list[Tokens]:
    """Tokens of every log, but of whole logs those of one: each holds what those before held."""
    whole = [one for log, one in counted if part_of(log) is None]
    parts = [one.tokens for log, one in counted if part_of(log) is not None]
    return [*parts, *([max(whole, key=lambda one: len(one.judged)).tokens] if whole else [])]
