"""Inspect's logs as judgement rows."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from inspect_ai.log import (
    EvalLog,
    EvalSample,
    EvalSampleSummary,
    read_eval_log,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
)
from inspect_ai.model import ModelUsage

from casewise.analysis._table import OF_CASE, TEXTS
from casewise.errors import InputError

SCORERS = ("read_answers", "grade_reply")
GRADER = "grader"
"""The role of the model that grades replies."""

_FROM_TASK = (
    *("protocol", "delivery", "ablation", "variant", "prompt_version"),
    *("dataset_hash", "dataset_version"),
)
_FROM_SCORE = ("p_safe", "raw_score", "mass")
_NAMES = ("status", "verdict", "response_class", "graded_by", "mentions", "parameters")
ANSWERED_BY = "answered_by"
"""Where a score names the model of an answer that is not by the one that was asked."""

CANCELLED = "CancelledError"
"""How the error of a sample begins that was in flight when the run was stopped."""


@dataclass(frozen=True, slots=True)
class LogHeader:
    """What a log says of itself."""

    path: Path
    log: EvalLog
    """Without samples."""

    @property
    def complete(self) -> bool:
        """Whether the run ended well."""
        return self.log.status == "success"

    @property
    def task_key(self) -> tuple[str, str]:
        """The same for all attempts at one task by one model."""
        return self.log.eval.task_id, self.log.eval.model


def read_header(path: Path) -> LogHeader:
    """Read a log's header.

    Raises:
        InputError: The file is no log, is cut short, or belongs to another task.
    """
    try:
        log = read_eval_log(str(path), header_only=True)
    except Exception as error:  # Inspect raises whatever the broken part raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"not a readable Inspect log: {reason}", file=path) from None
    if "casewise" not in (log.eval.metadata or {}):
        raise InputError(
            "a log of another task",
            file=path,
            found=log.eval.task,
            expected="a log of casewise run or of inspect eval casewise/judge",
        )
    return LogHeader(path, log)


def choose_logs(headers: Iterable[LogHeader]) -> tuple[list[LogHeader], list[str]]:
    """Keep one log a task and model: the complete one, else the latest attempt, with a note.

    A run that was stopped and taken up again leaves the log of each attempt in its folder; the
    later ones hold the judgements of the earlier.
    """
    groups: dict[tuple[str, str], list[LogHeader]] = {}
    for header in headers:
        groups.setdefault(header.task_key, []).append(header)
    kept, notes = [], []
    for attempts in groups.values():
        complete = [one for one in attempts if one.complete]
        best = max(complete or attempts, key=lambda one: one.log.eval.created)
        kept.append(best)
        if not best.complete:
            notes.append(
                f"{best.path}: the run did not end ({best.log.status}); what it has counts"
            )
    return kept, notes


def read_judgements(header: LogHeader, *, texts: bool) -> Iterator[dict[str, Any]]:
    """Rows of a log, in the order of its data set.

    Args:
        header: The log.
        texts: Read answers and explanations whole, and the cases' texts. Without them only
            summaries are read, which is fifteen times cheaper and cuts long answers.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    path = str(header.path)
    samples: Iterable[EvalSample | EvalSampleSummary]
    if texts:
        samples = read_eval_log_samples(path, all_samples_required=False)
    else:
        samples = read_eval_log_sample_summaries(path)
    metadata = header.log.eval.metadata or {}
    run = {name: metadata.get(name) for name in _FROM_TASK} | {
        # One execution of one task; Inspect's own run id is shared by all tasks of a run.
        "run_id": header.log.eval.eval_id,
        "model": header.log.eval.model,
    }
    # Samples end in the order in which answers come; sums in another order end in other digits.
    ids = header.log.eval.dataset.sample_ids or []
    places = {str(one): place for place, one in enumerate(ids)}
    judged = []
    for sample in samples:
        row = run | _row(sample, header.log.eval.model)
        if texts:
            row |= {name: sample.metadata.get(name) for name in TEXTS}
        if header.complete or not (row["error"] or "").startswith(CANCELLED):
            place = (places.get(str(sample.id), len(places)), sample.epoch)
            judged.append((place, list(_turn_rows(row, sample))))
    _set_strangers_aside([row for _, rows in judged for row in rows])
    for _, rows in sorted(judged, key=itemgetter(0)):
        yield from rows


_SAID = ("verdict", "p_safe", "raw_score", "mass", "response_class", "mentions")


