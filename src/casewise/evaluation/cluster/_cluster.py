"""What a cluster is asked for."""

from dataclasses import dataclass

from casewise.evaluation._cells import Cell
from casewise.evaluation.local import is_in_process

_LOADED = ("hf/", "transformer_lens/", "nnterp/")
"""How models of others begin that are loaded by the process that asks them, as ours are."""

_SERVED = ("vllm/", "sglang/")
"""How models begin that are, too, unless a server's address is given."""


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


def loads_weights(cell: Cell) -> bool:
    """Whether whoever asks a cell's model has to load it first."""
    served = cell.request.model_base_url is None and cell.model.startswith(_SERVED)
    return served or is_in_process(cell.model) or cell.model.startswith(_LOADED)
