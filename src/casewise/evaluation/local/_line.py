"""Requests that wait, in the order of their texts."""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Generic, TypeVar

Key = str | tuple[int, ...]
"""What a request says, as text or tokens; in one line all are of one kind."""

Item = TypeVar("Item")


def common_prefix(one: Sequence[object], other: Sequence[object]) -> int:
    """How many elements two texts share from their beginnings on."""
    shorter = min(len(one), len(other))
    for place in range(shorter):
        if one[place] != other[place]:
            return place
    return shorter


@dataclass(frozen=True, slots=True)
class Batch:
    """How much may be answered at once."""

    most: int = 1
    """Requests."""
    elements: int = 0
    """Letters or tokens, each request counted as long as the longest."""


class Line(Generic[Item]):
    """Items that wait under keys.

    Next comes what has the longest beginning in common with the last; of several, the first. A
    tree of beginnings is so walked branch by branch: where all items wait, each beginning is met
    once, and where some come late, as much is shared as those that wait allow.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Key, int, Item]] = []
        self._added = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __iter__(self) -> Iterator[Item]:
        return (item for _, _, item in self._waiting)

    def add(self, key: Key, item: Item) -> None:
        """Let an item wait; those with one key come in the order in which they were added."""
        insort(self._waiting, (key, self._added, item), key=itemgetter(0, 1))
        self._added += 1

    def drop(self, unwanted: Callable[[Item], bool]) -> None:
        """Let items go that nobody waits for any more."""
        self._waiting = [one for one in self._waiting if not unwanted(one[2])]

    def take(self, last: Key | None, batch: Batch = Batch()) -> list[Item]:
        """Take what comes after the key that was last: one item, or as many as a batch allows.

        A batch is filled with the items whose lengths are nearest to the first one's.
        """
        place = 0 if last is None else self._after(last)
        key, _, first = self._waiting.pop(place)
        taken = [first]
        if batch.most > 1:
            length = len(key)
            near = sorted(self._waiting, key=lambda one: abs(len(one[0]) - length))
            longest = length
            for one in near:
                longest = max(longest, len(one[0]))
                if len(taken) == batch.most or longest * (len(taken) + 1) > batch.elements:
                    break
                self._waiting.remove(one)
                taken.append(one[2])
        return taken

    def _after(self, last: Key) -> int:
        def place_of(key: Key) -> int:
            return bisect_left(self._waiting, key, key=itemgetter(0))

        # The nearest in order share most: one of the two beside the last key's place.
        here = place_of(last)
        beside = self._waiting[max(0, here - 1) : here + 1]
        shared = max(common_prefix(last, key) for key, _, _ in beside)
        return place_of(last[:shared])
