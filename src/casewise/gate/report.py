"""Verdicts of a gate: each rule's row, what is missing, and how both are worded and shown."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from casewise.gate.figures import Figures, GatedRun
from casewise.gate.rules import Demand, GateRule
from casewise.replies import PROVISIONAL
from casewise.results import Comparison, Result, Run, unread_counts
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    escape,
    interval,
    markdown,
    number,
    plain,
    plain_rows,
    plural,
    rounded,
    setting,
    sheet_of,
    signed,
    terminal,
)
from casewise.statistics import Bounds


class GateVerdict(StrEnum):
    """Verdict of a rule, or of a gate."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    """The cases are too few to tell."""


EXIT_STATUS = {GateVerdict.PASS: 0, GateVerdict.FAIL: 1, GateVerdict.UNDECIDED: 3}
"""Exit status of ``casewise gate``; 2 is bad input."""

_TONES = {
    GateVerdict.PASS: Tone.GOOD,
    GateVerdict.FAIL: Tone.BAD,
    GateVerdict.UNDECIDED: Tone.DOUBT,
}


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
    """One rule held against one condition of the run."""

    gated_run: GatedRun
    rule: GateRule
    figures: Figures
    verdict: GateVerdict
    bounds: Bounds
    """One-sided bounds of the value, or of the change; NaN where there are none."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.gated_run.run

    @property
    def number(self) -> int:
        """Place of the rule in the file, from 1."""
        return self.gated_run.config.number(self.rule)

    @property
    def against(self) -> str | None:
        """Name of the baseline's run, if the rule compares."""
        other = self.gated_run.baseline if self.rule.compares else None
        return other.name if other else None

    @property
    def name(self) -> str:
        """Measure of the rule, and whether it rests on grades that nobody has checked."""
        name = self.rule.measure.name
        return f"{name} ({PROVISIONAL})" if self.figures.is_provisional else name

    @property
    def demand(self) -> str:
        """Limit of the rule: ``at most .2 worse``."""
        least = "at least" if self.rule.demand is Demand.AT_LEAST else "at most"
        return f"{least} {setting(self.rule.limit)}{' worse' if self.rule.compares else ''}"

    @property
    def change(self) -> float:
        """The run minus its baseline; NaN where the rule needs none."""
        return self.figures.judged.value if self.rule.compares else math.nan

    @property
    def ends(self) -> tuple[float, float]:
        """Both bounds."""
        return self.bounds.low, self.bounds.high

    @property
    def has_bounds(self) -> bool:
        """Tell whether there are bounds."""
        return self.bounds.low == self.bounds.low

    @property
    def digits(self) -> int:
        """Digits of its figures: three, or as many as tell them from the limit."""
        threshold, figures = self.rule.threshold, (self.figures.judged.value, *self.ends)
        others = [figure for figure in figures if abs(figure - threshold) > _ROUND_OFF]
        return next(
            (
                digits
                for digits in range(3, _MOST_DIGITS)
                if rounded(threshold, digits) not in [rounded(figure, digits) for figure in others]
            ),
            _MOST_DIGITS,
        )

    @property
    def queries(self) -> int:
        """Queries that count in the measure."""
        figure = self.figures.judged
        return figure.clusters if math.isfinite(figure.value) else 0

    @property
    def withheld(self) -> str:
        """Why there are no bounds; empty where there are, or none are wanted."""
        return self.figures.judged.reason if self.rule.level is not None else ""

    @property
    def reason(self) -> str:
        """Why it is undecided, decided by the value alone, or fails inside its margin; or empty."""
        if self.verdict is not GateVerdict.UNDECIDED:
            if self.verdict is GateVerdict.FAIL and self.rule.allows_gaps:
                return self._undetermined
            if self.verdict is GateVerdict.FAIL and self._is_inside_margin:
                margin = setting(self.rule.limit)
                return (
                    "Worse beyond chance by the gate's one-sided test, and more than "
                    f"{margin} worse can't be excluded."
                )
            return f"It is judged by the value alone, as {self.withheld}." if self.withheld else ""
        if not self.queries:
            needs = f"what it needs, under the labels '{self.figures.labels}'"
            return f"It has no value: no answer that was read has {needs}."
        if self.withheld:
            return f"It has no bounds: {self.withheld}."
        return (
            f"Too few to tell, on {plural(self.queries, 'query')}: "
            "casewise power works out how many do."
        )

    @property
    def _undetermined(self) -> str:
        """Why few replies count, where a grader could not tell; else empty."""
        replies = unread_counts(self.gated_run.score)["undetermined"]
        if not replies:
            return ""
        return (
            f"The grader could not tell of {plural(replies, 'reply')}: let a model grade "
            "(--grader), or lower this limit."
        )

    @property
    def _is_inside_margin(self) -> bool:
        """Tell whether the change itself is no larger than the margin; its bound may be."""
        inside = self.rule.sign * (self.change - self.rule.threshold) >= 0
        return self.rule.compares and self.has_bounds and inside

    @property
    def sentence(self) -> str:
        """The row in words."""
        row_figures = self.figures
        figures = [f"value {number(row_figures.value.value, self.digits)}"]
        if row_figures.baseline is not None:
            before = number(row_figures.baseline.value, self.digits)
            figures.append(f"baseline {before}, change {signed(self.change, self.digits)}")
        if self.has_bounds:
            level = f"{100 * (self.rule.level or 0):g} %"
            figures.append(f"one-sided {level} bounds {interval(self.ends, self.digits)}")
        head = f"{self.name}, {self.demand}: {self.verdict}; {', '.join(figures)}"
        return f"{head}; {row_figures.n} judgements. {self.reason}".rstrip()

    def record(self) -> dict[str, Any]:
        """The row as JSON values."""
        rule, figures = self.rule, self.figures
        before = figures.baseline.value if figures.baseline else math.nan
        return {
            "rule": self.number,
            "measure": rule.measure.name,
            str(rule.demand): rule.limit,
            "confidence": rule.level,
            "where": {column: list(rule.values(column)) for column in rule.where},
            "run": self.run.name,
            "baseline": self.against,
            "verdict": str(self.verdict),
            "value": figures.value.value,
            "value_baseline": before,
            PROVISIONAL: self.figures.is_provisional,
            "change": self.change,
            "bounds": self.ends,
            **({"withheld": self.withheld} if self.withheld else {}),
            "labels": str(figures.labels),
            "n": figures.n,
            "queries": self.queries,
            "coverage": figures.coverage,
        }


