"""A gate's verdicts as plain JSON values; what is undefined is null."""

from dataclasses import asdict
from typing import Any

from casewise.analysis._records import finite, interval
from casewise.analysis.gate._gate import GateReport, GateRow
from casewise.analysis.gate._judge import GateVerdict

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
    }


def _row(row: GateRow) -> dict[str, Any]:
    rule = row.rule
    bounds = interval((row.low, row.high))
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
        "value": finite(row.value),
        "value_baseline": finite(row.baseline),
        "change": finite(row.change),
        "bounds": bounds,
        "labels": str(row.labels),
        "n": row.n,
        "queries": row.queries,
        "coverage": finite(row.coverage),
        "left_out": row.left_out,
        "needed": asdict(row.needed) if row.needed is not None else None,
    }
