"""What single logs hold of a model under a condition, read from headers and summaries."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai.log import (
    EvalLog,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)

from casewise.cases import address_of
from casewise.evaluation._budget import input_tokens
from casewise.evaluation._cells import Cell
from casewise.evaluation._shards import part_of
from casewise.logs import SHARDS

Judged = set[tuple[str | int, int]]
"""Samples, each with its epoch."""

Tokens = dict[str, tuple[int, int]]
"""In and out, by the model that used them."""


@dataclass(frozen=True, slots=True)
class Counted:
    """What one log holds."""

    judged: Judged
    failed: Judged
    """Samples that ended in an error."""
    tokens: Tokens


def headers_in(folder: Path) -> list[EvalLog]:
    """The headers of casewise's logs in a folder and in those of its shards, by name.

    What is cut short, or of another task, is passed over.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    found = (_header(path) for path in _log_paths(folder))
    return [one for one in found if one is not None]


def logs_of_shard(folder: str) -> list[EvalLog]:
    """The headers of earlier attempts at a shard; its folder need not exist."""
    if "://" in folder:
        paths = sorted(one.name for one in list_eval_logs(folder, formats=["eval"]))
    else:
        paths = [str(path) for path in sorted(Path(folder).glob("*.eval"))]
    return [log for path in paths if (log := _header(path)) is not None]


def _log_paths(folder: Path) -> list[str]:
    address = address_of(folder)
    if "://" in address:
        return sorted(one.name for one in list_eval_logs(address, formats=["eval"]))
    inside = [*folder.glob("*.eval"), *(folder / SHARDS).glob("*/*.eval")]
    return [str(path) for path in sorted(inside)]


def _header(path: str) -> EvalLog | None:
    try:
        log = read_eval_log(path, header_only=True)
    except Exception:
        return None
    log.location = path
    # Scores over the epochs, sample by sample: nobody reads them, and they take megabytes.
    log.reductions = None
    return log if "casewise" in (log.eval.metadata or {}) else None


def count(log: EvalLog, cell: Cell) -> Counted:
    """What a log holds of a cell; epochs that the cell doesn't ask for are left out."""
    shard = part_of(log)
    if shard is not None and _is_whole(log):
        # A shard's header says it all; over many, summaries would take minutes.
        ids = log.eval.dataset.sample_ids or []
        wanted = shard.epoch <= cell.request.epochs
        return Counted({(one, shard.epoch) for one in ids} if wanted else set(), set(), _all(log))
    samples = [
        (one, shard.epoch if shard is not None else one.epoch) for one in _summaries(log.location)
    ]
    samples = [(one, epoch) for one, epoch in samples if epoch <= cell.request.epochs]
    judged = {(one.id, epoch) for one, epoch in samples if one.error is None and one.scores}
    failed = {(one.id, epoch) for one, epoch in samples if one.error is not None} - judged
    return Counted(judged, failed, _tokens((one for one, _ in samples), cell))


def _is_whole(log: EvalLog) -> bool:
    results = log.results
    size = len(log.eval.dataset.sample_ids or [])
    return log.status == "success" and results is not None and results.completed_samples == size > 0


def _all(log: EvalLog) -> Tokens:
    """What the log's samples used together, failed attempts included."""
    usage = log.stats.model_usage
    return {name: (input_tokens(one), one.output_tokens) for name, one in usage.items()}


def _summaries(path: str) -> list[EvalSampleSummary]:
    try:
        return read_eval_log_sample_summaries(path)
    except Exception:
        return []


def _tokens(samples: Iterable[EvalSampleSummary], cell: Cell) -> Tokens:
    used: Tokens = dict.fromkeys(cell.prices, (0, 0))
    for sample in samples:
        for model, usage in sample.model_usage.items():
            asked, answered = used.get(model, (0, 0))
            used[model] = (asked + input_tokens(usage), answered + usage.output_tokens)
    return used


def add_tokens(parts: Sequence[Tokens]) -> Tokens:
    """The sum over logs."""
    total: Tokens = {}
    for part in parts:
        for model, (asked, answered) in part.items():
            before = total.get(model, (0, 0))
            total[model] = (before[0] + asked, before[1] + answered)
    return total