_MOST_DIGITS = 6
_ROUND_OFF = 1e-9

MOST_LINES = 3
"""Most runs of which a gate prints the verdict in words."""

MOST_FAILURES = 10
"""Newly wrong cases of a run that a summary tells of; JSON has all."""


@dataclass(frozen=True, repr=False)
class Gate(Result[GateRow]):
    """A run held to rules: a row for each condition and rule, with what is said of each run."""

    missing: Sequence[Missing] = field(kw_only=True)
    """Lacks of the run or the rules that keep the gate from passing."""
    notes: Sequence[str] = field(kw_only=True)

    @property
    def comparisons(self) -> dict[str, Comparison]:
        """Runs that share cases with their baseline, each subtracted from it, by their names."""
        return {
            comparison.after: comparison
            for verdict in self.verdicts
            if (comparison := verdict.comparison)
        }

    @property
    def verdict(self) -> GateVerdict:
        """Fail if any rule fails; else undecided if any is, or something is missing; else pass."""
        if self.count(GateVerdict.FAIL):
            return GateVerdict.FAIL
        is_open = self.missing or self.count(GateVerdict.UNDECIDED)
        return GateVerdict.UNDECIDED if is_open else GateVerdict.PASS

    @property
    def passed(self) -> bool:
        """Tell whether it passes; neither a failure nor too few cases to tell does."""
        return self.verdict is GateVerdict.PASS

    def count(self, verdict: GateVerdict) -> int:
        """Number of rows that have a verdict."""
        return sum(row.verdict is verdict for row in self.rows)

    @property
    def heading(self) -> str:
        """The verdict, and how many rules came to it: ``Gate: fail (1 pass, 1 fail)``."""
        words = [f"{n} {kind}" for kind in GateVerdict if (n := self.count(kind))]
        words += [f"{len(self.missing)} missing"] if self.missing else []
        return f"Gate: {self.verdict} ({', '.join(words)})"

    @property
    def lines(self) -> list[str]:
        """What is said of each run, of many of those that fail most rules."""
        lines = [verdict.line for verdict in self.verdicts[:MOST_LINES]]
        more = len(self.verdicts) - len(lines)
        return [*lines, f"And {more} more runs: --json has all."] if more else lines

    @property
    def remarks(self) -> list[str]:
        """Lines below the table: what is missing or undecided, counterparts, notes, labels."""
        lines = [f"Missing: {missing.text}" for missing in self.missing]
        if levels := {row.rule.level or 0 for row in self.rows if row.has_bounds}:
            level = " or ".join(f"{100 * confidence:g} %" for confidence in sorted(levels))
            change = "of the change (run - baseline) if there is one"
            lines.append(f"Bounds: one-sided, each at {level}; {change}.")
        for row in self.rows:
            if row.reason:
                lines.append(f"{row.name} {row.demand}: {row.verdict}. {row.reason}")
            if row.against is not None:
                lines.append(f"{row.run.name} is held against the baseline's {row.against}.")
        labels = " and ".join(dict.fromkeys(str(row.figures.labels) for row in self.rows))
        return list(dict.fromkeys([*lines, *self.notes, f"Labels: {labels}."]))

    def record(self) -> Any:
        """One object: verdict, exit status, rules, notes, cases that changed or are newly wrong."""
        record = {
            "verdict": str(self.verdict),
            "exit_status": EXIT_STATUS[self.verdict],
            "counts": {str(kind): self.count(kind) for kind in GateVerdict},
            "rules": [row.record() for row in self.rows],
            "missing": [asdict(missing) for missing in self.missing],
            "notes": list(self.notes),
            "runs": [
                {"run": verdict.subject, "verdict": list(verdict.statements)}
                for verdict in self.verdicts
            ],
            "failures": [
                failure.record() | {"run": name}
                for name, comparison in self.comparisons.items()
                for failure in comparison.failures
            ],
        }
        return plain(record)

    def records(self) -> list[dict[str, Any]]:
        """A row for each rule and condition: ``rules`` of ``casewise gate --json``."""
        return plain_rows(self.record()["rules"])

    def sheet(self, page: str = "") -> Sheet:
        """Verdicts on the runs, a table of rules, notes, and in Markdown the cases newly wrong.

        Args:
            page: Address of the page that cases lead to, in Markdown; empty for none.
        """
        heading = Word(self.heading, _TONES[self.verdict])
        return Sheet(
            lambda: terminal(heading, *self.lines, self._table, *self.remarks),
            lambda: markdown(*self._markdown(page)),
            self.record,
        )

    @property
    def _table(self) -> Table:
        several = len({row.run.name for row in self.rows}) > 1
        columns = (
            *([Column("run")] if several else []),
            *(Column("measure"), Column("wanted"), Column("value", Kind.NUMBER)),
            *(Column("change", Kind.CHANGE), Column("bounds", Kind.INTERVAL), Column("verdict")),
        )
        rows = [
            Row(
                [
                    *([row.run.name] if several else []),
                    *(row.name, row.demand, number(row.figures.value.value, row.digits)),
                    signed(row.change, row.digits) if row.rule.compares else "",
                    interval(row.ends, row.digits) if row.has_bounds else "",
                    Word(str(row.verdict), _TONES[row.verdict]),
                ]
            )
            for row in self.rows
        ]
        return Table(columns, rows)

    def _markdown(self, page: str) -> Iterator[str | Table]:
        yield f"## casewise gate: {self.verdict}"
        yield f"{self.heading}."
        yield from map(escape, self.lines)
        yield self._table
        yield "\n".join(f"- {escape(line)}" for line in self.remarks)
        for name, cases in self.newly_wrong():
            yield escape(f"{name}, against the baseline: {self.comparisons[name].counts}")
            lines = [
                f"- {_link(escape(case), page, 'case=' + quote(case, safe=''))} {escape(text)}"
                for case, text in cases
            ]
            more = len(self.comparisons[name].failures) - len(lines)
            lines += [f"- {_link(f'and {more} more', page, 'view=new')}"] if more else []
            yield "\n".join(lines)

    def newly_wrong(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Runs whose verdicts changed, with id and sentence of the worst of the new failures."""
        for name, comparison in self.comparisons.items():
            if comparison.changed:
                yield (
                    name,
                    [
                        (
                            failure.case_id,
                            f"({failure.category or 'no category'}): {failure.sentence}",
                        )
                        for failure in comparison.failures[:MOST_FAILURES]
                    ],
                )


def _link(text: str, page: str, place: str) -> str:
    return f"[{text}]({page}#{place})" if page else text


@sheet_of.register
def gate_sheet(result: Gate) -> Sheet:
    """Summary of a build."""
    return result.sheet()
