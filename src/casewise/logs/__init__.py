"""The contract between running and reading: what a log says, and how it is written.

Logs are Inspect's ``.eval`` files, so that its viewer and its readers open them.
"""

from casewise.logs._key import GENERATE, RunKey, without_keys
from casewise.logs._part import ORDER, SHARD, SHARDS, Part
from casewise.logs._write import LogStatus, LogWriter

__all__ = [
    "GENERATE",
    "LogStatus",
    "LogWriter",
    "ORDER",
    "Part",
    "RunKey",
    "SHARD",
    "SHARDS",
    "without_keys",
]
