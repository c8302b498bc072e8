"""Everything that an evaluation card says besides the scores: runs, data, limits."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import polars as pl

from casewise.cases import LabelRule
from casewise.choices import RULES
from casewise.errors import InputError
from casewise.judgements import (
    PROVIDER,
    Judgements,
    RunRecord,
    conditions,
    find_logs,
    plain_notes,
    run_record,
    without_paths,
)
from casewise.measures import Scoring
from casewise.protocols import LOW_MASS, RunCondition
from casewise.scores._overview import Overview
from casewise.scores.score import Score

_SCRIPT = "script:"
"""Prefix of the ids of the turns of a deployment's conversation."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Facts of one condition, from its rows and its logs."""

    condition: RunCondition
    model: str
    """Name as it may be shown, without paths."""
    records: tuple[RunRecord, ...]
    """Records of its runs; empty where no log is at hand."""
    judgements: int
    cases: int
    """Cases of the data set; turns of a deployment's conversation are not counted."""
    queries: int
    turns: int
    """Judgements of the turns of a deployment's conversation."""
    epochs: int
    """Largest number of judgements of one case."""
    graded_by: dict[str, int]
    """Graded replies by ``rules``, ``provider`` or the model that graded; empty for judges."""


@dataclass(frozen=True, slots=True)
class DataFacts:
    """A data set, as far as its cases were judged."""

    hash: str
    version: str | None
    """None where their file gives none."""
    name: str | None
    """None where it is not recorded."""
    size: int | None
    """Cases of the whole data set; None where that is not recorded."""
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
    """Votes behind the labels, over all data sets; a case counts once."""

    cases: int
    """Cases with votes."""
    votes: int
    fewest: int
    """Votes of the case with fewest; 0 without any."""
    most: int


def run_facts(table: pl.DataFrame, records: Mapping[str, RunRecord]) -> list[RunFacts]:
    """Facts of each condition of a table, in the order of its scores."""
    return [_run(condition, rows, records) for condition, rows in conditions(table)]


def _run(condition: RunCondition, rows: pl.DataFrame, records: Mapping[str, RunRecord]) -> RunFacts:
    cases = rows.filter(~pl.col("case_id").str.starts_with(_SCRIPT))
    ids = rows["run_id"].unique(maintain_order=True).to_list()
    graded = rows.filter(pl.col("graded_by").is_not_null())["graded_by"]
    counted = graded.value_counts().sort("count", "graded_by", descending=[True, False])
    return RunFacts(
        condition=condition,
        model=without_paths(condition.model),
        records=tuple(records[one] for one in ids if one in records),
        judgements=len(rows),
        cases=cases["case_id"].n_unique(),
        queries=cases["query_id"].n_unique(),
        turns=len(rows) - len(cases),
        epochs=max(rows.group_by("case_id").len()["len"], default=0),
        graded_by={without_paths(name): count for name, count in counted.iter_rows()},
    )


def data_facts(table: pl.DataFrame, records: Sequence[RunRecord]) -> list[DataFacts]:
    """Facts of each data set of a table, in order of appearance."""
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
    """Votes on the cases of a table."""
    votes = _votes(table.unique("case_id", keep="first", maintain_order=True))
    fewest, most = min(votes, default=0), max(votes, default=0)
    return Voters(len(votes), int(votes.sum()), fewest, most)


def _votes(cases: pl.DataFrame) -> pl.Series:
    """Number of votes on each case that has any."""
    votes = cases.select(votes=pl.col("votes_safe") + pl.col("votes_unsafe"))["votes"]
    return votes.filter(votes > 0)


class Reason(StrEnum):
    """Reason for which cases of a data set were not asked."""

    LIMIT = "limit"
    """Only the first cases, or chosen ones, were asked for."""
    CHANGE = "change"
    """The run's variation or swap does not apply to them."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Judgements that one run's score leaves out."""

    run: int
    """Place of the run."""
    not_asked: int
    """Cases of the data set that were not asked; 0 also where its size is not recorded."""
    reason: Reason
    unlabelled: int
    """Judgements without a label under the rule."""
    unread: dict[str, int]
    """Labelled judgements that were not read, by status."""


