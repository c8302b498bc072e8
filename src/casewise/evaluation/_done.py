"""What of a plan a folder of logs holds: read from headers and summaries, without a model."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from inspect_ai.log import (
    EvalLog,
    EvalSampleSummary,
    read_eval_log,
    read_eval_log_sample_summaries,
)

from casewise.errors import UsageError
from casewise.evaluation._budget import Budget, cost_of, input_tokens
from casewise.evaluation._cells import Cell, identity_of
from casewise.evaluation._plan import Prices


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
    """The log that holds the judgements."""


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
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    logs: dict[str, list[EvalLog]] = {}
    for path in sorted(log_dir.glob("*.eval")):
        log = _header(path)
        if log is not None:
            logs.setdefault(_identity(log), []).append(log)
    keys = [cell.identity for cell in cells]
    states = tuple(_state(cell, logs.get(key, [])) for cell, key in zip(cells, keys, strict=True))
    others = [_title(found[0]) for key, found in logs.items() if key not in set(keys)]
    return Done(states, tuple(dict.fromkeys(others)))


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
    return Budget(cap, done.spent(cells), lambda name: prices.get(name, Prices()))


def _header(path: Path) -> EvalLog | None:
    """A log's header; None of what is cut short, or of another task."""
    try:
        log = read_eval_log(str(path), header_only=True)
    except Exception:
        return None
    log.location = str(path)
    return log if "casewise" in (log.eval.metadata or {}) else None


def _identity(log: EvalLog) -> str:
    spec = log.eval
    return identity_of(
        spec.task,
        spec.task_version,
        spec.model,
        spec.task_args_passed,
        spec.model_args,
        log.plan.config.seed,
    )


def _title(log: EvalLog) -> str:
    said = log.eval.metadata or {}
    parts = [str(said.get("protocol")), str(said.get("delivery"))]
    parts += [f"without {said['ablation']}"] if said.get("ablation") else []
    parts += [str(said.get("variant")), str(said.get("dataset"))]
    return f"{log.eval.model}: {', '.join(parts)}"


def _state(cell: Cell, attempts: Sequence[EvalLog]) -> CellState:
    total = cell.judgements
    found = [_count(log, cell) for log in attempts]
    if not found:
        return CellState(State.NOT_BEGUN, 0, total, 0, {}, None)
    # Each attempt's log begins with what the one before held.
    best = max(found, key=lambda one: (one.judged, one.state is State.DONE))
    latest = max(attempts, key=lambda log: log.eval.created)
    if best.state is not State.DONE and latest.status == "error":
        return CellState(State.FAILED, best.judged, total, best.errors, best.tokens, best.log)
    return best


def _count(log: EvalLog, cell: Cell) -> CellState:
    """What one log holds."""
    path = Path(log.location)
    samples = [one for one in _summaries(path) if one.epoch <= cell.request.epochs]
    judged = {(one.id, one.epoch) for one in samples if one.error is None and one.scores}
    failed = {(one.id, one.epoch) for one in samples if one.error is not None} - judged
    whole = log.status == "success" and len(judged) + len(failed) >= cell.judgements
    state = State.DONE if whole else State.PARTLY if judged else State.NOT_BEGUN
    tokens = _tokens(samples, cell)
    errors = len(failed) if whole or log.status == "error" else 0
    return CellState(state, len(judged), cell.judgements, errors, tokens, path)


def _summaries(path: Path) -> list[EvalSampleSummary]:
    try:
        return read_eval_log_sample_summaries(str(path))
    except Exception:
        return []


def _tokens(samples: Iterable[EvalSampleSummary], cell: Cell) -> dict[str, tuple[int, int]]:
    used: dict[str, tuple[int, int]] = dict.fromkeys(cell.prices, (0, 0))
    for sample in samples:
        for model, usage in sample.model_usage.items():
            asked, answered = used.get(model, (0, 0))
            used[model] = (asked + input_tokens(usage), answered + usage.output_tokens)
    return used
