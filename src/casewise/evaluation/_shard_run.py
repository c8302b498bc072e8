"""Run one shard in this process: what a node of a cluster does, and what needs no cluster."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from inspect_ai import Task, eval
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.log import EvalLog
from inspect_ai.model import CachePolicy

from casewise.cases import address_of, is_elsewhere
from casewise.errors import UsageError
from casewise.evaluation._budget import Budget, within
from casewise.evaluation._cells import Cell
from casewise.evaluation._condition import settled
from casewise.evaluation._counted import Tokens, add_tokens, count, logs_of_shard
from casewise.evaluation._distributions import looked_up_once
from casewise.evaluation._faults import Faults, printable
from casewise.evaluation._frugal import frugally
from casewise.evaluation._judge import judge
from casewise.evaluation._models import plain
from casewise.evaluation._progress import Observer, observed_by
from casewise.evaluation._respond import respond
from casewise.evaluation._run import AHEAD, for_model, lean_options, leave_open, open_model
from casewise.evaluation._samples import task_metadata
from casewise.evaluation._shards import SHARD, SHARDS, Piece, sample_ids, with_cases, without_cases


@dataclass(frozen=True, slots=True)
class Base:
    """What all shards of a cell share: the cell without its cases, and what its log says of it."""

    cell: Cell
    identity: str
    metadata: dict[str, Any]
    folder: str
    """Where the logs of the whole run stand."""


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What became of a shard."""

    status: Literal["done", "error", "stopped"]
    reason: str
    """Why it is not done."""
    judged: int
    """Of its judgements, those that stand in its logs, earlier attempts included."""
    tokens: Tokens
    """In and out, of this attempt, by the model that used them."""
    given_up: tuple[str, ...] = ()
    """The reasons for which its model can't be used at all."""
    faults: Faults = field(default_factory=dict)
    """What went wrong with requests, where another process than the run's own met it."""


def base_of(cell: Cell, folder: Path) -> Base:
    """What the shards of a cell share."""
    condition = cell.planned.condition
    said = task_metadata(condition, cell.sampling, cell.draw)
    return Base(without_cases(cell), cell.identity, said, address_of(folder))


def run_shard(
    base: Base,
    piece: Piece,
    connections: int | None = None,
    observer: Observer | None = None,
    budget: Budget | None = None,
) -> ShardResult:
    """Ask what is open of a shard, and leave it in a log of its own.

    What an earlier attempt at it wrote is not asked again.

    Raises:
        ModelError: The model's client can't be made.
    """
    folder = f"{base.folder}/{SHARDS}/{piece.shard.key(base.identity)}"
    before = [count(log, base.cell) for log in logs_of_shard(folder)]
    part = piece.shard.part
    ids = sample_ids(with_cases(base.cell, piece, part.places).planned.condition)
    judged = set(ids) & {one for found in before for one, _ in found.judged}
    places = [place for place, one in zip(part.places, ids, strict=True) if one not in judged]
    if not places:
        return ShardResult("done", "", len(judged), {})
    if not is_elsewhere(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    cell = with_cases(base.cell, piece, places)
    task = _task(cell, base, piece, places)
    with (
        frugally(),
        observed_by(observer or (lambda _: None)) as given_up,
        within(budget),
        looked_up_once(),
    ):
        log = _eval(task, folder, connections)
    if log is None:
        return ShardResult("stopped", "", len(judged), {})
    if given_up:
        leave_open(log)
    found = count(log, cell)
    return ShardResult(
        status="error" if given_up else _STATUSES.get(log.status, "stopped"),
        reason=printable(log.error.message) if log.error is not None else "",
        judged=len(judged) + len(found.judged),
        tokens=add_tokens([found.tokens]),
        given_up=tuple(given_up),
    )


_STATUSES: dict[str, Literal["done", "error", "stopped"]] = {"success": "done", "error": "error"}


def _task(cell: Cell, base: Base, piece: Piece, places: Sequence[int]) -> Task:
    with settled(cell.planned.condition):
        task: Task = (respond if cell.acts else judge)(**cell.arguments)
    part = replace(piece.shard.part, places=tuple(places))
    task.version = base.cell.planned.version
    task.metadata = (task.metadata or {}) | base.metadata | {SHARD: part.as_metadata()}
    task = for_model(task, open_model(cell), cell, piece.shard.cell)
    # Its log counts from 1; which time it is stands in what it says of itself.
    task.epochs = 1
    if part.epoch > 1 and task.config.cache:
        # Or the answer of the first time would be taken again.
        task.config.cache = CachePolicy(scopes={"epoch": str(part.epoch)})
    return task


def _eval(task: Task, folder: str, connections: int | None) -> EvalLog | None:
    """The log's header; None where it was stopped before there was one."""
    try:
        logs = eval(
            task,
            log_dir=folder,
            log_header_only=True,
            max_connections=connections,
            max_samples=AHEAD * connections if connections else None,
            **lean_options(),
        )
    except PrerequisiteError as error:
        raise UsageError(plain(str(error.message))) from None
    except KeyboardInterrupt:
        return None
    return logs[0] if logs else None
