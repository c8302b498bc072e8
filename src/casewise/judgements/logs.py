"""Judgements of a run as a table: of one log, or of many that count as one."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import polars as pl

from casewise.judgements.table import OF_CASE, TEXTS, make_table
from casewise.logs import (
    ANSWERED_BY,
    CUT,
    CUT_TURNS,
    GRADER,
    TURN_DOUBTS,
    TURNS_BY,
    LoggedRun,
    SampleRecord,
    Usage,
    counted_attempts,
    input_tokens,
    outcomes_of,
    read_records,
)

_FROM_SCORE = ("p_safe", "raw_score", "mass")
_KNOWN = {*_FROM_SCORE, "read", "says_safe", "as_intended"}
_NAMES = (
    *("status", "verdict", "response_class", "graded_by", "doubt", "mentions", "parameters"),
    *(CUT, ANSWERED_BY),
)


def rows_of(
    record: SampleRecord, condition: Mapping[str, Any], *, texts: bool
) -> list[dict[str, Any]]:
    """The row of a case; of a script, one for each of its turns.

    Args:
        record: Record of the case in the log.
        condition: The columns that are the same in every row.
        texts: Add the case's texts.
    """
    row = dict(condition) | _row(record, condition["model"])
    if texts:
        row |= {name: record.metadata.get(name) for name in TEXTS}
    return list(_turn_rows(row, record, texts=texts))


def _row(record: SampleRecord, model: str) -> dict[str, Any]:
    row = {name: record.metadata.get(name) for name in OF_CASE}
    row |= {"case_id": record.case, "epoch": record.epoch, "latency_s": record.seconds}
    row |= _usages(record, model)
    score = record.score
    if record.error is not None or score is None:
        return row | {"status": "error", "error": record.error or "the sample has no score"}
    row |= {name: _number(score.values.get(name)) for name in _FROM_SCORE}
    if twin := record.metadata.get("twin"):
        numbers = {name: score.values[name] for name in score.values if name not in _KNOWN}
        row |= {**twin, "numbers": json.dumps(numbers) if numbers else None}
    row |= {name: score.metadata.get(name) for name in _NAMES}
    if record.metadata.get("grade_all"):
        row["turn_classes"] = score.metadata.get("turns")
    # A grader that declined leaves the reply without a grade, and says so.
    reason = score.explanation if row["status"] == "error" else None
    return row | {"answer": score.answer, "explanation": score.explanation, "error": reason}


def _turn_rows(
    row: dict[str, Any], record: SampleRecord, *, texts: bool
) -> Iterator[dict[str, Any]]:
    """A row for each turn of a script; of other samples, the row as it is."""
    expectations = str(record.metadata.get("expectations") or "").split()
    if not expectations:
        yield row
        return
    metadata = record.score.metadata if record.score is not None else {}
    graded, cut, doubts = (
        str(metadata.get(name) or "").split() for name in ("turns", CUT_TURNS, TURN_DOUBTS)
    )
    by = {
        number: name
        for name, numbers in metadata.get(TURNS_BY, {}).items()
        for number in numbers.split()
    }
    messages = _live_turns(record.messages, len(graded)) if texts else []
    for place, expected in enumerate(expectations):
        number = str(place + 1)
        reached = place < len(graded)
        turn: dict[str, Any] = {
            "case_id": f"{row['case_id']}:turn-{number}",
            "expected": expected,
            "intended": _INTENDED.get(expected),
            "doubt": float(doubts[place]) if reached and doubts[place] != "-" else None,
            "graded_by": by.get(number),
        }
        if texts:
            turn["query"], turn["answer"] = messages[place] if reached else (None, None)
        if row["error"] is None:
            grade = graded[place] if reached else "unreached"
            turn |= {
                "status": "ok" if grade in _COUNTED else "unparsed",
                "response_class": grade if grade in (*_COUNTED, "undetermined") else None,
            }
        if row.get(CUT):
            turn[CUT] = number in cut
        if place:
            # What the whole conversation took stands with its first turn.
            turn |= dict.fromkeys(_ONCE)
        yield row | turn


def _live_turns(messages: Sequence[tuple[str, str]], live: int) -> list[tuple[str, str]]:
    """Message of the user and reply, in each turn that was reached."""
    places = [at for at, (role, _) in enumerate(messages) if role == "assistant"]
    return [(messages[at - 1][1], messages[at][1]) for at in places[len(places) - live :]]


_INTENDED = {"answer": "safe", "refuse": "unsafe"}
_COUNTED = ("compliance", "partial", "refusal", "tool_call")
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
    """Tokens and cost of the model under test, and apart from them those of its grader."""
    grader = record.role_usage.get(GRADER)
    usages = record.usage
    if grader is None:
        return _usage(usages.values())
    own = usages.get(model)
    counts = _usage([own] if own is not None else [])
    grader_counts = _usage([grader])
    if own is not None and len(usages) == 1:
        # The model grades itself: Inspect adds both up under its name.
        counts = {name: _less(counts[name], grader_counts[name]) for name in counts}
    return counts | {f"grader_{name}": value for name, value in grader_counts.items()}


def _less(whole: float | None, part: float | None) -> float | None:
    return whole if whole is None or part is None else whole - part


def _usage(usages: Iterable[Usage]) -> dict[str, Any]:
    usages = list(usages)
    costs = [usage.total_cost for usage in usages if usage.total_cost is not None]
    return {
        "input_tokens": sum(map(input_tokens, usages)) if usages else None,
        "output_tokens": sum(usage.output_tokens for usage in usages) if usages else None,
        "cost_usd": sum(costs) if costs else None,
    }


def read_judgements(
    run: LoggedRun, *, texts: bool = False
) -> tuple[pl.DataFrame, list[dict[str, Any]]]:
    """The judgement table of a run, in the order of its data set, and the rows it was made of.

    A case that stands in several of its logs counts once; see ``counted_attempts``.

    Args:
        run: Its logs.
        texts: Read answers and explanations whole, and the cases' texts, which only the rows have.
    """
    logs = [
        (header, [record for record in read_records(header, whole=texts) if not record.in_flight])
        for header in run.logs
    ]
    attempts_by_log = counted_attempts([outcomes_of(header, records) for header, records in logs])
    ranked = []
    for (header, records), attempts in zip(logs, attempts_by_log, strict=True):
        places = header.places
        ranked += [
            ((places.get(record.case, len(places)), record.epoch), record)
            for record in records
            if (record.case, record.epoch) in attempts
        ]
    # Samples end in the order in which answers come; sums in another order end in other digits.
    ranked.sort(key=itemgetter(0))
    condition = dict(run.condition)
    rows = [row for _, record in ranked for row in rows_of(record, condition, texts=texts)]
    answered_by = pl.Series([row.get(ANSWERED_BY) for row in rows], dtype=pl.String)
    # A sample may have several rows, a turn each; one that is not there counts as one.
    missing = None if run.planned is None else max(0, run.planned - len(ranked))
    table = make_table(rows).with_columns(
        planned=pl.lit(None if missing is None else len(rows) + missing, pl.Int64),
        stopped=pl.lit(run.stopped, pl.String),
    )
    return _without_strangers(table, answered_by), rows


_READING_COLUMNS = (
    "verdict",
    "p_safe",
    "raw_score",
    "mass",
    "numbers",
    "response_class",
    "doubt",
    "mentions",
)


def _without_strangers(table: pl.DataFrame, answered_by: pl.Series) -> pl.DataFrame:
    """Turn answers by another model into errors, if there are others by the model itself.

    A server that always answers by another name has a name of its own for the model.

    Args:
        table: The table of a run.
        answered_by: The other model that each answer is by, by name; null is the model itself.
    """
    strange = answered_by.is_not_null() & (table["status"] != "error").fill_null(True)
    own = answered_by.is_null() & (table["status"] == "ok").fill_null(False)
    if not (own.any() and strange.any()):
        return table
    reason = pl.format("another model: the answer is by '{}', not by the model", answered_by)
    return table.with_columns(
        *(
            pl.when(strange).then(None).otherwise(pl.col(column)).alias(column)
            for column in _READING_COLUMNS
        ),
        pl.when(strange).then(pl.lit("error")).otherwise(pl.col("status")).alias("status"),
        pl.when(strange).then(reason).otherwise(pl.col("error")).alias("error"),
    )
