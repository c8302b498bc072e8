"""Options of the commands that ask models: where they run, and what models and providers get."""

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from casewise.errors import UsageError

if TYPE_CHECKING:
    from casewise.evaluation import Cluster


def parse_model_args(pairs: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` of ``--model-arg``; a value that is JSON is read as such.

    Raises:
        UsageError: A pair without a key or an equals sign, or a secret, which everybody on the
            machine could read in the list of processes.
    """
    # Late: it imports Inspect, which takes seconds.
    from casewise.evaluation import refuse_secret

    arguments: dict[str, Any] = {}
    for name, value in _pairs("--model-arg", pairs):
        refuse_secret("--model-arg", name)
        arguments[name] = value
    return arguments


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``KEY=VALUE`` of ``--generate``, checked; a value that is JSON is read as such.

    Raises:
        UsageError: A pair without a key or an equals sign, a key given twice, or what
            ``check_settings`` refuses.
    """
    if not pairs:
        return {}
    from casewise.evaluation import check_settings

    settings: dict[str, Any] = {}
    for name, value in _pairs("--generate", pairs):
        if name in settings:
            raise UsageError(f"--generate {name}: given twice")
        settings[name] = value
    return check_settings("--generate", settings)


def _pairs(option: str, pairs: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            # What stands there may be a key.
            raise UsageError(f"{option}: write KEY=VALUE")
        try:
            yield name, json.loads(value)
        except (ValueError, RecursionError):
            yield name, value


class EngineName(StrEnum):
    """Where models are run."""

    PROCESS = "process"
    RAY = "ray"


EngineOption = Annotated[
    EngineName,
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

EngineChoice = tuple[EngineName, str | None, int | None, float | None, float | None]
"""What ``chosen_cluster`` takes."""

ENGINE_OPTIONS = ("engine", "address", "shard_size", "shard_cpus", "shard_gpus")


def chosen_cluster(
    engine: EngineName,
    address: str | None,
    shard_size: int | None,
    shard_cpus: float | None,
    shard_gpus: float | None,
) -> "Cluster | None":
    """Where it is run; None is this process.

    Raises:
        UsageError: An option of Ray's without it.
    """
    if engine is EngineName.PROCESS:
        given = (address, shard_size, shard_cpus, shard_gpus)
        stray = [
            name for name, one in zip(ENGINE_OPTIONS[1:], given, strict=True) if one is not None
        ]
        if stray:
            raise UsageError(f"--{stray[0].replace('_', '-')} is for --engine ray")
        return None
    from casewise.evaluation import Cluster

    return Cluster(address, shard_size, shard_cpus, shard_gpus or 0.0)
