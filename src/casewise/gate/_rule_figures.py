"""Figures of a rule: of a run, of its baseline, their difference; and how complete a run is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from casewise.cases import LabelRule, default_rule
from casewise.choices import Needs, Origin, WeighBy
from casewise.gate._conditions import case_rows, check_rows
from casewise.gate._gate_rules import CASE_COLUMNS, GateConfig, GateRule
from casewise.judgements import ANSWER_KEYS, RunState, lost_rows, planned_in, run_state
from casewise.measures import Scoring, label_fields, labelled_rows, make_answers
from casewise.replies import GraderCorrection, RepliedRun, correct_rates
from casewise.results import Run, Score, score_rows, score_together
from casewise.statistics import (
    UNDEFINED,
    Estimate,
    ratio,
)

_PAIRS = {
    Needs.PAIRS: (
        "both contexts of a query",
        "a case meant safe and one meant unsafe of the same query",
    ),
    Needs.ALL_PAIRS: ("two contexts of a query", "several cases of the same query"),
}
"""Pairs that a measure needs: their name, and cases that would have some."""


@dataclass(frozen=True, slots=True)
class Completeness:
    """Judgements of a run that are there, and those that are missing."""

    state: RunState
    """Judgements beside their plan, with a sentence of their own."""
    lost: int = 0
    """Judgements of cases that the baseline has and the run doesn't."""

    @property
    def missing(self) -> int:
        """Least number of missing judgements: those not reached are most often the lost ones."""
        return max(self.state.not_asked, self.lost)

    @property
    def sentences(self) -> Sequence[str]:
        """Clauses on what is missing, without the run's name."""
        lost = f"{self.lost} judgements are missing of cases that the baseline has"
        return [one for one in (self.state.sentence, self.lost and lost) if one]


def completeness_of(rows: pl.DataFrame, baseline: pl.DataFrame | None = None) -> Completeness:
    """Completeness of a condition.

    Args:
        rows: Of the condition.
        baseline: Of its counterpart, over the same data.
    """
    lost = 0 if baseline is None else len(lost_rows(rows, baseline))
    return Completeness(run_state(rows), lost)


_ALL = Scoring()


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures that a rule's verdict is made of."""

    value: Estimate
    """Figure of the run; against a baseline, over the cases that both answered."""
    baseline: Estimate | None
    labels: LabelRule
    n: int
    """Judgements that count, of each run."""
    coverage: float
    """Share of the planned, labelled judgements that are there and were read."""
    left_out: int
    """Against a baseline: judgements of either run without an answered counterpart or a label."""
    corrections: tuple[GraderCorrection, ...] = ()
    """Corrections of value and baseline for the grader's errors."""

    @property
    def change(self) -> Estimate | None:
        """The run minus its baseline, with its paired error; None without one."""
        return None if self.baseline is None else self.value - self.baseline

    @property
    def judged(self) -> Estimate:
        """The figure that a limit is about: the change, or without a baseline the value."""
        change = self.change
        return self.value if change is None else change


