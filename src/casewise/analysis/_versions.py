"""Which runs are over the same edition of a data set."""

from collections.abc import Mapping
from typing import Any

from casewise.errors import InputError


def same_data(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two conditions are over the same cases, as far as their hashes are known."""
    hashes = {one["dataset_hash"] for one in (a, b)} - {None}
    return len(hashes) < 2


def data_text(condition: Mapping[str, Any]) -> str:
    """The data set of a condition in words: ``version 1.2.0 (hash 0f...)``."""
    hash, version = condition["dataset_hash"], condition["dataset_version"]
    if hash is None:
        return "an unknown version"
    return f"version {version} (hash {hash})" if version else f"hash {hash}"


def other_data(a: tuple[str, Mapping[str, Any]], b: tuple[str, Mapping[str, Any]]) -> InputError:
    """The refusal to subtract two runs, each given by name and condition."""
    return InputError(
        f"{a[0]} is over {data_text(a[1])} of its data, {b[0]} over {data_text(b[1])}: a "
        "difference would be that of the data too",
        expected="runs over one version; casewise cases diff says what changed, --force compares "
        "the cases that both have",
    )
