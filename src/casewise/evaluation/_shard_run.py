"""Run one shard in this process: what a node of a cluster does."""

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from casewise.cases import address_of, is_elsewhere
from casewise.evaluation._cells import Cell
from casewise.evaluation._done import Tokens, hold
from casewise.evaluation._faults import Faults, printable
from casewise.evaluation._samples import task_metadata
from casewise.evaluation._shards import Piece, sample_ids, with_cases, without_cases
from casewise.evaluation.executor import (
    Observer,
    RunContext,
    ShardRun,
    ask_all,
    make_work,
    open_clients,
)
from casewise.logs import SHARDS, LogFolder


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
    base: Base, piece: Piece, connections: int | None = None, observer: Observer | None = None
) -> ShardResult:
    """Ask what is open of a shard, and leave it in a log of its own.

    What an earlier attempt at it wrote is not asked again.

    Raises:
        ModelError: The model's client can't be made.
    """
    folder = f"{base.folder}/{SHARDS}/{piece.shard.key(base.identity)}"
    before = [hold(header, base.cell) for header in LogFolder(Path(folder)).headers()]
    part = piece.shard.part
    ids = sample_ids(with_cases(base.cell, piece, part.places).planned.condition)
    judged = set(ids) & {case for found in before for case, _ in found.attempts.judged}
    places = [place for place, one in zip(part.places, ids, strict=True) if one not in judged]
    if not places:
        return ShardResult("done", "", len(judged), {})
    if not is_elsewhere(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    cell = with_cases(base.cell, piece, places)
    cell = replace(cell, request=replace(cell.request, max_connections=connections))
    work = make_work(
        cell,
        piece.shard.cell,
        open_clients(cell),
        replace(part, places=tuple(places)),
        said=base.metadata,
    )
    run = ShardRun(work, folder, RunContext() if observer is None else RunContext(observer))
    with suppress(KeyboardInterrupt):
        ask_all([run])
    outcome = run.outcome
    if outcome is None:
        return ShardResult("stopped", "", len(judged), {})
    log = outcome.log
    return ShardResult(
        status={"success": "done", "error": "error"}.get(log.status, "stopped"),  # type: ignore[arg-type]
        reason=printable(log.error.message) if log.error is not None else "",
        judged=len(judged) + outcome.judged,
        tokens=outcome.tokens,
        given_up=() if outcome.given_up is None else (outcome.given_up,),
    )
