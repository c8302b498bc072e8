"""Runs and data sets as a card describes them, and what each score leaves out, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import polars as pl

from casewise.scores._condition_scores import Score, conditions
from casewise.scores._run_record import RunRecord, without_paths

_SCRIPT = "script:"
"""How the ids of a conversation's turns begin."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """One condition: what its rows show, and what the logs say of it."""

    condition: dict[str, Any]
    model: str
    """As it may be shown."""
    records: tuple[RunRecord, ...]
    """Of every log that it was made from; empty where no log is at hand."""
    judgements: int
    cases: int
    """Of the data set; a deployment's conversation is none."""
    queries: int
    turns: int
    """Judgements of a deployment's conversation."""
    epochs: int
    """The most often that a case was asked."""
    graded_by: dict[str, int]
    """Graded replies by ``rules``, ``provider`` or the model that graded; empty of judges."""


@dataclass(frozen=True, slots=True)
class DataFacts:
    """A data set, as far as its cases were judged."""

    hash: str
    version: str | None
    """None where these cases were not released under one."""
    name: str | None
    """None is not recorded; so is the next."""
    size: int | None
    cases: int
    queries: int
    categories: tuple[str, ...]
    """Sorted."""
    intended: dict[str, int]
    """Cases by what was intended: ``safe``, ``unsafe``."""
    voted: int
    """Cases with votes."""
    published: int
    """Cases with a published safe rate."""


@dataclass(frozen=True, slots=True)
class Voters:
    """The people behind the labels, over all data sets; a case counts once."""

    cases: int
    """Cases with votes."""
    votes: int
    fewest: int
    """Votes of the case with fewest; 0 without any."""
    most: int


def run_facts(table: pl.DataFrame, records: Mapping[str, RunRecord]) -> list[RunFacts]:
    """What each condition of a table is, in the order of its scores."""
    return [_run(condition, rows, records) for condition, rows in conditions(table)]


def _run(
    condition: dict[str, Any], rows: pl.DataFrame, records: Mapping[str, RunRecord]
) -> RunFacts:
    cases = rows.filter(~pl.col("case_id").str.starts_with(_SCRIPT))
    ids = rows["run_id"].unique(maintain_order=True).to_list()
    graded = rows.filter(pl.col("graded_by").is_not_null())["graded_by"]
    counted = graded.value_counts().sort("count", "graded_by", descending=[True, False])
    return RunFacts(
        condition=condition,
        model=without_paths(str(condition["model"])),
        records=tuple(records[one] for one in ids if one in records),
        judgements=len(rows),
        cases=cases["case_id"].n_unique(),
        queries=cases["query_id"].n_unique(),
        turns=len(rows) - len(cases),
        epochs=_most(rows.group_by("case_id").len()["len"]),
        graded_by={without_paths(name): count for name, count in counted.iter_rows()},
    )


def data_facts(table: pl.DataFrame, records: Sequence[RunRecord]) -> list[DataFacts]:
    """What each data set of a table is, in order of appearance."""
    named = {record.data_hash: record for record in records}
    return [
        _data(rows, named.get(str(key)))
        for (key,), rows in table.group_by(["dataset_hash"], maintain_order=True)
    ]


def _data(rows: pl.DataFrame, record: RunRecord | None) -> DataFacts:
    whole = rows.filter(~pl.col("case_id").str.starts_with(_SCRIPT))
    cases = whole.unique("case_id", keep="first", maintain_order=True)
    intended = cases["intended"].drop_nulls().value_counts().sort("intended")
    return DataFacts(
        hash=str(rows["dataset_hash"][0]),
        version=rows["dataset_version"][0],
        name=record.data if record is not None else None,
        size=record.data_size if record is not None else None,
        cases=len(cases),
        queries=cases["query_id"].n_unique(),
        categories=tuple(sorted(cases["category"].drop_nulls().unique())),
        intended=dict(intended.iter_rows()),
        voted=len(_votes(cases)),
        published=cases["published_safe_rate"].count(),
    )


def voters(table: pl.DataFrame) -> Voters:
    """Who voted on the cases of a table."""
    votes = _votes(table.unique("case_id", keep="first", maintain_order=True))
    return Voters(len(votes), int(votes.sum()), min(votes, default=0), _most(votes))


def _votes(cases: pl.DataFrame) -> pl.Series:
    """How many people voted on each case that somebody voted on."""
    votes = cases.select(votes=pl.col("votes_safe") + pl.col("votes_unsafe"))["votes"]
    return votes.filter(votes > 0)


def _most(counts: pl.Series) -> int:
    return max(counts, default=0)


class Reason(StrEnum):
    """Why cases of a data set were not asked."""

    LIMIT = "limit"
    """Only the first were wanted."""
    CHANGE = "change"
    """A variation or a swap that means nothing for them."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What one run's score does not count."""

    run: int
    """Its place."""
    not_asked: int
    """Cases of the data set; 0 also where its size is not recorded."""
    reason: Reason
    unlabelled: int
    """Judgements without a label under the rule."""
    unread: dict[str, int]
    """Labelled judgements that were not read, by status."""


def left_out(runs: Sequence[RunFacts], scores: Sequence[Score]) -> tuple[LeftOut, ...]:
    """What each run leaves out; runs that leave out nothing are not among them."""
    found = [
        _left_out(place, run, score)
        for place, (run, score) in enumerate(zip(runs, scores, strict=True))
    ]
    return tuple(one for one in found if one.not_asked or one.unlabelled or one.unread)


def _left_out(place: int, run: RunFacts, score: Score) -> LeftOut:
    size = max((record.data_size or 0 for record in run.records), default=0)
    unread = {name: count for name, count in sorted(score.statuses.items()) if name != "ok"}
    return LeftOut(
        run=place,
        not_asked=max(size - run.cases, 0),
        reason=_reason(run),
        unlabelled=run.judgements - score.n,
        unread=unread,
    )


def _reason(run: RunFacts) -> Reason:
    variant = str(run.condition["variant"] or "")
    if any("limit" in record.asked or record.cut for record in run.records):
        return Reason.LIMIT
    return Reason.CHANGE if "vary=" in variant or "swap=" in variant else Reason.UNKNOWN
