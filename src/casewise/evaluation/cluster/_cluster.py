"""What a cluster is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, and what each shard takes of it."""

    address: str | None = None
    """Of its head; None is one on this machine that lasts as long as the run."""
    shard_size: int | None = None
    """The most judgements of a shard; None leaves it to the size of the run."""
    shard_cpus: float | None = None
    """None is one, and for a model that a node loads all that it has."""
    shard_gpus: float = 0.0