def left_out(runs: Sequence[RunFacts], scores: Sequence[Score]) -> tuple[Uncounted, ...]:
    """Judgements that the score of each run leaves out; runs that leave out none are absent.

    ``scores`` has one for each run, in order, but for runs that rank pairs.
    """
    judged = [place for place, run in enumerate(runs) if not run.condition.of_pairs]
    pairs = zip(judged, scores, strict=True)
    found = (_left_out(place, runs[place], score) for place, score in pairs)
    return tuple(one for one in found if one.not_asked or one.unlabelled or one.unread)


def _left_out(place: int, run: RunFacts, score: Score) -> Uncounted:
    size = max((record.data_size or 0 for record in run.records), default=0)
    unread = {name: count for name, count in sorted(score.statuses.items()) if name != "ok"}
    return Uncounted(
        run=place,
        not_asked=max(size - run.cases, 0),
        reason=_reason(run),
        unlabelled=run.judgements - score.n,
        unread=unread,
    )


def _reason(run: RunFacts) -> Reason:
    if any("limit" in record.asked or record.cut for record in run.records):
        return Reason.LIMIT
    return Reason.CHANGE if run.condition.same_but("ablation").changed else Reason.UNKNOWN


FEW_QUERIES = 100
"""Queries below which the interval of a share near one half reaches .1 to either side."""

GOOD_COVERAGE = 0.95
"""Share of read answers below which the unread ones may turn the result."""

EMBEDDED = "casewise/smollm2"


class LimitKind(StrEnum):
    """Kind of limit that a reader must know."""

    INTENTIONS = "intentions"
    """Labels are the authors' intentions."""
    ONE_CROWD = "one-crowd"
    """Labels are the votes of one group of people."""
    PANELS = "panels"
    """Categories were voted on by different panels."""
    INTENT_BASELINE = "intent-baseline"
    """Guessing the intention scores high: ``accuracy`` says how high."""
    JUDGING_ONLY = "judging-only"
    """No model was asked to act."""
    RULES = "rules"
    """Replies were graded by the offline reader."""
    GRADED_BY_MODEL = "graded-by-model"
    EMBEDDED = "embedded"
    """The embedded model judges at chance."""
    FEW = "few"
    """Few queries: the numbers are from ``fewest`` to ``most``."""
    ASKED_ONCE = "asked-once"
    UNREAD = "unread"
    """Many answers were not read."""
    LOW_MASS = "low-mass"
    """The first token is hardly ever one of the two words."""
    CUT = "cut"
    FIRST_CASES = "first-cases"
    """Only the first, or chosen, cases of the data set were asked."""
    UNFINISHED = "unfinished"
    NOT_RECORDED = "not-recorded"
    """No log says how the run was made."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, and the runs it holds for."""

    kind: LimitKind
    runs: tuple[int, ...]
    """Places of the runs; empty for a limit of the whole evaluation."""
    figures: Mapping[str, float] = field(default_factory=dict)


def find_limits(
    runs: Sequence[RunFacts], data: Sequence[DataFacts], overview: Overview
) -> tuple[Limit, ...]:
    """Limits that hold, those of the labels first."""
    scores = overview.scores
    return (*_of_labels(data, scores, overview.report.baselines), *_of_runs(runs, scores))


def _of_labels(
    data: Sequence[DataFacts], scores: Sequence[Score], baselines: Sequence[Score]
) -> Iterable[Limit]:
    def ruled(wanted: Callable[[LabelRule], bool]) -> tuple[int, ...]:
        return _places(wanted(score.labels) for score in scores)

    if meant := ruled(lambda rule: rule is LabelRule.INTENDED):
        yield Limit(LimitKind.INTENTIONS, meant)
    voted = ruled(lambda rule: rule is not LabelRule.INTENDED)
    if voted:
        yield Limit(LimitKind.ONE_CROWD, voted)
    if any(one.published and len(one.categories) > 1 for one in data):
        yield Limit(LimitKind.PANELS, ())
    intent = [
        one.measures["accuracy"].value
        for one in baselines
        if one.condition.model == "baseline:intended" and one.labels is not LabelRule.INTENDED
    ]
    if intent:
        yield Limit(LimitKind.INTENT_BASELINE, (), {"accuracy": max(intent)})
    if scores and not any(score.acts for score in scores):
        yield Limit(LimitKind.JUDGING_ONLY, ())


