"""Judgements of a run as a table: of one log, or of many that count as one."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import polars as pl

from casewise.errors import InputError
from casewise.files import address_of
from casewise.judgements.schema import OF_CASE, TEXTS, complete_table, filled_columns
from casewise.logs import (
    ANSWERED_BY,
    CUT,
    CUT_TURNS,
    ESTIMATED,
    GRADER,
    SHARDS,
    TURN_DOUBTS,
    TURNS_BY,
    Asked,
    Attempts,
    LoggedRun,
    LogHeader,
    SampleRecord,
    TokenUsage,
    counting,
    input_tokens,
    read_records,
    runs_of,
)

_FROM_SCORE = ("p_safe", "raw_score", "mass")
_KNOWN = {*_FROM_SCORE, "read", "says_safe", "as_intended"}
_NAMES = ("status", "verdict", "response_class", "graded_by", "doubt", "mentions", "parameters")


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
    row[CUT] = score.metadata[CUT]
    row[ANSWERED_BY] = score.metadata.get(ANSWERED_BY)
    if record.metadata.get("grade_all"):
        row["turn_classes"] = score.metadata.get("turns")
    # A grader that declined leaves the reply without a grade, and says so.
    reason = score.explanation if row["status"] == "error" else None
    return row | {"answer": score.answer, "explanation": score.explanation, "error": reason}


def _turn_rows(
    row: dict[str, Any], record: SampleRecord, *, texts: bool
) -> Iterator[dict[str, Any]]:
    """A row for each turn of a script; of other samples, the row as it is."""
    wanted = str(record.metadata.get("expectations") or "").split()
    if not wanted:
        yield row
        return
    score = record.score
    graded = str(score.metadata.get("turns") or "").split() if score is not None else []
    cut = str(score.metadata.get(CUT_TURNS) or "").split() if score is not None else []
    by, doubts = _by_turn(score.metadata, len(graded)) if score is not None else ({}, {})
    said = _turns_said(record.messages, len(graded)) if texts else []
    for place, expected in enumerate(wanted):
        turn: dict[str, Any] = {
            "case_id": f"{row['case_id']}:turn-{place + 1}",
            "expected": expected,
        }
        turn["intended"] = _INTENDED.get(expected)
        if texts:
            turn["query"], turn["answer"] = said[place] if place < len(said) else (None, None)
        if row["error"] is None:
            found = graded[place] if place < len(graded) else "unreached"
            turn |= {
                "status": "ok" if found in _COUNTED else "unparsed",
                "response_class": found if found in (*_COUNTED, "undetermined") else None,
            }
        if row.get(CUT):
            turn[CUT] = str(place + 1) in cut
        turn["doubt"] = doubts.get(place)
        turn["graded_by"] = by.get(place)
        if place:
            # What the whole conversation took stands with its first turn.
            turn |= dict.fromkeys(_ONCE)
        yield row | turn


def _by_turn(said: Mapping[str, Any], turns: int) -> tuple[dict[int, str], dict[int, float]]:
    """Grader and doubt of each reply, by its place."""
    doubts = said[TURN_DOUBTS].split()
    return (
        {
            int(number) - 1: name
            for name, places in said[TURNS_BY].items()
            for number in places.split()
        },
        {place: float(one) for place, one in enumerate(doubts[:turns]) if one != "-"},
    )


def _turns_said(messages: Sequence[tuple[str, str]], live: int) -> list[tuple[str, str]]:
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
    told = {name: used for name, used in record.usage.items() if not name.endswith(ESTIMATED)}
    if grader is None:
        return _usage(told.values())
    own = told.get(model)
    used = _usage([own] if own is not None else [])
    graded = _usage([grader])
    if own is not None and len(told) == 1:
        # The model grades itself: Inspect adds both up under its name.
        used = {name: _less(used[name], graded[name]) for name in used}
    return used | {f"grader_{name}": value for name, value in graded.items()}


def _less(whole: float | None, part: float | None) -> float | None:
    return whole if whole is None or part is None else whole - part


def _usage(usages: Iterable[TokenUsage]) -> dict[str, Any]:
    usages = list(usages)
    costs = [usage.total_cost for usage in usages if usage.total_cost is not None]
    return {
        "input_tokens": sum(map(input_tokens, usages)) if usages else None,
        "output_tokens": sum(usage.output_tokens for usage in usages) if usages else None,
        "cost_usd": sum(costs) if costs else None,
    }


Keep = Callable[[Iterable[Mapping[str, Any]]], None]


def choose_logs(headers: Iterable[LogHeader]) -> tuple[list[LoggedRun], list[str]]:
    """The runs that logs are of, in their order, with a note on each that did not end."""
    runs = sorted(runs_of(headers), key=lambda run: run.first.order)
    return runs, [
        f"{_place(run)}: the run ended early ({run.stopped}); what it has counts"
        for run in runs
        if run.stopped
    ]


def _place(run: LoggedRun) -> str:
    """Address of a run's log, or of the folder of its logs."""
    path = run.first.path
    if run.alone:
        return address_of(path)
    return address_of(
        path.parent.parent.parent if path.parent.parent.name == SHARDS else path.parent
    )


