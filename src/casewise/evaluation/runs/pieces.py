"""Pieces of a run: cases of one model under one condition that one log holds.

A short run is one log. Of a longer one, and of what an earlier start left open, each log names the
run that it is a part of, and the place of each of its cases in the whole. So whoever reads a folder
puts the parts together again, whatever wrote them, in whatever order, and however often.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample

from casewise.cases import digest
from casewise.evaluation.plan._plan import Cell
from casewise.evaluation.runs.progress import CellState, Stage
from casewise.evaluation.tasks._samples import samples_of, task_metadata
from casewise.logs import Part

LARGEST = 1000
"""Most judgements of a log."""

LARGEST_FAR = 100
"""Most judgements of a log on another machine, where it is written when it ends: so many are asked
again after a kill."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Cases that one log holds."""

    cell: Cell
    """The model and its condition, with these cases alone: it is light to send to another node."""
    order: int
    """Place of the cell in the run, by which readers of its logs put them in order."""
    metadata: dict[str, Any]
    """Metadata of the condition, made while all of its cases were at hand."""
    run: str
    """Id of the run, which all of its logs share."""
    part: Part | None
    """Part of the run; None of a log that is whole by itself."""

    @property
    def epochs(self) -> range:
        """Epochs as the log counts them, from 1."""
        return range(1, 2 if self.part is not None else self.cell.request.epochs + 1)

    @property
    def size(self) -> int:
        """Number of judgements."""
        return self.cell.planned.condition.size * len(self.epochs)

    @property
    def key(self) -> str:
        """Name of its folder where it is written apart: the same cases again have the same."""
        places = str(self.part and (self.part.epoch, self.part.places))
        return f"{self.order:03}-{digest(self.cell.identity, self.run, places)}"

    def samples(self) -> Iterator[tuple[Sample, int]]:
        """Each case with its epoch, made when it is asked for."""
        for epoch in self.epochs:
            for sample in samples_of(self.cell.planned.condition, self.cell.draw):
                yield sample, epoch


def open_pieces(cell: Cell, order: int, state: CellState, size: int) -> Iterator[Piece]:
    """Cut the open cases of a cell into pieces, neighbours together.

    Args:
        cell: The model under a condition.
        order: Its place in the run.
        state: Progress of earlier starts.
        size: Most judgements of a piece.
    """
    if state.state is Stage.DONE:
        return
    ids = cell.planned.condition.sample_ids
    metadata = task_metadata(cell.planned.condition, cell.sampling, cell.draw)
    if not state.finished and not state.in_shards and cell.judgements <= size:
        whole = _cell_of(cell, range(len(ids)))
        yield Piece(whole, order, metadata, state.run or uuid4().hex, None)
        return
    run = state.run or f"shards-{uuid4().hex[:16]}"
    for epoch in range(1, cell.request.epochs + 1):
        open_ = [place for place, id in enumerate(ids) if (id, epoch) not in state.finished]
        for start in range(0, len(open_), size):
            places = open_[start : start + size]
            part = Part(run, epoch, tuple(places), cell.judgements)
            yield Piece(_cell_of(cell, places), order, metadata, run, part)


def _cell_of(cell: Cell, places: Sequence[int]) -> Cell:
    """A cell with the cases at some places of its condition alone."""
    condition = cell.planned.condition
    units = condition.units
    # The hash is that of all cases, and can't be made without them.
    data = replace(condition.data, cases=())
    data.__dict__["hash"] = condition.data.hash
    part = replace(
        condition,
        data=data,
        ablation=condition.ablation and replace(condition.ablation, cases=()),
        units=tuple(units[place] for place in places if place < len(units)),
        script=condition.script if places and places[-1] == len(units) else None,
    )
    return replace(cell, planned=replace(cell.planned, condition=part))
