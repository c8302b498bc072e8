"""Everything that an evaluation card says besides the scores: runs, data, and limits."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from casewise.cases import LabelRule
from casewise.choices import RULES
from casewise.errors import InputError
from casewise.protocols import LOW_MASS
from casewise.scores._condition_scores import Score, Scoring
from casewise.scores._judgement_sources import Judgements, find_logs
from casewise.scores._judgement_table import PROVIDER
from casewise.scores._overview import Overview
from casewise.scores._run_commands import hidden_arguments, run_commands
from casewise.scores._run_facts import (
    DataFacts,
    LeftOut,
    RunFacts,
    Voters,
    data_facts,
    left_out,
    run_facts,
    voters,
)
from casewise.scores._run_record import RunRecord, plain_notes

FEW_QUERIES = 100
"""Below so many queries the interval of a share near one half reaches .1 to either side."""

GOOD_COVERAGE = 0.95
"""Below this share of read answers, what was not read may turn the result."""

EMBEDDED = "casewise/smollm2"


class LimitKind(StrEnum):
    """What a reader must beware of."""

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
    """``queries`` says how few."""
    ASKED_ONCE = "asked-once"
    UNREAD = "unread"
    """Many answers were not read."""
    LOW_MASS = "low-mass"
    """The first token is hardly ever one of the two words."""
    FIRST_CASES = "first-cases"
    """Only the first cases of the data set were asked."""
    UNFINISHED = "unfinished"
    NOT_RECORDED = "not-recorded"
    """No log says how the run was made."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit, and the runs it holds for."""

    kind: LimitKind
    runs: tuple[int, ...]
    """Their places; empty where the kind is of the data."""
    figures: Mapping[str, float] = field(default_factory=dict)


def find_limits(
    runs: Sequence[RunFacts], data: Sequence[DataFacts], overview: Overview
) -> tuple[Limit, ...]:
    """The limits that hold, those of the data first."""
    scores = overview.scores
    found = [*_of_labels(data, scores, overview.report.baselines), *_of_runs(runs, scores)]
    return tuple(found)


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
        if one.condition["model"] == "baseline:intended" and one.labels is not LabelRule.INTENDED
    ]
    if intent:
        yield Limit(LimitKind.INTENT_BASELINE, (), {"accuracy": max(intent)})
    if scores and not any(score.acts for score in scores):
        yield Limit(LimitKind.JUDGING_ONLY, ())


def _of_runs(runs: Sequence[RunFacts], scores: Sequence[Score]) -> Iterable[Limit]:
    tests: dict[LimitKind, Iterable[bool]] = {
        LimitKind.RULES: (RULES in one.graded_by for one in runs),
        LimitKind.GRADED_BY_MODEL: (set(one.graded_by) > {*one.graded_by} & _KNOWN for one in runs),
        LimitKind.EMBEDDED: (one.condition["model"] == EMBEDDED for one in runs),
        LimitKind.ASKED_ONCE: (_asked_once(one) for one in runs),
        LimitKind.UNREAD: (score.coverage < GOOD_COVERAGE for score in scores),
        LimitKind.LOW_MASS: (score.mass < LOW_MASS for score in scores),
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


_KNOWN = {RULES, PROVIDER}


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
    """What was run, on what, how to run it again, and what it can't say."""

    sources: tuple[str, ...]
    """The last parts of the paths that were read."""
    checks: tuple[str, ...]
    """The same of the files of labelled replies."""
    runs: tuple[RunFacts, ...]
    """In the order of the scores."""
    data: tuple[DataFacts, ...]
    voters: Voters
    limits: tuple[Limit, ...]
    commands: tuple[tuple[str, ...], ...]
    """Arguments of ``casewise`` that make the runs again; empty where no log is at hand."""
    hidden: tuple[str, ...]
    """Arguments of models that the commands lack, since their values may be private."""
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]
    """On what was read and what was left out, without a path of this machine."""
    scoring: Scoring
    seed: int
    """Of simulated ceilings."""


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
        paths: Where the judgements were read from; logs are looked at again for their headers.
        judgements: What was read.
        overview: What was made from it.
        scoring: As the overview was made.
        seed: As the overview was made.
    """
    records = _records(paths)
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
        commands=tuple(run_commands(used)),
        hidden=hidden_arguments(used),
        left_out=left_out(runs, overview.scores),
        notes=plain_notes(overview.notes, paths),
        scoring=scoring,
        seed=seed,
    )


def _records(paths: Sequence[Path]) -> list[RunRecord]:
    """What the logs say of their runs; none where there is no log."""
    try:
        headers, _ = find_logs(paths)
    except InputError:  # the judgements came from tables or published outputs alone
        return []
    # Inspect takes seconds to import; tables and published outputs are described without it.
    from casewise.scores._logged_runs import run_record

    return [run_record(header) for header in headers]
