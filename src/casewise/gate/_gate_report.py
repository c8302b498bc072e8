"""What a gate says, row by row, and as JSON values; what is undefined is null."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from casewise.cases import LabelRule
from casewise.gate._gate_rules import GateRule
from casewise.gate._history import BUILDS, FALSE_FAILS, Build
from casewise.gate._rule_figures import Extent
from casewise.gate._verdicts import GateVerdict, Needed
from casewise.scores import Change
from casewise.sheets import json_interval, json_number


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which a gate can't pass."""

    run: str
    """The model or the condition that it is missing of."""
    what: str
    """In few words: ``measure of safety``, ``planned judgements``."""
    text: str
    """What is missing and what would supply it, in whole sentences with the name."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One rule held against one condition of the run. NaN is undefined."""

    rule: GateRule
    run: str
    """The condition, under the shortest name that tells it from the run's others."""
    condition: dict[str, Any]
    against: str | None
    """The baseline's condition."""
    verdict: GateVerdict
    value: float
    """Of the run; against a baseline, over the cases that both answered."""
    baseline: float
    change: float
    """The run minus its baseline; NaN where the rule needs none."""
    low: float
    """One-sided bound of the value, or of the change, at the rule's confidence."""
    high: float
    n: int
    """Judgements that count, of each run."""
    queries: int
    """Queries that count in the measure."""
    coverage: float
    """Share of the labelled judgements that the run was to make that are there and were read."""
    left_out: int
    """Judgements of either run without an answered counterpart or a label."""
    labels: LabelRule
    needed: Needed | None
    """Of an undecided rule, how many cases would have decided it; None if no number does."""
    fails_beyond: float = math.nan
    """The bound that a fail rests on; of a build in a history it is wider than the other two."""
    as_graded: float = math.nan
    """The value before it was corrected for the grader's errors; NaN where it was not."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """Every verdict of a gate."""

    rows: tuple[GateRow, ...]
    """By condition, then by rule."""
    missing: tuple[Missing, ...]
    """What the run or the rules lack, so that nothing can pass."""
    extents: Mapping[str, Extent]
    """Of the conditions that were judged, by name: how much of what was planned is there."""
    notes: tuple[str, ...]
    """What must be said beside the verdicts, a sentence each."""
    changed: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    """Of the conditions that have a baseline, by name: the cases whose verdict is another now."""
    build: Build | None = None
    """Its place in the history; None without one."""

    @property
    def verdict(self) -> GateVerdict:
        """Fail if any rule fails; else undecided if any is, or something is missing; else pass."""
        found = {row.verdict for row in self.rows}
        for one in (GateVerdict.FAIL, GateVerdict.UNDECIDED):
            if one in found:
                return one
        return GateVerdict.UNDECIDED if self.missing else GateVerdict.PASS

    def count(self, verdict: GateVerdict) -> int:
        """How many rows have a verdict."""
        return sum(row.verdict is verdict for row in self.rows)


EXIT_STATUS = {GateVerdict.PASS: 0, GateVerdict.FAIL: 1, GateVerdict.UNDECIDED: 3}
"""What ``casewise gate`` ends with; 2 is bad input."""


def as_gate_record(report: GateReport) -> dict[str, Any]:
    """One object: the verdict, an object for each rule and condition, the notes."""
    return {
        "verdict": str(report.verdict),
        "exit_status": EXIT_STATUS[report.verdict],
        "counts": {str(one): report.count(one) for one in GateVerdict},
        "rules": [_row(row) for row in report.rows],
        "missing": [asdict(one) for one in report.missing],
        "judgements": [
            {"run": name, "there": one.there, "planned": one.planned, "lost": one.lost}
            for name, one in report.extents.items()
        ],
        "notes": list(report.notes),
        "changed": [
            {"run": name} | asdict(one) for name, found in report.changed.items() for one in found
        ],
        "history": _build(report.build) if report.build is not None else None,
    }


def _build(build: Build) -> dict[str, Any]:
    return {
        "build": build.number,
        "confidence": build.confidence,
        "spent": build.spent,
        "error": FALSE_FAILS,
        "builds": BUILDS,
    }


def _row(row: GateRow) -> dict[str, Any]:
    rule = row.rule
    bounds = json_interval((row.low, row.high))
    return {
        "rule": rule.number,
        "measure": rule.measure.name,
        str(rule.demand): rule.limit,
        "confidence": rule.confidence,
        "where": {column: list(values) for column, values in rule.where},
        "run": row.run,
        "baseline": row.against,
        "condition": {
            name: row.condition[name]
            for name in ("model", "protocol", "delivery", "ablation", "variant", "prompt_version")
        },
        "verdict": str(row.verdict),
        "value": json_number(row.value),
        "value_baseline": json_number(row.baseline),
        **({} if math.isnan(row.as_graded) else {"value_as_graded": row.as_graded}),
        "change": json_number(row.change),
        "bounds": bounds,
        "fails_beyond": json_number(row.fails_beyond),
        "labels": str(row.labels),
        "n": row.n,
        "queries": row.queries,
        "coverage": json_number(row.coverage),
        "left_out": row.left_out,
        "needed": asdict(row.needed) if row.needed is not None else None,
    }
