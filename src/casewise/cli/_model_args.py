"""``--model-arg`` and ``--generate``: who runs a model needs none of what reads results."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from casewise.errors import UsageError


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
