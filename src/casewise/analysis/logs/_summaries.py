"""The summaries of a log's samples, read in a fifth of the time that Inspect takes.

Inspect shortens every text of a summary when it writes it, and again when it reads it. Over a
million of them that is a quarter of an hour.
"""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import inspect_ai.log  # noqa: F401 - teaches zipfile the compression of Inspect's own logs
from inspect_ai.log import EvalSampleSummary, read_eval_log_sample_summaries
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score

from casewise.analysis.logs._header import LogHeader
from casewise.cases import address_of

_SUMMARIES = "summaries.json"
"""Of a log that was ended; the log of a killed run has them in pieces."""


def read_summaries(header: LogHeader) -> list[EvalSampleSummary]:
    """The summaries of a log's samples, in the order in which they ended."""
    path = address_of(header.path)
    if header.ended:
        try:
            with _open(path) as opened, ZipFile(opened) as log:
                return [_summary(one) for one in json.loads(log.read(_SUMMARIES))]
        except (BadZipFile, KeyError):
            # A log in Inspect's form of JSON.
            pass
    return read_eval_log_sample_summaries(path)


def _open(path: str) -> AbstractContextManager[IO[bytes]]:
    if "://" not in path:
        return Path(path).open("rb")
    # Only here: it takes a while to import, and logs that stand here don't need it.
    import fsspec

    opened: AbstractContextManager[IO[bytes]] = fsspec.open(path, "rb")
    return opened


def _summary(written: dict[str, Any]) -> EvalSampleSummary:
    """A summary as it was checked when it was written."""
    scores = written.get("scores")
    parts = {
        "scores": scores and {name: Score.model_construct(**one) for name, one in scores.items()}
    }
    for name in ("model_usage", "role_usage"):
        usage = written.get(name) or {}
        parts[name] = {model: ModelUsage.model_construct(**one) for model, one in usage.items()}
    return EvalSampleSummary.model_construct(**(written | parts))
