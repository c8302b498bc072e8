"""Write Inspect's ``.eval`` logs while a run goes on.

The format is that of Inspect's own recorder: a zip file with one JSON file a sample, the samples'
summaries, and a header at the end. A log that was not ended holds ``_journal/start.json`` in the
header's place, and its summaries in pieces; Inspect reads both. Inspect's recorder takes 1.4 ms a
sample, almost all of it for a compressor that it makes anew, with twelve threads, for every file.
"""

import io
import os
import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from inspect_ai.log import (
    EvalError,
    EvalLog,
    EvalPlan,
    EvalResults,
    EvalSample,
    EvalSampleSummary,
    EvalSpec,
    EvalStats,
)
from inspect_ai.model import ModelOutput
from pydantic_core import to_json

from casewise.logs._attempts import ANSWERED_BY

LogStatus = Literal["success", "error", "cancelled"]
"""How a log ended."""

BUFFER = 100
"""Samples that are held before they are written. A killed run loses none of their answers, which
stand in the folder's journal; on a cluster, which has none, they are asked again."""

GROWTH = 5
"""A long log is written in pieces of at least a fifth of what it holds: for each piece, the list
of its files is read and written again."""


class LogWriter:
    """One log.

    Args:
        address: Where it will stand; its folder exists.
        spec: What is run.
        plan: How.
        worker: Of one thread, in which files are written; shared by all logs of a run.

    Raises:
        OSError: It can't be written.
    """

    def __init__(
        self, address: str, spec: EvalSpec, plan: EvalPlan, worker: ThreadPoolExecutor
    ) -> None:
        self.address = address
        self.spec = spec
        self._plan = plan
        self._worker = worker
        self._archive = _Archive(address)
        self._pending: list[tuple[str, bytes]] = []
        self._summaries: list[bytes] = []
        self._written_summaries = 0
        self._pieces = 0
        self._written: Future[None] | None = None
        start = EvalLog(eval=spec, plan=plan)
        header = {"version": start.version, "eval": spec, "plan": plan}
        self._archive.append([("_journal/start.json", _json(header))])

    def add(self, sample: EvalSample) -> "Future[None] | None":
        """Add a sample.

        Returns:
            What should be awaited before the next is added, if the disk is behind.

        Raises:
            OSError: An earlier sample could not be written.
        """
        # At once, so that little is left to do when the last answer has come.
        self._pending.append((f"samples/{sample.id}_epoch_{sample.epoch}.json", _json(sample)))
        self._summaries.append(_json(_summary(sample)))
        if len(self._pending) < max(BUFFER, self._written_summaries // GROWTH):
            return None
        before, self._written = self._written, self._submit()
        if before is not None and before.done():
            before.result()
            return None
        return before

    def finish(
        self,
        status: LogStatus,
        results: EvalResults | None,
        stats: EvalStats,
        error: EvalError | None = None,
    ) -> EvalLog:
        """Write what is left, and the header.

        Returns:
            The log without its samples.

        Raises:
            OSError: Something could not be written.
        """
        before, last = self._written, self._submit()
        if before is not None:
            before.result()
        last.result()
        log = EvalLog(
            status=status,
            eval=self.spec,
            plan=self._plan,
            results=results,
            stats=stats,
            error=error,
            location=self.address,
        )
        self._archive.append(
            [
                ("summaries.json", _list(self._summaries)),
                ("header.json", _json(log)),
            ]
        )
        self._archive.close()
        # Whoever holds an ended log does not hold what it sums up as well.
        self._summaries = []
        return log

    def _submit(self) -> "Future[None]":
        files, self._pending = self._pending, []
        if files:
            self._pieces += 1
            summaries = self._summaries[self._written_summaries :]
            files.append((f"_journal/summaries/{self._pieces}.json", _list(summaries)))
            self._written_summaries = len(self._summaries)
        return self._worker.submit(self._archive.append, files)


def without_texts(kept: EvalSample, model: str) -> EvalSample:
    """A sample that says what became of its case, and holds no text of it or of an answer.

    This is a list of what is kept, not of what is removed.

    Args:
        kept: The sample.
        model: That was asked; the name in its answer is a server's text.
    """
    scores = {
        name: score.model_copy(
            update={
                "answer": None,
                "explanation": None,
                "metadata": {
                    name: "another" if name == ANSWERED_BY else value
                    for name, value in (score.metadata or {}).items()
                    if name in _SAID
                },
            }
        )
        for name, score in (kept.scores or {}).items()
    }
    metadata = {name: kept.metadata[name] for name in _OF_CASE if name in kept.metadata}
    return kept.model_copy(
        update={
            "input": WITHHELD,
            "messages": [],
            "output": ModelOutput(model=model),
            "scores": scores or None,
            "metadata": metadata,
            "store": {},
            "events": [],
        }
    )


WITHHELD = "(withheld)"
"""What stands in a log in the place of a conversation."""

_SAID = ("status", "verdict", "response_class", "graded_by", "turns", ANSWERED_BY)
"""What a score says that is no text of the case or of an answer."""

_OF_CASE = ("query_id", "category", "intended", "query_flagged", "expected", "no_context")


def _list(values: Sequence[bytes]) -> bytes:
    """JSON of a list, of its values' JSON."""
    return b"[" + b",".join(values) + b"]"


LONGEST = 1024
"""Letters of a summary's longest text, or JSON of a value; Inspect leaves as many."""


def _summary(sample: EvalSample) -> EvalSampleSummary:
    """``EvalSample.summary``, which checks and wraps every text anew: that takes .3 ms a sample."""
    scores = {
        name: score.model_copy(
            update={
                "answer": _cut(score.answer),
                "explanation": _cut(score.explanation),
                "metadata": _thin(score.metadata),
            }
        )
        for name, score in (sample.scores or {}).items()
    }
    return EvalSampleSummary.model_construct(
        id=sample.id,
        epoch=sample.epoch,
        input=sample.input,
        target=sample.target,
        metadata=_thin(sample.metadata),
        scores=scores or None,
        model_usage=sample.model_usage,
        role_usage=sample.role_usage,
        started_at=sample.started_at,
        completed_at=sample.completed_at,
        total_time=sample.total_time,
        working_time=sample.working_time,
        uuid=sample.uuid,
        error=sample.error.message if sample.error is not None else None,
        completed=True,
        message_count=len(sample.messages),
    )


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _thin(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Metadata without what is long."""
    return {name: _thinned(value) for name, value in (metadata or {}).items()}


def _thinned(value: Any) -> Any:
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, dict | list) and len(_json(value)) > LONGEST:
        return "Key removed from summary (> 1k)"
    return value


def _json(value: object) -> bytes:
    """As Inspect writes it: without what is None, and with NaN where a number is undefined."""
    return to_json(value, exclude_none=True, inf_nan_mode="constants", fallback=str)


class _Archive:
    """A zip file that is whole after every piece, here or elsewhere."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._elsewhere = "://" in address
        self._path = Path(address)
        if self._elsewhere:
            handle, name = tempfile.mkstemp(suffix=".eval")
            os.close(handle)
            self._path = Path(name)

    def append(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Add files in one write, so that a process that is killed leaves no half of it."""
        if not files:
            return
        with self._path.open("r+b" if self._path.exists() else "w+b", buffering=0) as file:
            tail = _Tail(file)
            with ZipFile(tail, "a", ZIP_DEFLATED, compresslevel=1) as archive:
                for name, content in files:
                    archive.writestr(name, content)
            tail.write_out()
        if self._elsewhere:
            # Only here: it takes a while to import, and logs that stand here don't need it.
            import fsspec

            with self._path.open("rb") as source, fsspec.open(self._address, "wb") as target:
                shutil.copyfileobj(source, target)

    def close(self) -> None:
        """Remove what stood here of a log that is elsewhere."""
        if self._elsewhere:
            self._path.unlink(missing_ok=True)


class _Tail(io.RawIOBase):
    """A file whose new end is kept in memory until it is complete.

    A zip file ends with the list of its files. What is added takes the list's place, and a new
    list comes after it: between the two, the file on the disk would be broken.
    """

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self._file = file
        self._size = file.seek(0, os.SEEK_END)
        self._at = self._size
        """Where the new end begins."""
        self._new = io.BytesIO()
        self._place = 0

    def readable(self) -> bool:
        """The list is read."""
        return True

    def writable(self) -> bool:
        """And written."""
        return True

    def seekable(self) -> bool:
        """A file's size is put before it once it is known."""
        return True

    def tell(self) -> int:
        """Where the next byte is read or written."""
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        end = max(self._size, self._at + len(self._new.getbuffer()))
        self._place = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: end}[whence] + offset
        return self._place

    def read(self, size: int = -1) -> bytes:
        """Read what was there before."""
        self._file.seek(self._place)
        content = self._file.read(size)
        self._place += len(content)
        return content

    def write(self, content: bytes) -> int:  # type: ignore[override]
        """Write into the new end, which begins where the first byte is written."""
        if not self._new.getbuffer().nbytes:
            self._at = self._place
        self._new.seek(self._place - self._at)
        self._place += self._new.write(content)
        return len(content)

    def truncate(self, size: int | None = None) -> int:
        """End here."""
        end = self._place if size is None else size
        self._new.truncate(end - self._at)
        return end

    def write_out(self) -> None:
        """Put the new end on the disk."""
        content = self._new.getvalue()
        self._file.seek(self._at)
        view = memoryview(content)
        while view:
            view = view[self._file.write(view) :]
        self._file.truncate(self._at + len(content))
