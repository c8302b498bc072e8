"""``--model-arg``, apart from other options: who runs a model needs none of what reads results."""

import json
from collections.abc import Sequence
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
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            # What stands there may be a key.
            raise UsageError("--model-arg: write KEY=VALUE")
        refuse_secret("--model-arg", name)
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    return arguments