def read_judgements(
    run: LoggedRun, *, texts: bool = False, keep: Keep | None = None
) -> pl.DataFrame:
    """The judgement table of a run, in the order of its data set.

    A case that stands in several of its logs counts once; see ``counting``.

    Args:
        run: Its logs.
        texts: Read answers and explanations whole, and the cases' texts.
        keep: Given the rows with their texts, if these are read.
    """
    # A log at a time: as rows, judgements take ten times the memory that they take in a table.
    logs = [_read(header, run, texts, keep) for header in run.logs]
    table = pl.concat([log.table for log in logs], how="diagonal")
    if len(logs) > 1:
        counted = _counted(logs)
        # Usually all count, and a copy of a large table is as large.
        if not counted.all():
            table = table.filter(counted)
        table = table.sort(_PLACE, "epoch", maintain_order=True)
    planned = None
    if run.planned is not None:
        # A sample may have several rows, a turn each; one that is not there counts as one.
        planned = len(table) + max(0, run.planned - table.select(_PLACE, "epoch").n_unique())
    whole = complete_table(
        table, dict(run.condition) | {"planned": planned, "stopped": run.stopped}
    )
    return _without_strangers(whole, table[ANSWERED_BY])


_PLACE = "_place"
"""Column with a sample's place in the whole run."""


@dataclass(frozen=True, slots=True)
class _Read:
    """Rows of one log."""

    table: pl.DataFrame
    asked: list[Asked]
    """Case and epoch of each row."""
    attempts: Attempts


def _counted(logs: Sequence[_Read]) -> pl.Series:
    """Mask of rows of attempts that count."""
    counted = counting([log.attempts for log in logs])
    found = [
        asked in attempts
        for log, attempts in zip(logs, counted, strict=True)
        for asked in log.asked
    ]
    return pl.Series(found, dtype=pl.Boolean)


def _read(header: LogHeader, run: LoggedRun, texts: bool, keep: Keep | None) -> _Read:
    records = [one for one in read_records(header, whole=texts) if not one.in_flight]
    # Samples end in the order in which answers come; sums in another order end in other digits.
    places = header.places
    ranked = [((places.get(one.case, len(places)), one.epoch), one) for one in records]
    ranked.sort(key=itemgetter(0))
    condition = run.condition
    rows, asked, at = [], list[Asked](), list[int]()
    for (place, epoch), record in ranked:
        try:
            found = rows_of(record, condition, texts=texts)
        except KeyError as error:
            problem = f"a log of another edition of casewise, whose scores have no {error}"
            raise InputError(problem, file=header.path) from None
        rows += found
        asked += [(record.case, epoch)] * len(found)
        at += [place] * len(found)
    names = pl.Series(ANSWERED_BY, [row.pop(ANSWERED_BY, None) for row in rows], pl.String)
    if keep is not None:
        keep(rows)
    table = filled_columns(rows, condition).with_columns(names, pl.Series(_PLACE, at, pl.Int64))
    return _Read(table, asked, Attempts.of_records(header, records))


_SAID = ("verdict", "p_safe", "raw_score", "mass", "numbers", "response_class", "doubt", "mentions")


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
        *(pl.when(strange).then(None).otherwise(pl.col(one)).alias(one) for one in _SAID),
        pl.when(strange).then(pl.lit("error")).otherwise(pl.col("status")).alias("status"),
        pl.when(strange).then(reason).otherwise(pl.col("error")).alias("error"),
    )
