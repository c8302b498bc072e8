"""Single logs of Inspect's as judgement rows."""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inspect_ai.log import (
    EvalSample,
    EvalSampleSummary,
    read_eval_log_samples,
)
from inspect_ai.model import ModelUsage

from casewise.analysis._table import OF_CASE, TEXTS
from casewise.analysis.logs._header import LogHeader
from casewise.analysis.logs._summaries import read_summaries
from casewise.cases import address_of

SCORERS = ("read_answers", "grade_reply")
GRADER = "grader"
"""The role of the model that grades replies."""

_FROM_SCORE = ("p_safe", "raw_score", "mass")
_NAMES = ("status", "verdict", "response_class", "graded_by", "mentions", "parameters")
ANSWERED_BY = "answered_by"
"""Where a score names the model of an answer that is not by the one that was asked."""

CANCELLED = "CancelledError"
"""How the error of a sample begins that was in flight when the run was stopped."""


def read_samples(header: LogHeader, *, texts: bool) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """Rows of one log's samples, each with its place in the condition, in no certain order.

    Args:
        header: The log.
        texts: Read answers and explanations whole, and the cases' texts. Without them only
            summaries are read, which is fifteen times cheaper and cuts long answers.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    samples: Iterable[EvalSample | EvalSampleSummary]
    if texts:
        samples = read_eval_log_samples(address_of(header.path), all_samples_required=False)
    else:
        samples = read_summaries(header)
    run = header.condition
    places = header.places
    for sample in samples:
        row = run | _row(sample, header.log.eval.model)
        if header.part is not None:
            row["epoch"] = header.part.epoch
        if texts:
            row |= {name: sample.metadata.get(name) for name in TEXTS}
        if header.ended or not (row["error"] or "").startswith(CANCELLED):
            yield places.get(str(sample.id), len(places)), list(_turn_rows(row, sample))


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
