"""Report of a gate, row by row and as JSON values. In JSON, what is undefined is null."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from casewise.cases import LabelRule
from casewise.gate._gate_rules import GateRule
from casewise.gate._rule_figures import Completeness
from casewise.gate._verdicts import GateVerdict
from casewise.protocols import CONDITION, RunCondition
from casewise.replies import PROVISIONAL
from casewise.results import Change, Comparison, Failure, Score
from casewise.sheets import json_fields, json_interval, json_number


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which a gate can't pass."""

    run: str
    """Model or condition that lacks it."""
    what: str
    """The missing thing: ``judgements``, ``measure of safety``."""
    text: str
    """Sentences on what is missing and what would supply it, with the name of the run."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One rule held against one condition of the run. NaN is undefined."""

    rule: GateRule
    run: str
    """Shortest name that tells the condition from the others of the run."""
    condition: RunCondition
    against: str | None
    """Name of the baseline's condition."""
    verdict: GateVerdict
    value: float
    """Figure of the run; against a baseline, over the cases that both answered."""
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
    """Share of the planned, labelled judgements that are there and were read."""
    left_out: int
    """Judgements of either run without an answered counterpart or a label."""
    labels: LabelRule
    withheld: str = ""
    """Why there are no bounds; empty where there are."""
    as_graded: float = math.nan
    """The value before it was corrected for the grader's errors; NaN where it was not."""
    provisional: bool = False
    """True if it rests on rules' grades, not corrected for their errors."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """Every verdict of a gate."""

    rows: tuple[GateRow, ...]
    """Rows by condition, then by rule."""
    missing: tuple[Missing, ...]
    """Lacks of the run or the rules that keep the gate from passing."""
    completeness: Mapping[str, Completeness]
    """Completeness of the conditions that were judged, by name."""
    notes: tuple[str, ...]
    """Notes on the verdicts, a sentence each."""
    comparisons: tuple[Comparison, ...] = ()
    """The conditions that share cases with their baseline, each subtracted from it."""
    scores: tuple[Score, ...] = ()
    """Scores of the other conditions."""
    failures: Mapping[str, tuple[Failure, ...]] = field(default_factory=dict)
    """Cases that are newly wrong, by name of the conditions; furthest from people first."""

    @property
    def verdict(self) -> GateVerdict:
        """Fail if any rule fails; else undecided if any is, or something is missing; else pass."""
        if self.count(GateVerdict.FAIL):
            return GateVerdict.FAIL
        is_open = self.missing or self.count(GateVerdict.UNDECIDED)
        return GateVerdict.UNDECIDED if is_open else GateVerdict.PASS

    @property
    def changed(self) -> Mapping[str, tuple[Change, ...]]:
        """Cases whose verdict changed, by name of the conditions that are compared."""
        return {one.after: one.changed for one in self.comparisons}

    def count(self, verdict: GateVerdict) -> int:
        """Number of rows that have a verdict."""
        return sum(row.verdict is verdict for row in self.rows)


EXIT_STATUS = {GateVerdict.PASS: 0, GateVerdict.FAIL: 1, GateVerdict.UNDECIDED: 3}
"""Exit status of ``casewise gate``; 2 is bad input."""


def as_gate_record(report: GateReport) -> dict[str, Any]:
    """One object: the verdict, an object for each rule and condition, the notes."""
    return {
        "verdict": str(report.verdict),
        "exit_status": EXIT_STATUS[report.verdict],
        "counts": {str(one): report.count(one) for one in GateVerdict},
        "rules": [_row(row) for row in report.rows],
        "missing": [asdict(one) for one in report.missing],
        "judgements": [
            {"run": name, "there": one.state.there, "planned": one.state.planned, "lost": one.lost}
            for name, one in report.completeness.items()
        ],
        "notes": list(report.notes),
        "changed": [
            {"run": name} | asdict(one) for name, found in report.changed.items() for one in found
        ],
    }


def _row(row: GateRow) -> dict[str, Any]:
    rule = row.rule
    return {
        "rule": rule.number,
        "measure": rule.measure.name,
        str(rule.demand): rule.limit,
        "confidence": rule.confidence,
        "where": {column: list(values) for column, values in rule.where},
        "run": row.run,
        "baseline": row.against,
        "condition": {name: row.condition[name] for name in CONDITION},
        "verdict": str(row.verdict),
        "value": json_number(row.value),
        "value_baseline": json_number(row.baseline),
        **({} if math.isnan(row.as_graded) else {"value_as_graded": row.as_graded}),
        PROVISIONAL: row.provisional,
        "change": json_number(row.change),
        "bounds": json_interval((row.low, row.high)),
        **({"withheld": row.withheld} if row.withheld else {}),
        "labels": str(row.labels),
        "weigh_by": str(row.rule.weigh_by),
        **json_fields(row, "n", "queries", "coverage", "left_out"),
    }