class _Key(NamedTuple):
    """Key that rules about the same runs, cases and labels share."""

    runs: tuple[int, ...]
    labels: LabelRule
    weigh_by: WeighBy
    cases: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class FigureMaker:
    """Makes figures; rules about the same cases share their scores."""

    config: GateConfig
    _scores: dict[_Key, tuple[Score, ...]] = field(default_factory=dict)
    _corrections: dict[_Key, tuple[GraderCorrection, ...]] = field(default_factory=dict)

    @property
    def corrections(self) -> list[GraderCorrection]:
        """Corrections that figures were made of."""
        return [one for found in self._corrections.values() for one in found]

    def make(
        self,
        rule: GateRule,
        run: Run,
        against: Run | None,
        baseline: pl.DataFrame | None = None,
    ) -> Figures:
        """The figures of one condition under one rule.

        Args:
            rule: The rule.
            run: The condition's run.
            against: The baseline's, if the rule compares.
            baseline: Rows whose cases the condition must have, if there are any.

        Raises:
            InputError: No case has a label, or what the measure needs; the runs share no case.
        """
        runs = [run] if against is None else [run, against]
        parts = [case_rows(rule, one.rows) for one in runs]
        check_rows(rule, run.rows, parts[0], self.config)
        labels = rule.labels or default_rule(label_fields(parts[0]))
        labelled, _ = labelled_rows(parts[0], labels)
        if not len(labelled):
            raise self.config.fault(rule, f"no case of {run.name} has a label under '{labels}'")
        lost = None if baseline is None else case_rows(rule, baseline)
        coverage = _coverage(rule, parts[0], labels, lost)
        if len(parts) == 2:
            self._check_shared(rule, runs, parts)
        if rule.measure.origin is Origin.COVERAGE:
            other = _coverage(rule, parts[1], labels) if len(parts) == 2 else None
            return _coverages(parts[0], labels, coverage, other)
        return self._of_scores(rule, runs, parts, labels, coverage.value)

    def _of_scores(
        self,
        rule: GateRule,
        runs: list[Run],
        parts: list[pl.DataFrame],
        labels: LabelRule,
        coverage: float,
    ) -> Figures:
        for run, part in zip(runs, parts, strict=True):
            self._check_needs(rule, run, part, labels)
        scores = self._score(self._key(rule, runs, labels), runs, parts)
        # Scores of no answers at all have the measures of judges.
        value, *baseline = (one.measures.get(rule.measure.name, UNDEFINED) for one in scores)
        corrections = self._correct(rule, runs, parts, labels)
        if corrections:
            value, *baseline = (one.corrected[rule.measure.name] for one in corrections)
        read = round(scores[0].n * scores[0].coverage) if scores[0].n else 0
        if not baseline:
            return Figures(value, None, labels, read, coverage, 0, corrections)
        left_out = sum(map(len, parts)) - 2 * read
        return Figures(value, baseline[0], labels, read, coverage, left_out, corrections)

    def _correct(
        self, rule: GateRule, runs: list[Run], parts: list[pl.DataFrame], labels: LabelRule
    ) -> tuple[GraderCorrection, ...]:
        """The corrected rates that a rule is about; nothing where there are no labelled replies."""
        if not self.config.checks or not rule.measure.corrected:
            return ()
        key = self._key(rule, runs, labels)
        if key not in self._corrections:
            replied = [
                RepliedRun(run.condition, run.rows, part)
                for run, part in zip(runs[::-1], parts[::-1], strict=True)
            ]
            found = correct_rates(replied, labels, _ALL, self.config.checks)
            self._corrections[key] = tuple(reversed(found))
        return self._corrections[key]

    def alone(self, run: Run, labels: LabelRule) -> Score:
        """Score of a run over all of its cases, as rules about all of them have it."""
        return self._whole([run], labels)[0]

    def compared(self, before: Run, after: Run, labels: LabelRule) -> tuple[Score, Score]:
        """Scores before and after, over the cases that both answered, as such rules have them."""
        after_, before_ = self._whole([after, before], labels)
        return before_, after_

    def _whole(self, runs: Sequence[Run], labels: LabelRule) -> tuple[Score, ...]:
        key = _Key(tuple(map(id, runs)), labels, _ALL.weigh_by)
        return self._score(key, runs, [one.rows for one in runs])

    def _key(self, rule: GateRule, runs: Sequence[Run], labels: LabelRule) -> _Key:
        cases = tuple(one for one in rule.where if one[0] in CASE_COLUMNS)
        return _Key(tuple(map(id, runs)), labels, rule.weigh_by, cases)

    def _score(
        self, key: _Key, runs: Sequence[Run], parts: Sequence[pl.DataFrame]
    ) -> tuple[Score, ...]:
        """Scores of a run, and of its baseline, which labels the cases of both."""
        if key not in self._scores:
            scoring = replace(_ALL, weigh_by=key.weigh_by)
            pairs = [(run.condition, part) for run, part in zip(runs, parts, strict=True)]
            self._scores[key] = (
                (score_rows(pairs[0][1], pairs[0][0], key.labels, scoring),)
                if len(pairs) == 1
                else tuple(reversed(score_together(pairs[::-1], key.labels, scoring)))
            )
        return self._scores[key]

    def _check_needs(self, rule: GateRule, run: Run, rows: pl.DataFrame, labels: LabelRule) -> None:
        """Refuse a measure that the run's answers can't have, however many there are."""
        measure = rule.measure
        read = rows.filter(pl.col("status") == "ok")
        if measure.numbers and len(read) and read["p_safe"].is_null().all():
            raise self.config.fault(
                rule,
                f"{measure.name} needs probabilities, and {run.name} gives verdicts only",
                expected="a run under the protocol probability or score",
            )
        if measure.needs not in _PAIRS:
            return
        if not len(getattr(make_answers(*labelled_rows(rows, labels)), measure.needs)):
            what, expected = _PAIRS[measure.needs]
            raise self.config.fault(
                rule,
                f"{measure.name} needs {what}, and {run.name} has no such pair",
                expected=expected,
            )

    def _check_shared(
        self, rule: GateRule, runs: Sequence[Run], parts: Sequence[pl.DataFrame]
    ) -> None:
        keys = parts[0].select(ANSWER_KEYS)
        if not len(keys.join(parts[1].select(ANSWER_KEYS), on=ANSWER_KEYS, how="semi")):
            names = " and ".join(one.name for one in runs)
            raise self.config.fault(
                rule, f"{names} share no case", expected="runs over the same cases"
            )


@dataclass(frozen=True, slots=True)
class _Coverage:
    """Labelled judgements that were read, of those that were planned."""

    read: int
    of: int

    @property
    def value(self) -> float:
        return ratio(self.read, self.of)


def _coverage(
    rule: GateRule, rows: pl.DataFrame, labels: LabelRule, baseline: pl.DataFrame | None = None
) -> _Coverage:
    """Count the judgements that were read, of those planned or on the baseline's cases.

    The label of a missing judgement is unknown: the same share is taken to have one as of those
    that are there. So is its category: under a choice of cases only those count as missing whose
    cases the baseline has.
    """
    labelled, _ = labelled_rows(rows, labels)
    chosen = any(column in CASE_COLUMNS for column, _ in rule.where)
    open_ = 0 if chosen else planned_in(rows) - len(rows)
    unreached = math.ceil(open_ * ratio(len(labelled), len(rows))) if len(labelled) else open_
    lost = 0 if baseline is None else len(labelled_rows(lost_rows(rows, baseline), labels)[0])
    read = int((labelled["status"] == "ok").sum())
    return _Coverage(read, len(labelled) + max(unreached, lost))


def _coverages(
    rows: pl.DataFrame, labels: LabelRule, found: _Coverage, baseline: _Coverage | None
) -> Figures:
    """Coverages of both runs, each of its own plan; they are counted, so they have no error."""
    left_out = 0 if baseline is None else len(rows) - len(labelled_rows(rows, labels)[0])
    other = None if baseline is None else _counted(baseline.value)
    return Figures(_counted(found.value), other, labels, found.of, found.value, left_out)


def _counted(value: float) -> Estimate:
    return Estimate(value, np.zeros(1))


def defined(one: Estimate | None) -> bool:
    """Tell whether a figure has a value."""
    return one is not None and math.isfinite(one.value)
