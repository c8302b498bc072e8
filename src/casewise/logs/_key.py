"""What tells a model's runs under one condition from all others."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from inspect_ai.log import EvalLog

GENERATE = "generate"
"""Where a log's metadata has the settings of a model's generation that a person gave."""

TARGETS = "casewise-target"
"""The provider of targets: bots of one's own, whose arguments name the file that describes them."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """One model under one condition; addresses, prices and limits of requests are no part of it."""

    task: str
    version: str
    """Of the task: another where cases or wording are."""
    model: str
    arguments: Mapping[str, Any]
    """Of the task; None is as if it were not given."""
    model_args: Mapping[str, Any]
    """Of the model's client, without keys."""
    seed: int | None
    """Sent with every request."""
    settings: Mapping[str, Any] | None = None
    """Of the model's generation, beside what the sampling sets; None or empty where there are
    none."""

    @property
    def identity(self) -> str:
        """The key as text."""
        given = {name: value for name, value in self.arguments.items() if value is not None}
        parts: list[Any] = [self.task, self.version, self.model, given]
        parts += [dict(self.model_args), self.seed]
        # At the end, and only if there are any: older logs know nothing of them.
        parts += [dict(self.settings)] if self.settings else []
        return json.dumps(parts, sort_keys=True, default=str)

    @classmethod
    def of_log(cls, log: EvalLog) -> Self:
        """The key of what a log is of."""
        spec = log.eval
        return cls(
            spec.task,
            str(spec.task_version),
            spec.model,
            spec.task_args_passed,
            without_keys(spec.model_args),
            log.plan.config.seed,
            (spec.metadata or {}).get(GENERATE),
        )


def without_keys(model_args: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a model's client that a log may show."""
    return {
        name: value
        for name, value in model_args.items()
        if name != "api_key" and not name.startswith("aws_")
    }
