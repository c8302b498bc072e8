"""Names of the files of a log folder, and of what casewise writes into a log."""

from typing import Final

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
ADDRESS: Final = "address"
"""Address of its server."""
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

# --- models ---

GRADER: Final = "grader"
"""The role of the model that grades replies."""
