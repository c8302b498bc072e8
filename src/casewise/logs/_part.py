"""Which part of a run a log is."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

SHARD = "shard"
"""Where a log's metadata says which part of a run it is."""

SHARDS = "shards"
"""The folder of shards within a folder of logs, where a cluster writes; each has a folder in it."""

OURS = ".casewise"
"""Folder within a log folder: the lock, answers that no log holds yet, and the last start."""

LOCK = "lock"
"""The lock within it."""

START = "start.json"
"""File within it: the command that was started last, by which a stopped run goes on."""

BROKEN = ".broken"
"""What is put behind the name of a log that can't be read."""

REDACTED = "redacted"
"""Where a log's metadata says that its texts were removed."""

ORDER = "order"
"""Where it says the place of its model and condition in the run."""


@dataclass(frozen=True, slots=True)
class Part:
    """The place of a log's cases in the whole run.

    So whoever reads a folder puts the parts together again, whatever wrote them, in whatever order,
    and however often.
    """

    run: str
    """The same for all parts of a run; of a run that was begun whole, its task's id."""
    epoch: int
    """Which time each of its cases is asked; the log itself counts from 1."""
    places: tuple[int, ...]
    """Of its samples in the condition's order."""
    of: int
    """Judgements of the whole run."""

    def as_metadata(self) -> dict[str, Any]:
        """For the log."""
        return {SHARD: asdict(self) | {"places": list(self.places)}}

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, Any] | None) -> Self | None:
        """Which part a log is, by what it says; None of a log that is whole by itself."""
        said = (metadata or {}).get(SHARD)
        if not isinstance(said, dict):
            return None
        return cls(str(said["run"]), int(said["epoch"]), tuple(said["places"]), int(said["of"]))
