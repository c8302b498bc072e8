"""Figures of a rule: of a run, of its baseline, their difference; and how complete a run is."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np

from casewise.cases import LabelRule
from casewise.errors import InputError, some
from casewise.gate.rules import GateConfig, GateRule
from casewise.judgements import RunState, lost_rows, run_state
from casewise.measures import Scoring, family_of, gated_measures
from casewise.protocols import RunCondition
from casewise.results import (
    Comparison,
    Run,
    Score,
    Verdict,
    are_comparable,
    compare_runs,
    correct_scores,
    score_rows,
)
from casewise.statistics import UNDEFINED, Estimate, ratio


def is_about(rule: GateRule, condition: RunCondition) -> bool:
    """Tell whether a rule is about a condition."""
    return all(_matches_any(condition[column], rule.values(column)) for column in rule.where)


def select(rule: GateRule, runs: Sequence[Run], config: GateConfig) -> list[Run]:
    """The conditions that a rule is about; none only where a configuration skips such rules.

    Raises:
        InputError: The rule matches nothing, or the measure isn't defined for what it matches.
    """
    matched = [run for run in runs if is_about(rule, run.condition)]
    if not matched:
        raise _no_match(rule, config, [run.condition for run in runs])
    measured = [
        run
        for run in matched
        for protocol in [run.condition.protocol]
        if rule.measure.is_for(family_of(protocol), protocol)
    ]
    if not measured and not config.skips:
        titles = "; ".join(dict.fromkeys(run.condition.title for run in matched))
        problem = f"{rule.measure.name} isn't defined for {titles}"
        raise config.fault(
            rule, problem, field="measure", expected=f"one of {', '.join(gated_measures())}"
        )
    return measured


_NARROWER = ("prompt_version", "model")
"""Fields in which a baseline's condition may differ; of several, these narrow them."""


def runs_like(run: Run, baseline: Sequence[Run]) -> list[Run]:
    """Those under the same condition; of several, those of the same prompt and model."""
    target = run.condition
    same = target.same_but(*_NARROWER)
    alike = [run for run in baseline if run.condition.same_but(*_NARROWER) == same]
    for key in _NARROWER:
        closer = [run for run in alike if run.condition[key] == target[key]]
        alike = closer if len(alike) > 1 and closer else alike
    return alike


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
    """Share of the judgements that were to be made that are there and were read."""
    is_provisional: bool = False
    """True if it rests on rules' grades, not corrected for their errors."""

    @property
    def judged(self) -> Estimate:
        """The figure that a limit is about: the value, or its change against the baseline."""
        return self.value if self.baseline is None else self.value - self.baseline


@dataclass(frozen=True)
class GatedRun:
    """A run that rules are about, beside its baseline if there is one."""

    run: Run
    baseline: Run | None
    config: GateConfig

    @property
    def scoring(self) -> Scoring:
        """Rules of scoring."""
        return Scoring(self.config.labels)

    @property
    def shares_data(self) -> bool:
        """Tell whether it is over the same version of the data as its baseline."""
        other = self.baseline
        return other is not None and self.run.condition.has_data_of(other.condition)

    @cached_property
    def state(self) -> RunState:
        """State of the run; it must have the cases of a baseline over the same data."""
        state = run_state(self.run.rows)
        if self.baseline is None or not self.shares_data:
            return state
        lost = len(lost_rows(self.run.rows, self.baseline.rows))
        planned = max(state.planned, state.n_rows + lost)
        recorded = state.is_recorded and planned == state.planned
        return replace(state, planned=planned, is_recorded=recorded)

    @cached_property
    def score(self) -> Score:
        """Score of the run, corrected where people labelled its replies."""
        rule = self.scoring.rule(self.run.rows)
        score = score_rows(self.run.rows, self.run.condition, rule, self.scoring)
        return correct_scores([score], self.config.checks)[0]

    @cached_property
    def comparison(self) -> Comparison | None:
        """The run against its baseline; None where they share no answered, labelled case."""
        if self.baseline is None or not are_comparable(self.baseline, self.run, self.scoring):
            return None
        return compare_runs([(self.baseline, self.run)], self.scoring, self.config.checks)[0]

    @cached_property
    def verdict(self) -> Verdict:
        """What is said of the run, against its baseline if there is one."""
        if comparison := self.comparison:
            return Verdict.of_change(comparison)
        return Verdict(self.run.condition.title, self.score)

    def figures(self, rule: GateRule) -> Figures:
        """The figures under a rule, against the baseline if it compares."""
        labels, coverage = self.scoring.rule(self.run.rows), _coverage(self.state)
        if rule.measure.name == "coverage":
            other = self.baseline if rule.compares else None
            before = _coverage(run_state(other.rows)) if other else None
            return Figures(coverage, before, labels, self.state.planned, coverage.value)
        scores: Sequence[Score] = (self.score,)
        if rule.compares:
            scores = self.comparison.scores if self.comparison else ()
        rates = [self._rate(rule, score) for score in scores] or [UNDEFINED, UNDEFINED]
        return Figures(
            *(rates[-1], rates[0] if rule.compares else None, labels),
            sum(score.statuses.get("ok", 0) for score in scores[-1:]),
            coverage.value,
            any(score.is_provisional for score in scores),
        )

    def _rate(self, rule: GateRule, score: Score) -> Estimate:
        """A measure of a score; undefined where labels of its replies were given, and fit none."""
        if self.config.checks and rule.measure.corrected and not score.is_corrected:
            return UNDEFINED
        # Scores of no answers at all have the measures of judges.
        return score.measures.get(rule.measure.name, UNDEFINED)


def _coverage(state: RunState) -> Estimate:
    """Share of the judgements that was read; it is counted, so it has no error."""
    return Estimate(ratio(state.statuses.get("ok", 0), state.planned), np.zeros(1))


def _matches_any(value: str | None, patterns: Sequence[str | None]) -> bool:
    if value is None:
        return None in patterns
    return any(pattern is not None and fnmatchcase(value, pattern) for pattern in patterns)


def _no_match(
    rule: GateRule, config: GateConfig, run_conditions: Sequence[RunCondition]
) -> InputError:
    """Error on the first column that has none of a rule's values, else on all of them."""
    missed = (
        name
        for name in rule.where
        if not any(_matches_any(condition[name], rule.values(name)) for condition in run_conditions)
    )
    name = next(missed, next(iter(rule.where)))
    values = sorted(
        {
            "null" if condition[name] is None else str(condition[name])
            for condition in run_conditions
        }
    )
    return config.fault(
        rule,
        "the rule matches nothing in the run",
        field=f"where.{name}",
        found=rule.where[name],
        expected=f"what there is: {some(values, 12)}",
    )
