"""The options of ``casewise run`` that say where it is run."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from casewise.errors import UsageError

if TYPE_CHECKING:
    from casewise.evaluation import Cluster


class Engine(StrEnum):
    """Where models are run."""

    PROCESS = "process"
    RAY = "ray"


EngineOption = Annotated[
    Engine,
    typer.Option(
        help="process (this one), or ray: in shards over processes of this machine, or over the "
        "nodes of a cluster, with the same results (docs/scale.md)."
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="ray: the cluster's head. Default: one on this machine that ends with the run.",
    ),
]
SizeOption = Annotated[
    int | None,
    typer.Option(min=1, help="ray: most judgements of a shard. Default: 50 to 1000, by the run."),
]
CpusOption = Annotated[
    float | None,
    typer.Option(
        min=0.01,
        help="ray: CPUs of a shard. Default: 1; a node's, for a model that a node loads.",
    ),
]
GpusOption = Annotated[float | None, typer.Option(min=0, help="ray: GPUs of a shard. Default: 0.")]

EngineChoice = tuple[Engine, str | None, int | None, float | None, float | None]
"""What ``chosen_cluster`` takes."""

ENGINE_OPTIONS = ("engine", "address", "shard_size", "shard_cpus", "shard_gpus")


def chosen_cluster(
    engine: Engine,
    address: str | None,
    shard_size: int | None,
    shard_cpus: float | None,
    shard_gpus: float | None,
) -> "Cluster | None":
    """Where it is run; None is this process.

    Raises:
        UsageError: An option of Ray's without it.
    """
    if engine is Engine.PROCESS:
        given = (address, shard_size, shard_cpus, shard_gpus)
        stray = [
            name for name, one in zip(ENGINE_OPTIONS[1:], given, strict=True) if one is not None
        ]
        if stray:
            raise UsageError(f"--{stray[0].replace('_', '-')} is for --engine ray")
        return None
    from casewise.evaluation import Cluster

    return Cluster(address, shard_size, shard_cpus, shard_gpus or 0.0)
