"""Conditions of a run that a rule is about, and the counterpart of each."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import polars as pl

from casewise.choices import Measure
from casewise.errors import InputError, some
from casewise.gate._gate_rules import (
    CASE_COLUMNS,
    GateConfig,
    GateRule,
)
from casewise.measures import family_of, gated
from casewise.protocols import CONDITION, RunCondition
from casewise.results import Run

_NARROWER = ("prompt_version", "model")
"""Fields in which a baseline's condition may differ; of several, these narrow them."""


def select(rule: GateRule, runs: Sequence[Run], config: GateConfig) -> list[Run]:
    """The conditions that a rule is about; none only where a configuration skips such rules.

    Raises:
        InputError: The rule matches nothing, or the measure isn't defined for what it matches.
    """
    matched = [one for one in runs if is_about(rule, one.condition)]
    if not matched:
        raise _nothing(rule, [one.condition for one in runs], config)
    measured = [one for one in matched if has(one, rule.measure)]
    if not measured and not config.skips:
        raise _undefined(rule, matched, config)
    return measured


def counterpart(rule: GateRule, run: Run, baseline: Sequence[Run], config: GateConfig) -> Run:
    """Counterpart of a condition: the baseline's run under the same one.

    Raises:
        InputError: There is none, or there are several.
    """
    found = _like(run.condition, [one for one in baseline if has(one, rule.measure)])
    if len(found) == 1:
        return found[0]
    there = [one.name for one in found] or [one.condition.title for one in baseline]
    shared = run.condition.same_but(*_NARROWER)
    raise config.fault(
        rule,
        f"the baseline has {'several runs' if found else 'no run'} like {run.name} "
        f"({', '.join(str(shared[key]) for key in CONDITION if shared[key])})",
        expected=f"one: the baseline has {'; '.join(there)}",
    )


def run_like(run: Run, baseline: Sequence[Run]) -> Run | None:
    """The baseline's run under the condition of one; None if there is none, or several."""
    found = _like(run.condition, baseline)
    return found[0] if len(found) == 1 else None


def _like(wanted: RunCondition, runs: Sequence[Run]) -> list[Run]:
    """Those under the same condition; of several, those of the same prompt and model."""
    same = wanted.same_but(*_NARROWER)
    found = [one for one in runs if one.condition.same_but(*_NARROWER) == same]
    for key in _NARROWER:
        closer = [one for one in found if one.condition[key] == wanted[key]]
        found = closer if len(found) > 1 and closer else found
    return found


def is_about(rule: GateRule, condition: RunCondition) -> bool:
    """Tell whether a rule is about a condition."""
    return all(
        column in CASE_COLUMNS or _is_one_of(condition[column], values)
        for column, values in rule.where
    )


def case_rows(rule: GateRule, rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of the cases that a rule is about."""
    for column, values in rule.where:
        if column in CASE_COLUMNS:
            distinct = rows[column].unique().to_list()
            kept = [one for one in distinct if _is_one_of(one, values)]
            rows = rows.filter(pl.col(column).is_in(kept, nulls_equal=True))
    return rows


def check_rows(rule: GateRule, rows: pl.DataFrame, kept: pl.DataFrame, config: GateConfig) -> None:
    """Refuse a choice of cases that leaves none.

    Raises:
        InputError: No case is left; it names the column that lacks the value.
    """
    if len(kept):
        return
    for column, values in rule.where:
        there = rows[column].unique().to_list() if column in CASE_COLUMNS else []
        if column in CASE_COLUMNS and not any(_is_one_of(one, values) for one in there):
            raise _no_such(rule, column, values, there, config)
    raise config.fault(rule, "no case is all that the rule asks for")


def has(run: Run, measure: Measure) -> bool:
    """Tell whether a measure is defined for a run's protocol."""
    protocol = run.condition.protocol
    return measure.is_for(family_of(protocol), protocol)


def _is_one_of(value: str | None, wanted: Sequence[str | None]) -> bool:
    if value is None:
        return None in wanted
    return any(one is not None and fnmatchcase(value, one) for one in wanted)


def _nothing(rule: GateRule, conditions: Sequence[RunCondition], config: GateConfig) -> InputError:
    """Error on the first column that leaves no condition."""
    left = list(conditions)
    for column, values in rule.where:
        if column in CASE_COLUMNS:
            continue
        there = [one[column] for one in left]
        left = [one for one in left if _is_one_of(one[column], values)]
        if not left:
            return _no_such(rule, column, values, there, config)
    raise AssertionError("some condition matches")


def _no_such(
    rule: GateRule,
    column: str,
    values: Sequence[str | None],
    there: Sequence[str | None],
    config: GateConfig,
) -> InputError:
    names = sorted({str(one) if one is not None else "null" for one in there})
    return config.fault(
        rule,
        "the rule matches nothing in the run",
        field=f"where.{column}",
        found=values[0] if len(values) == 1 else list(values),
        expected=f"what there is: {some(names, _MOST_NAMES)}",
    )


_MOST_NAMES = 12


def _undefined(rule: GateRule, matched: Sequence[Run], config: GateConfig) -> InputError:
    measure = rule.measure
    there = "; ".join(dict.fromkeys(one.condition.title for one in matched))
    names = [name for name, one in gated().items() if any(has(run, one) for run in matched)]
    return config.fault(
        rule,
        f"{measure.name} isn't defined for {there}",
        field="measure",
        expected=f"one of {', '.join(names)}",
    )
