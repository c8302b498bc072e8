"""Write Inspect's ``.eval`` logs while a run goes on.

The format is that of Inspect's own recorder: a zip file with one JSON file a sample, the samples'
summaries, and a header at the end. A log that was not ended holds ``_journal/start.json`` in the
header's place, and its summaries in pieces; Inspect reads both. Inspect's recorder takes 1.4 ms a
sample, almost all of it for a compressor that it makes anew, with twelve threads, for every file.
"""

import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from zipfile import ZIP_DEFLATED

from pydantic_core import to_json

from casewise.logs._read import ANSWERED_BY, CUT, CUT_TURNS, TURN_DOUBTS, TURNS_BY

if TYPE_CHECKING:
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

try:
    from isal import isal_zlib as zlib
except ImportError:
    # A tenth of a millisecond a case slower.
    import zlib  # type: ignore[no-redef]

LogStatus = Literal["success", "error", "cancelled"]
"""End of a log."""

BUFFER = 100
"""Samples that are held before they are written. A killed run loses none of their answers, which
stand in the folder's journal; on a cluster, which has none, they are asked again."""

GROWTH = 5
"""A long log is written in pieces of at least a fifth of what it holds: for each piece, the list
of its files is written again."""


class LogWriter:
    """Writer of one log.

    Args:
        address: Path or URL of the log; its folder exists.
        spec: Task, model and data set of the run.
        plan: Steps and settings of the run.
        worker: The one thread in which files are written, shared by all logs of a run.
        clean: Function that all content passes last, such as one that removes keys.

    Raises:
        OSError: It can't be written.
    """

    def __init__(
        self,
        address: str,
        spec: "EvalSpec",
        plan: "EvalPlan",
        worker: ThreadPoolExecutor,
        clean: Callable[[bytes], bytes] = bytes,
    ) -> None:
        from inspect_ai.log import EvalLog

        self.address = address
        self.spec = spec
        self._plan = plan
        self._worker = worker
        self._clean = clean
        self._archive = _Archive(address)
        self._pending: list[tuple[str, _Compressed, bytes]] = []
        """Samples to be written: name of the file, content, and summary."""
        self._submitted = 0
        self._summaries = _Compressor()
        """Summaries of all samples: uncompressed, those of a long run would fill the memory."""
        self._pieces = 0
        self._written: Future[None] | None = None
        start = EvalLog(eval=spec, plan=plan)
        header = {"version": start.version, "eval": spec, "plan": plan}
        self._archive.add("_journal/start.json", _compressed(clean(_json(header))))
        self._archive.write()

    def add(self, sample: "EvalSample") -> "Future[None] | None":
        """Add a sample.

        Returns:
            What should be awaited before the next is added, if the disk is behind.

        Raises:
            OSError: An earlier sample could not be written.
        """
        # At once, so that little is left to do when the last answer has come.
        content = _compressed(self._clean(_json(sample)))
        summary = self._clean(_json(_summary(sample)))
        self._pending.append((f"samples/{sample.id}_epoch_{sample.epoch}.json", content, summary))
        if len(self._pending) < max(BUFFER, self._submitted // GROWTH):
            return None
        before = self._written
        if before is not None and before.done():
            before.result()
            before = None
        self._written = self._submit()
        return before

    def finish(
        self,
        status: LogStatus,
        results: "EvalResults | None",
        stats: "EvalStats",
        error: "EvalError | None" = None,
    ) -> "EvalLog":
        """Write what is left, and the header.

        Returns:
            The log without its samples.

        Raises:
            OSError: Something could not be written.
        """
        from inspect_ai.log import EvalLog

        if self._written is not None:
            self._written.result()
        self._submit().result()
        log = EvalLog(
            status=status,
            eval=self.spec,
            plan=self._plan,
            results=results,
            stats=stats,
            error=error,
            location=self.address,
        )
        self._summaries.write(b"]" if self._submitted else b"[]")
        self._archive.add("summaries.json", self._summaries.end())
        self._archive.add("header.json", _compressed(self._clean(_json(log))))
        self._archive.write()
        self._archive.close()
        return log

    def _submit(self) -> "Future[None]":
        samples, self._pending = self._pending, []
        self._submitted += len(samples)
        return self._worker.submit(self._write, samples)

    def _write(self, samples: "Sequence[tuple[str, _Compressed, bytes]]") -> None:
        """Write samples and their summaries; in the thread, as all that happens to the file."""
        if not samples:
            return
        for name, content, _ in samples:
            self._archive.add(name, content)
        summaries = b",".join(summary for *_, summary in samples)
        self._summaries.write((b"," if self._pieces else b"[") + summaries)
        self._pieces += 1
        listed = _compressed(b"[" + summaries + b"]")
        self._archive.add(f"_journal/summaries/{self._pieces}.json", listed)
        self._archive.write()


def without_texts(kept: "EvalSample", model: str) -> "EvalSample":
    """A sample with the outcome of its case, and no text of the case or of an answer.

    This is a list of what is kept, not of what is removed.

    Args:
        kept: The sample.
        model: Model that was asked; the name in its answer is a server's text.
    """
    from inspect_ai.model import ModelOutput

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
"""Replacement for a conversation in a log."""

_SAID = (
    *("status", "verdict", "response_class", "graded_by", "doubt"),
    *("turns", TURNS_BY, TURN_DOUBTS, CUT, CUT_TURNS, ANSWERED_BY),
)
"""Keys of a score that hold no text of the case or of an answer."""

_OF_CASE = (
    "query_id",
    "category",
    "intended",
    "query_flagged",
    "expected",
    "no_context",
    "other_labels",
)


LONGEST = 1024
"""Length of a summary's longest text, or JSON of a value; the same as Inspect's."""


def _summary(sample: "EvalSample") -> "EvalSampleSummary":
    """``EvalSample.summary``, which checks and wraps every text anew: that takes .3 ms a sample."""
    scores = {
        name: score.model_copy(
            update={
                "answer": _thinned(score.answer),
                "explanation": _thinned(score.explanation),
                "metadata": _thin(score.metadata),
            }
        )
        for name, score in (sample.scores or {}).items()
    }
    return _blank().model_copy(
        update={name: getattr(sample, name) for name in _AS_THEY_ARE}
        | {
            "metadata": _thin(sample.metadata),
            "scores": scores or None,
            "error": sample.error.message if sample.error is not None else None,
            "completed": True,
            "message_count": len(sample.messages),
        }
    )


_AS_THEY_ARE = (
    *("id", "epoch", "input", "target", "model_usage", "role_usage", "uuid"),
    *("started_at", "completed_at", "total_time", "working_time"),
)
"""Fields of a sample that its summary repeats."""


@cache
def _blank() -> "EvalSampleSummary":
    """Summary that is copied for each sample.

    Made anew, most of its time would go to fields that stay None.
    """
    from inspect_ai.log import EvalSampleSummary

    return EvalSampleSummary.model_construct(id="", epoch=1, input="", target="")


def _thin(metadata: dict[str, Any] | None) -> dict[str, Any]:
    """Metadata without what is long."""
    return {name: _thinned(value) for name, value in (metadata or {}).items()}


def _thinned(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[: LONGEST - 3]}..."
    if isinstance(value, dict | list) and len(_json(value)) > LONGEST:
        return "Key removed from summary (> 1k)"
    return value


def _json(value: object) -> bytes:
    """JSON as Inspect writes it: without what is None, and with NaN for an undefined number."""
    return to_json(value, exclude_none=True, inf_nan_mode="constants", fallback=str)


class _Archive:
    """A zip file that is whole after every piece, here or elsewhere.

    ``zipfile`` compresses where it writes. In a thread beside a busy loop each file then waits
    twice for Python's lock, which takes four times as long as to compress it; and for every piece
    it reads the list of files again. Here a file comes compressed.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._elsewhere = "://" in address
        self._path = Path(address)
        if self._elsewhere:
            handle, name = tempfile.mkstemp(suffix=".eval")
            os.close(handle)
            self._path = Path(name)
        self._new: list[bytes] = []
        """Files of the next piece."""
        self._list: list[bytes] = []
        """Entries of the list at the end, by file."""
        self._begin = self._end = 0
        """Offsets where the next piece begins, and ends but for the list."""
        self._broken = False

    def add(self, name: str, file: "_Compressed") -> None:
        """Add a file to the next piece."""
        named = name.encode()
        large = (file.size, len(file.content)) if file.size >= _LARGE else ()
        sizes = (_OVER, _OVER) if large else (len(file.content), file.size)
        head = (*_HEAD, file.crc, *sizes, len(named))
        extra = _extra(large)
        new = (struct.pack(_FILE, b"PK\3\4", *head, len(extra)), named, extra, file.content)
        far = self._end >= _LARGE
        extra = _extra((*large, self._end) if far else large)
        place = (len(extra), 0, 0, 0, _PLAIN, _OVER if far else self._end)
        self._list.append(struct.pack(_LISTED, b"PK\1\2", _UNIX, *head, *place) + named + extra)
        self._new += new
        self._end += sum(map(len, new))

    def write(self) -> None:
        """Put the new files and the list of all in the place of the list before.

        In one write, so that a process that is killed leaves no half of it.

        Raises:
            OSError: This piece, or one before, could not be written.
        """
        if self._broken:
            raise OSError(f"{self._address}: an earlier part could not be written")
        self._broken = True
        # A log that somebody deleted meanwhile is not begun anew in its middle.
        with self._path.open("r+b" if self._begin else "w+b", buffering=0) as file:
            file.seek(self._begin)
            view = memoryview(b"".join((*self._new, *self._list, self._last())))
            while view:
                view = view[file.write(view) :]
            file.truncate()
        if self._elsewhere:
            # Only here: it takes a while to import, and logs that stand here don't need it.
            import fsspec

            with self._path.open("rb") as source, fsspec.open(self._address, "wb") as target:
                shutil.copyfileobj(source, target)
        self._new, self._begin, self._broken = [], self._end, False

    def _last(self) -> bytes:
        """Number of files, and the offset of their list."""
        count, size = len(self._list), sum(map(len, self._list))
        if count < _MANY and self._end + size < _LARGE:
            return struct.pack(_ENDED, b"PK\5\6", 0, 0, count, count, size, self._end, 0)
        sums = (44, _UNIX, _VERSION, 0, 0, count, count, size, self._end)
        return (
            struct.pack("<4sQHHIIQQQQ", b"PK\6\6", *sums)
            + struct.pack("<4sIQI", b"PK\6\7", 0, self._end + size, 1)
            + struct.pack(_ENDED, b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, _OVER, _OVER, 0)
        )

    def close(self) -> None:
        """Remove the local copy of a log that is elsewhere."""
        if self._elsewhere:
            self._path.unlink(missing_ok=True)


# Records of a zip file: PKWARE's APPNOTE.TXT, 6.3.10, sections 4.3.7 to 4.3.16 and 4.5.3.
_FILE = "<4sHHHHHIIIHH"
_LISTED = "<4sHHHHHHIIIHHHHHII"
_ENDED = "<4sHHHHIIH"
_VERSION = 45
_UNIX = 3 << 8 | _VERSION
_HEAD = (_VERSION, 1 << 11, ZIP_DEFLATED, 0, 1 << 5 | 1)
"""Names in UTF-8; of the first day that the format knows, as samples say when they were asked."""
_PLAIN = 0o600 << 16
_OVER = 0xFFFFFFFF
"""Placeholder for a number that does not fit; ``_extra`` has it."""
_LARGE, _MANY = _OVER, 0xFFFF
"""Numbers that don't fit: of bytes, and of files."""


def _extra(numbers: Sequence[int]) -> bytes:
    """Numbers of a file that have no room in its header."""
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""


@dataclass(frozen=True, slots=True)
class _Compressed:
    """A file's content, compressed."""

    content: bytes
    size: int
    """Bytes before it was compressed."""
    crc: int


class _Compressor:
    """Compressor of a file's content as it comes, five times as fast as ``zlib``."""

    def __init__(self) -> None:
        self._crc = self._size = 0
        self._deflate = zlib.compressobj(1, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._parts: list[bytes] = []

    def write(self, content: bytes) -> None:
        """Add content."""
        self._crc = zlib.crc32(content, self._crc)
        self._size += len(content)
        self._parts.append(self._deflate.compress(content))

    def end(self) -> _Compressed:
        """The whole file."""
        return _Compressed(b"".join((*self._parts, self._deflate.flush())), self._size, self._crc)


def _compressed(content: bytes) -> _Compressed:
    whole = _Compressor()
    whole.write(content)
    return whole.end()