def _set_strangers_aside(rows: list[dict[str, Any]]) -> None:
    """Make errors of answers by another model, if there are others by the model itself.

    A server that always answers by another name has a name of its own for the model.
    """
    named = [row.pop(ANSWERED_BY, None) for row in rows]
    answered = [row["status"] == "ok" for row in rows]
    if not any(ok and name is None for ok, name in zip(answered, named, strict=True)):
        return
    for row, name in zip(rows, named, strict=True):
        if name is not None and row["status"] != "error":
            reason = f"another model: the answer is by {name}"
            row |= dict.fromkeys(_SAID) | {"status": "error", "error": reason}


def _row(sample: EvalSample | EvalSampleSummary, model: str) -> dict[str, Any]:
    row = {name: sample.metadata.get(name) for name in OF_CASE}
    row |= {"case_id": str(sample.id), "epoch": sample.epoch, "latency_s": sample.working_time}
    row |= _usages(sample, model)
    scores = sample.scores or {}
    score = next((scores[name] for name in SCORERS if name in scores), None)
    error = sample.error
    if error is not None or score is None or not isinstance(score.value, Mapping):
        message = error if isinstance(error, str) else getattr(error, "message", None)
        return row | {"status": "error", "error": message or "the sample has no score"}
    row |= {name: _number(score.value.get(name)) for name in _FROM_SCORE}
    row |= {name: (score.metadata or {}).get(name) for name in _NAMES}
    row[ANSWERED_BY] = (score.metadata or {}).get(ANSWERED_BY)
    if sample.metadata.get("grade_all"):
        row["turn_classes"] = (score.metadata or {}).get("turns")
    # A grader that declined leaves the reply without a grade, and says so.
    reason = score.explanation if row["status"] == "error" else None
    return row | {"answer": score.answer, "explanation": score.explanation, "error": reason}


def _turn_rows(
    row: dict[str, Any], sample: EvalSample | EvalSampleSummary
) -> Iterator[dict[str, Any]]:
    """A row for each turn of a script; of other samples, the row as it is."""
    wanted = str(sample.metadata.get("expectations") or "").split()
    if not wanted:
        yield row
        return
    score = next(iter((sample.scores or {}).values()), None)
    graded = str((score.metadata or {}).get("turns") or "").split() if score else []
    for place, expected in enumerate(wanted):
        turn: dict[str, Any] = {
            "case_id": f"{row['case_id']}:turn-{place + 1}",
            "expected": expected,
        }
        turn["intended"] = _INTENDED.get(expected)
        if row["error"] is None:
            found = graded[place] if place < len(graded) else "unreached"
            read = found in _COUNTED
            turn |= {
                "status": "ok" if read else "unparsed",
                "response_class": found if read else None,
            }
        if place:
            # What the whole conversation took stands with its first turn.
            turn |= dict.fromkeys(_ONCE)
        yield row | turn


_INTENDED = {"answer": "safe", "refuse": "unsafe"}
_COUNTED = ("compliance", "partial", "refusal")
_ONCE = (
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "latency_s",
    "grader_input_tokens",
    "grader_output_tokens",
    "grader_cost_usd",
)


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(float(value)) else float(value)


def _usages(sample: EvalSample | EvalSampleSummary, model: str) -> dict[str, Any]:
    """What the model under test used, and apart from it what its grader used."""
    grader = (sample.role_usage or {}).get(GRADER)
    if grader is None:
        return _usage(sample.model_usage.values())
    own = sample.model_usage.get(model)
    used = _usage([own] if own is not None else [])
    graded = _usage([grader])
    if own is not None and len(sample.model_usage) == 1:
        # The model grades itself: Inspect adds both up under its name.
        used = {name: _less(used[name], graded[name]) for name in used}
    return used | {f"grader_{name}": value for name, value in graded.items()}


def _less(whole: float | None, part: float | None) -> float | None:
    return whole if whole is None or part is None else whole - part


def _usage(usages: Iterable[ModelUsage]) -> dict[str, Any]:
    usages = list(usages)
    costs = [usage.total_cost for usage in usages if usage.total_cost is not None]
    inputs = [
        usage.input_tokens
        + (usage.input_tokens_cache_read or 0)
        + (usage.input_tokens_cache_write or 0)
        for usage in usages
    ]
    return {
        "input_tokens": sum(inputs) if usages else None,
        "output_tokens": sum(usage.output_tokens for usage in usages) if usages else None,
        "cost_usd": sum(costs) if costs else None,
    }
