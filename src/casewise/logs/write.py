"""Write a log: each sample as soon as it has ended, and in the end the whole in Inspect's form.

While a log grows it is a file of lines beside its place, ``NAME.running``: the header, then for
each sample its summary and itself, with a tab between. A process that is killed loses no line that
was written. At its end, or when the next start sets it in order, it becomes Inspect's ``.eval``
file.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from errno import EIO
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Literal
from zipfile import ZIP_DEFLATED, ZipFile

from pydantic_core import to_json

from casewise.errors import InputError, first_line
from casewise.files import Journal, is_elsewhere, new_file
from casewise.logs.names import ANSWERED_BY, CUT, CUT_TURNS, RUNNING, TURN_DOUBTS, TURNS_BY
from casewise.logs.read import DAMAGED, running_header, running_samples

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

LogStatus = Literal["success", "error", "cancelled"]
"""End of a log."""


class LogWriter:
    """Writer of one log.

    Args:
        address: Path or URL of the log, which ends in ``.eval``; its folder exists.
        spec: Task, model and data set of the run.
        plan: Steps and settings of the run.
        clean: Function that all content passes last, such as one that removes keys.

    Raises:
        OSError: It can't be written.
    """

    def __init__(
        self,
        address: str,
        spec: "EvalSpec",
        plan: "EvalPlan",
        clean: Callable[[bytes], bytes] = bytes,
    ) -> None:
        from inspect_ai.log import EvalLog

        self.address = address
        self._spec, self._plan, self._clean = spec, plan, clean
        # Stores of objects have no files that grow.
        folder = mkdtemp(prefix="casewise-") if is_elsewhere(address) else Path(address).parent
        self._path = Path(folder, Path(address).stem + RUNNING)
        self._lines = Journal(self._path)
        self._lines.append(clean(_json(EvalLog(eval=spec, plan=plan))))

    def add(self, sample: "EvalSample") -> None:
        """Add a sample; once this returns, it outlives the process.

        Raises:
            OSError: It could not be written.
        """
        self._lines.append(self._clean(_json(_summary(sample)) + b"\t" + _json(sample)))

    def finish(
        self,
        status: LogStatus,
        results: "EvalResults | None",
        stats: "EvalStats",
        error: "EvalError | None" = None,
    ) -> "EvalLog":
        """Write the log in Inspect's form.

        Returns:
            The log without its samples.

        Raises:
            OSError: It could not be written; the samples are kept as they are.
        """
        from inspect_ai.log import EvalLog

        self._lines.close()
        log = EvalLog(
            status=status,
            eval=self._spec,
            plan=self._plan,
            results=results,
            stats=stats,
            error=error,
            location=self.address,
        )
        _write_log(self._path, self.address, self._clean(_json(log)))
        return log


def end_killed(running: Path) -> None:
    """Write the log of a process that was killed in Inspect's form, as one that was stopped.

    Raises:
        OSError: It could not be written.
        InputError: It can't be read.
    """
    try:
        header = running_header(running) | {"status": "cancelled"}
        _write_log(running, str(running.with_suffix(".eval")), to_json(header))
    except ValueError:
        raise InputError(DAMAGED, file=running) from None


def _write_log(running: Path, address: str, header: bytes) -> None:
    """Put the lines of a log into Inspect's form, and remove them."""
    if not is_elsewhere(address):
        with new_file(Path(address)) as path:
            _fill(path, running, header)
        with suppress(OSError):
            running.unlink()
        return
    # Only here: it takes a while to import, and logs that stand here don't need it.
    from fsspec.core import url_to_fs

    path = running.with_suffix(".eval")
    _fill(path, running, header)
    try:
        files, place = url_to_fs(address)
        # Whole or not at all, as far as the store can.
        files.put_file(str(path), place)
    except Exception as error:  # whatever its file system raises
        problem = f"can't be written ({first_line(error)}); the log is kept in {path}"
        raise OSError(EIO, problem, address) from None
    rmtree(running.parent, ignore_errors=True)


def _fill(path: Path, running: Path, header: bytes) -> None:
    summaries = []
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for summary, sample in running_samples(running):
            summaries.append(summary)
            known = json.loads(summary)
            name = f"samples/{known['id']}_epoch_{known['epoch']}.json"
            archive.writestr(name, sample, compresslevel=1)
        archive.writestr("summaries.json", b"[" + b",".join(summaries) + b"]", compresslevel=1)
        archive.writestr("header.json", header)


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
    "expected",
    "no_context",
)


LONGEST = 1024
"""Characters of a summary's longest text; the same as Inspect's."""


def _summary(sample: "EvalSample") -> "EvalSampleSummary":
    """Inspect's summary, in which answers keep their lines."""
    summary = sample.summary()
    for name, score in (summary.scores or {}).items():
        whole = (sample.scores or {})[name]
        score.answer, score.explanation = _cut(whole.answer), _cut(whole.explanation)
    return summary


def _cut(text: str | None) -> str | None:
    return f"{text[: LONGEST - 3]}..." if text is not None and len(text) > LONGEST else text


def _json(value: object) -> bytes:
    """JSON as Inspect writes it: without what is None, and with NaN for an undefined number."""
    return to_json(value, exclude_none=True, inf_nan_mode="constants", fallback=str)
