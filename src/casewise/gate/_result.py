"""A gate as a result: its rows, and the verdicts on the runs that it held to rules."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Self

from casewise.gate._gate_report import GateReport, GateRow, as_gate_record
from casewise.gate._verdicts import GateVerdict
from casewise.results import Comparisons, Result, Verdict
from casewise.sheets import plain_rows


@dataclass(frozen=True, repr=False)
class Gate(Result[GateRow]):
    """A run held to rules: a row for each rule and condition."""

    report: GateReport = field(kw_only=True)
    """What is missing, and the notes on the verdicts."""

    @classmethod
    def of(cls, report: GateReport) -> Self:
        """A gate of its report, with a verdict on each run, against its baseline if it has one.

        The runs that fail most rules are first.
        """
        counted = Counter((row.condition, row.verdict) for row in report.rows)

        def worst(verdict: Verdict) -> tuple[int, int]:
            run = verdict.conditions[-1]
            return -counted[run, GateVerdict.FAIL], -counted[run, GateVerdict.UNDECIDED]

        found = [
            *Comparisons.of(report.comparisons).verdicts,
            *(Verdict(one.condition.title, one) for one in report.scores),
        ]
        verdicts = tuple(sorted(found, key=worst))
        return cls(report.rows, verdicts, report=report)

    @property
    def lines(self) -> list[str]:
        """The verdict on each run; of many, a count of runs, and the one that fails most rules."""
        runs = len(self.verdicts)
        if runs <= MOST_TOLD:
            return [one.line for one in self.verdicts]
        by_run: dict[str, set[GateVerdict]] = {}
        for row in self.rows:
            by_run.setdefault(row.run, set()).add(row.verdict)
        failed = sum(GateVerdict.FAIL in found for found in by_run.values())
        passed = sum(found == {GateVerdict.PASS} for found in by_run.values())
        counted = (
            f"Of {runs} runs {failed} fail a rule, {len(by_run) - failed - passed} are undecided, "
            f"and {passed} pass; casewise gate --json has the verdict on each."
        )
        worst = f"Failing most, {self.verdicts[0].line}" if failed else self.verdicts[0].line
        return [counted, worst]

    @property
    def verdict(self) -> GateVerdict:
        """``pass``, ``fail`` or ``undecided``."""
        return self.report.verdict

    @property
    def passed(self) -> bool:
        """Tell whether it passes; neither a failure nor too few cases to tell does."""
        return self.verdict is GateVerdict.PASS

    def record(self) -> dict[str, Any]:
        """One object: verdict, exit status, rules, notes, cases that changed or are newly wrong."""
        failures = [
            {**one.record(), "run": name}
            for name, found in self.report.failures.items()
            for one in found
        ]
        runs = [{"run": one.subject, "verdict": list(one.said)} for one in self.verdicts]
        return as_gate_record(self.report) | {"runs": runs, "failures": failures}

    def records(self) -> list[dict[str, Any]]:
        """A row for each rule and condition: ``rules`` of ``casewise gate --json``."""
        return plain_rows(self.record()["rules"])


MOST_TOLD = 3
"""Most runs of which a gate prints every verdict."""
