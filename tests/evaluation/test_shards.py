"""Cutting a run into shards, and putting the parts together again, without a cluster."""

from collections.abc import Mapping, Sequence, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from casewise.evaluation import Cell, Prices, RunRequest, make_plan
from casewise.evaluation.executor._cluster import LostError, ShardQueue, ShardResult
from casewise.evaluation.executor._shards import (
    Piece,
    cut,
    sample_ids,
)
from casewise.evaluation.plan._costs import Budget
from casewise.protocols import Status

PRICES = Prices(1000.0, 1000.0)
"""Of a judgement of 100 tokens, $0.10."""


def cell_of(model: str = "mockllm/model") -> Cell:
    request = RunRequest(model=(model,), protocol=("binary",), epochs=2, prices=PRICES)
    (cell,) = make_plan(request).cells
    return cell


CELL = cell_of()
IDS = sample_ids(CELL.planned.condition)


@given(st.sets(st.tuples(st.sampled_from(IDS), st.integers(1, 2))), st.integers(1, 70))
def test_shards_hold_each_open_case_once(settled: set[tuple[str, int]], size: int) -> None:
    shards = list(cut(CELL, 0, "run", {*settled}, size))
    held = [(IDS[place], one.part.epoch) for one in shards for place in one.part.places]
    assert len(held) == len(set(held))
    assert set(held) == {(one, epoch) for one in IDS for epoch in (1, 2)} - settled
    assert all(1 <= one.size <= size for one in shards)
    assert all(list(one.part.places) == sorted(one.part.places) for one in shards)


class MemoryPool:
    """Judges in memory; loses what it is told to, and knows what was asked at once."""

    def __init__(self, slots: int, lost: int = 0) -> None:
        self.asked: list[Piece] = []
        self._slots = slots
        self._lost = lost
        self._running: dict[int, Piece] = {}

    def slots(self, cell: int) -> int:
        return self._slots

    def submit(self, number: int, piece: Piece, connections: int | None) -> int:
        self.asked.append(piece)
        self._running[len(self.asked)] = piece
        return len(self.asked)

    def wait(self, running: Sequence[int], seconds: float) -> Sequence[int]:
        return [running[0]]

    def result(self, work: int) -> ShardResult:
        piece = self._running.pop(work)
        if self._lost:
            self._lost -= 1
            raise LostError("the node is gone")
        size = piece.shard.size
        return ShardResult("done", "", size, {"mockllm/model": (50 * size, 50 * size)})

    def keep(self, models: Set[str]) -> None:
        """Nothing is kept."""

    def counts(self) -> Mapping[int, Mapping[str, int]]:
        return {}

    def stop(self) -> None:
        """Nothing goes on."""


def queue_of(
    pool: MemoryPool, size: int, budget: Budget | None = None
) -> tuple[ShardQueue[int], list[Status]]:
    told: list[Status] = []
    shards = list(cut(CELL, 0, "run", set(), size))
    queue = ShardQueue([CELL], shards, pool, told.append, budget)
    queue.run()
    return queue, told


def test_lost_shards_are_asked_again() -> None:
    pool = MemoryPool(slots=3, lost=2)
    queue, told = queue_of(pool, 20)
    # 56 cases twice, by 20: three shards for each time, two of them begun anew.
    assert len(pool.asked) == 6 + 2
    assert (len(told), queue.failures) == (112, {})


def test_a_shard_that_is_always_lost_is_told() -> None:
    queue, told = queue_of(MemoryPool(slots=1, lost=1000), 112)
    assert told == []
    assert list(queue.failures) == ["mockllm/model: a shard was lost 6 times (the node is gone)"]


def test_shards_are_cut_to_fit_a_cap() -> None:
    budget = Budget(6.0, 0.0, {"mockllm/model": PRICES})
    _, told = queue_of(MemoryPool(slots=2), 20, budget)
    assert budget.stopped
    # By the price of the first answers, ten cents each, sixty may be asked.
    assert len(told) <= 60
    assert budget.spent == pytest.approx(0.1 * len(told))
    assert budget.spent > 5.0