def _of_runs(runs: Sequence[RunFacts], scores: Sequence[Score]) -> Iterable[Limit]:
    tests: dict[LimitKind, Iterable[bool]] = {
        LimitKind.RULES: (RULES in one.graded_by for one in runs),
        LimitKind.GRADED_BY_MODEL: (bool({*one.graded_by} - {RULES, PROVIDER}) for one in runs),
        LimitKind.EMBEDDED: (one.condition.model == EMBEDDED for one in runs),
        LimitKind.ASKED_ONCE: (_asked_once(one) for one in runs),
        LimitKind.UNREAD: (score.coverage < GOOD_COVERAGE for score in scores),
        LimitKind.LOW_MASS: (score.mass < LOW_MASS for score in scores),
        LimitKind.CUT: (bool(score.cut) for score in scores),
        LimitKind.FIRST_CASES: (_cut(one) for one in runs),
        LimitKind.UNFINISHED: (
            any(record.status != "success" for record in one.records) for one in runs
        ),
        LimitKind.NOT_RECORDED: (not one.records for one in runs),
    }
    few = _places(one.queries < FEW_QUERIES for one in runs)
    if few:
        queries = [runs[place].queries for place in few]
        ends = {"fewest": float(min(queries)), "most": float(max(queries))}
        yield Limit(LimitKind.FEW, few, ends)
    for kind, holds in tests.items():
        if places := _places(holds):
            yield Limit(kind, places)


def _asked_once(one: RunFacts) -> bool:
    averaged = any((record.samples or 1) > 1 for record in one.records)
    return bool(one.records) and one.epochs == 1 and not averaged


def _cut(one: RunFacts) -> bool:
    return any(
        ("limit" in record.asked or record.cut) and one.cases < (record.data_size or math.inf)
        for record in one.records
    )


def _places(holds: Iterable[bool]) -> tuple[int, ...]:
    return tuple(place for place, one in enumerate(holds) if one)


@dataclass(frozen=True, slots=True)
class EvaluationFacts:
    """Facts of an evaluation: runs, data, commands to repeat it, and limits."""

    sources: tuple[str, ...]
    """Last parts of the paths that were read."""
    checks: tuple[str, ...]
    """Names of the files of labelled replies."""
    runs: tuple[RunFacts, ...]
    """Runs in the order of the scores."""
    data: tuple[DataFacts, ...]
    voters: Voters
    limits: tuple[Limit, ...]
    commands: tuple[tuple[str, ...], ...]
    """Arguments of ``casewise`` that make the runs again; empty where no log is at hand."""
    hidden: tuple[str, ...]
    """Arguments of models that the commands lack, since their values may be private."""
    left_out: tuple[Uncounted, ...]
    notes: tuple[str, ...]
    """Notes on what was read and what was left out, without a path of this machine."""
    scoring: Scoring
    seed: int
    """Seed of simulated ceilings."""


def evaluation_facts(
    paths: Sequence[Path],
    judgements: Judgements,
    overview: Overview,
    scoring: Scoring,
    *,
    seed: int = 0,
) -> EvaluationFacts:
    """Gather what a card says besides the scores.

    Args:
        paths: Paths that the judgements were read from; headers of logs are read again.
        judgements: The judgements that were read.
        overview: The overview made from them.
        scoring: Rules by which the overview was made.
        seed: Seed with which the overview was made.
    """
    records = run_records(paths)
    runs = run_facts(judgements.table, {record.run_id: record for record in records})
    used = [record for run in runs for record in run.records]
    data = data_facts(judgements.table, used)
    return EvaluationFacts(
        sources=tuple(path.resolve().name for path in paths),
        checks=tuple(file.path.name for file in overview.checks),
        runs=tuple(runs),
        data=tuple(data),
        voters=voters(judgements.table),
        limits=find_limits(runs, data, overview),
        commands=tuple(dict.fromkeys(one.command for one in used if one.command)),
        hidden=tuple(sorted({name for one in used for name in one.hidden_args})),
        left_out=left_out(runs, overview.scores),
        notes=plain_notes(overview.notes),
        scoring=scoring,
        seed=seed,
    )


def run_records(paths: Sequence[Path]) -> list[RunRecord]:
    """Records of the runs whose logs are among the paths; empty where there is no log."""
    try:
        headers, _ = find_logs(paths)
    except InputError:  # the judgements came from tables or published outputs alone
        return []
    return [run_record(header) for header in headers]
