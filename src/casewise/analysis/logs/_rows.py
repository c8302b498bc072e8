"""What a log keeps of a case as judgement rows."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from inspect_ai.model import ModelUsage

from casewise.analysis._table import OF_CASE, TEXTS
from casewise.logs import ANSWERED_BY, GRADER, SampleRecord

_FROM_SCORE = ("p_safe", "raw_score", "mass")
_NAMES = ("status", "verdict", "response_class", "graded_by", "mentions", "parameters")


def rows_of(
    record: SampleRecord, condition: Mapping[str, Any], *, texts: bool
) -> list[dict[str, Any]]:
    """The row of a case; of a script, one for each of its turns.

    Args:
        record: What the log keeps of the case.
        condition: The columns that are the same in every row.
        texts: Add the case's texts.
    """
    row = dict(condition) | _row(record, condition["model"])
    if texts:
        row |= {name: record.metadata.get(name) for name in TEXTS}
    return list(_turn_rows(row, record))


def _row(record: SampleRecord, model: str) -> dict[str, Any]:
    row = {name: record.metadata.get(name) for name in OF_CASE}
    row |= {"case_id": record.case, "epoch": record.epoch, "latency_s": record.seconds}
    row |= _usages(record, model)
    score = record.score
    if record.error is not None or score is None:
        return row | {"status": "error", "error": record.error or "the sample has no score"}
    row |= {name: _number(score.values.get(name)) for name in _FROM_SCORE}
    row |= {name: score.metadata.get(name) for name in _NAMES}
    row[ANSWERED_BY] = score.metadata.get(ANSWERED_BY)
    if record.metadata.get("grade_all"):
        row["turn_classes"] = score.metadata.get("turns")
    # A grader that declined leaves the reply without a grade, and says so.
    reason = score.explanation if row["status"] == "error" else None
    return row | {"answer": score.answer, "explanation": score.explanation, "error": reason}


def _turn_rows(row: dict[str, Any], record: SampleRecord) -> Iterator[dict[str, Any]]:
    """A row for each turn of a script; of other samples, the row as it is."""
    wanted = str(record.metadata.get("expectations") or "").split()
    if not wanted:
        yield row
        return
    score = record.score
    graded = str(score.metadata.get("turns") or "").split() if score is not None else []
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


def _usages(record: SampleRecord, model: str) -> dict[str, Any]:
    """What the model under test used, and apart from it what its grader used."""
    grader = record.role_usage.get(GRADER)
    if grader is None:
        return _usage(record.usage.values())
    own = record.usage.get(model)
    used = _usage([own] if own is not None else [])
    graded = _usage([grader])
    if own is not None and len(record.usage) == 1:
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
