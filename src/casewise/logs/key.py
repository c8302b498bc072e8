"""Names of what casewise writes into a log, the key of a run, and a log's part in it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

from casewise.protocols import RunCondition

# --- files of a log folder ---

SHARDS: Final = "shards"
"""Folder of shards within a log folder, where a cluster writes; each shard has a folder in it."""
OURS: Final = ".casewise"
"""Folder within a log folder for its lock."""
LOCK: Final = "lock"
"""Name of the lock in ``OURS``."""
RUNNING: Final = ".running"
"""Suffix of a log that grows, or whose process was killed: see ``LogWriter``."""
BROKEN: Final = ".broken"
"""Suffix for the name of a log that can't be read."""

# --- keys of a log's metadata ---

OF_RUN: Final = tuple(name for name in RunCondition() if name not in ("model", "run_id"))
"""Those that are columns of the judgement table."""
GENERATE: Final = "generate"
"""Generation settings that a person gave."""
SHARD: Final = "shard"
"""Its part of the run: see ``Part``."""
COMMAND: Final = "command"
"""Command that wrote the log, by which a stopped run goes on."""
REDACTED: Final = "redacted"
"""True where texts were removed."""
ADDRESSES: Final = "addresses"
"""Its server's address, and those of earlier starts."""
ORDER: Final = "order"
"""Place of its model and condition in the run."""

# --- samples and their scores ---

SCORERS: Final = ("read_answers", "grade_reply")
"""Names of the scores: of a judge's answer, and of a chatbot's reply."""
ANSWERED_BY: Final = "answered_by"
"""Key of the model that answered, where it is not the one that was asked."""
CUT: Final = "cut"
"""Key of a counted answer that ended at a token limit."""
CUT_TURNS: Final = "cut_turns"
"""Key of the replies among several that ended so: their numbers from 1, by spaces."""
TURN_DOUBTS: Final = "turn_doubts"
"""Key of the graders' doubts of several replies, by spaces; ``-`` is one not known."""
TURNS_BY: Final = "turns_by"
"""Key of the graders of several replies: each with the numbers of those it graded."""
CANCELLED: Final = "CancelledError"
"""Beginning of the error of a sample that was in flight when the run was stopped."""
ESTIMATED: Final = " (estimated)"
"""Ending of a model's name over the tokens of answers that told none: the plan's estimate."""

# --- models ---

GRADER: Final = "grader"
"""The role of the model that grades replies."""
TARGETS: Final = "casewise-target"
"""Provider of targets, whose arguments name the file that describes them."""
EMBEDDED: Final = "casewise/"
"""Prefix of the names of embedded models, whose replies are short."""


@dataclass(frozen=True, slots=True)
class RunKey:
    """One model under one condition, without addresses, prices and limits of requests."""

    task: str
    version: str
    """Version of the task, which ends with a hash of cases and wording."""
    model: str
    arguments: Mapping[str, Any]
    """Arguments of the task; one that is None counts as not given."""
    model_args: Mapping[str, Any]
    """Arguments of the model's client, without keys."""
    settings: Mapping[str, Any]
    """Settings of the model's generation, beside those of the sampling."""

    @property
    def identity(self) -> str:
        """The key as text: a file by the version's hash, and without the number of cases."""
        given = {
            name: self.version if isinstance(value, str) and Path(value).is_absolute() else value
            for name, value in self.arguments.items()
            if value is not None and name != "limit"
        }
        asked = (self.task, self.version, self.model, given, self.model_args, self.settings)
        return json.dumps(asked, sort_keys=True, default=str)


def without_keys(model_args: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a model's client without keys, as a log may show them."""
    return {
        name: value
        for name, value in model_args.items()
        if name != "api_key" and not name.startswith("aws_")
    }


@dataclass(frozen=True, slots=True)
class Part:
    """Place of a log's cases in the whole run, by which readers join the parts."""

    run: str
    """Id that all parts of a run share; the task's id of a run that began whole."""
    epoch: int
    """Epoch of all its cases; the log itself counts from 1."""
    places: tuple[int, ...]
    """Places of its samples in the condition's order."""
    of: int
    """Judgements of the whole run."""

    def as_metadata(self) -> dict[str, Any]:
        """The part as a log keeps it."""
        return {SHARD: asdict(self) | {"places": list(self.places)}}

    @classmethod
    def of_metadata(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Part that a log is, by its metadata; None of a log that is whole by itself."""
        said = metadata.get(SHARD)
        return cls(**said) if isinstance(said, dict) else None
