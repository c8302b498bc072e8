"""A run cut into shards: some cases of one model under one condition, with logs of their own.

A shard's log names the run that it is a part of, and the place of each of its cases in the whole.
So whoever reads a folder puts the parts together again, whatever wrote them, in whatever order,
and however often.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from uuid import uuid4

from casewise.cases import Case, digest
from casewise.evaluation._cells import Cell
from casewise.evaluation._condition import Condition
from casewise.evaluation._samples import script_id
from casewise.logs import Asked, Part

SMALLEST, LARGEST = 50, 1000
"""Judgements of a shard: below, starting it takes longer than asking; above, a lost one is dear."""

PER_SLOT = 4
"""Shards for each that runs at once, so that the last ones end together."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Some cases of one cell, asked once each."""

    cell: int
    """The place of its cell in the run."""
    part: Part

    @property
    def size(self) -> int:
        """Judgements."""
        return len(self.part.places)

    def key(self, identity: str) -> str:
        """The name of its folder: the same cases again are the same shard."""
        made_of = (identity, self.part.run, str(self.part.epoch), str(self.part.places))
        return f"{self.cell:03}-{self.part.epoch}-{self.part.places[0]:07}-{digest(*made_of)}"


def sample_ids(condition: Condition) -> list[str]:
    """The ids of a condition's samples, in their order."""
    ids = [case.id for case in condition.cases]
    return [*ids, script_id(condition.script.name)] if condition.script is not None else ids


def new_run() -> str:
    """A name for a run that is begun in shards."""
    return f"shards-{uuid4().hex[:16]}"


def shard_size(judgements: int, slots: int) -> int:
    """Judgements of a shard, where nobody says."""
    wanted = -(-judgements // (PER_SLOT * max(1, slots)))
    return min(LARGEST, max(SMALLEST, wanted))


def cut(cell: Cell, number: int, run: str, settled: Set[Asked], size: int) -> Iterator[Shard]:
    """The shards of what is open in a cell, neighbours together.

    Args:
        cell: The model under a condition.
        number: Its place in the run.
        run: The run that the shards are parts of.
        settled: Samples with their epochs that aren't asked again.
        size: The most judgements of a shard.
    """
    ids = sample_ids(cell.planned.condition)
    for epoch in range(1, cell.request.epochs + 1):
        places = [place for place, one in enumerate(ids) if (one, epoch) not in settled]
        for start in range(0, len(places), size):
            part = Part(run, epoch, tuple(places[start : start + size]), cell.judgements)
            yield Shard(number, part)


@dataclass(frozen=True, slots=True)
class Piece:
    """What a shard asks, to be sent to wherever it is run."""

    shard: Shard
    cases: tuple[Case, ...]
    scripted: bool
    """Whether the conversation of a deployment's script is in it, after the cases."""


def piece_of(shard: Shard, condition: Condition) -> Piece:
    """A shard with its cases."""
    cases = [condition.cases[place] for place in shard.part.places if place < len(condition.cases)]
    return Piece(shard, tuple(cases), len(cases) < shard.size)


def without_cases(cell: Cell) -> Cell:
    """A cell that is light to send: its cases travel with their shards."""
    condition = cell.planned.condition
    # Kept with the cases gone.
    data = replace(condition.data, cases=())
    data.__dict__["hash"] = condition.data.hash
    ablation = condition.ablation and replace(condition.ablation, cases=())
    light = replace(condition, cases=(), data=data, ablation=ablation)
    return replace(cell, planned=replace(cell.planned, condition=light))


def with_cases(cell: Cell, piece: Piece, places: Sequence[int]) -> Cell:
    """A light cell with those cases of a piece that stand at the places of the whole."""
    condition = cell.planned.condition
    wanted = set(places)
    own = zip(piece.shard.part.places, piece.cases, strict=False)
    cases = tuple(case for place, case in own if place in wanted)
    scripted = piece.scripted and piece.shard.part.places[-1] in wanted
    asked = replace(condition, cases=cases, script=condition.script if scripted else None)
    return replace(cell, planned=replace(cell.planned, condition=asked))


def cell_of_shard(cell: Cell, shard: Shard) -> Cell:
    """A whole cell with the cases of a shard alone."""
    return with_cases(cell, piece_of(shard, cell.planned.condition), shard.part.places)
