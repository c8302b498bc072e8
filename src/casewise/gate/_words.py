"""A gate in words: its heading, what each rule wanted and found, what is missing or undecided."""

from collections.abc import Sequence

from casewise.gate._gate_report import GateReport, GateRow
from casewise.gate._gate_rules import Demand
from casewise.gate._verdicts import GateVerdict
from casewise.replies import PROVISIONAL
from casewise.sheets import interval, number, setting, signed

_WANTED = {
    Demand.AT_MOST: "at most",
    Demand.AT_LEAST: "at least",
    Demand.WORSE_BY_AT_MOST: "at most",
}


def gate_heading(report: GateReport) -> str:
    """The verdict, and how many rules came to it: ``Gate: fail (1 pass, 1 fail)``."""
    counts = {verdict: report.count(verdict) for verdict in GateVerdict}
    words = [f"{n} {verdict}" for verdict, n in counts.items() if n]
    words += [f"{len(report.missing)} missing"] if report.missing else []
    short = [one for one in report.completeness.values() if one.missing]
    there = sum(one.state.there for one in short)
    of = f"; {there} of {there + sum(one.missing for one in short)} judgements" if short else ""
    return f"Gate: {report.verdict} ({', '.join(words)}{of})"


def rule_name(row: GateRow) -> str:
    """Measure of a rule, and the cases that it is about."""
    chosen = [
        f"{column} {' or '.join(str(value) for value in values)}"
        for column, values in row.rule.where
        if column in ("category", "intended")
    ]
    chosen += [PROVISIONAL] if row.provisional else []
    name = row.rule.measure.name
    return f"{name} ({', '.join(chosen)})" if chosen else name


def rule_demand(row: GateRow) -> str:
    """Limit of a rule: ``at most .2 worse``."""
    worse = " worse" if row.rule.compares else ""
    return f"{_WANTED[row.rule.demand]} {setting(row.rule.limit)}{worse}"


def gate_lines(report: GateReport) -> list[str]:
    """Lines below the table: what is missing or undecided, counterparts, coverage, labels."""
    lines = [f"Missing: {one.text}" for one in report.missing]
    lines += [_bounds_line(report.rows)] if any(row.low == row.low for row in report.rows) else []
    lines += [f"{rule_name(row)}: {said}" for row in report.rows if (said := _exact(row))]
    undecided = [row for row in report.rows if row.verdict is GateVerdict.UNDECIDED]
    lines += [f"{rule_name(row)} {rule_demand(row)}: undecided. {_doubt(row)}" for row in undecided]
    for row in report.rows:
        if row.against is not None:
            lines.append(f"{row.run} is held against the baseline's {row.against}.")
        if row.coverage < 1:
            lines.append(
                f"{row.run}: {number(row.coverage)} of the planned judgements are there and were "
                "read; the others are left out of every measure but coverage."
            )
        if row.left_out:
            lines.append(
                f"{row.run}: {row.n} judgements of either run are compared; {row.left_out} of both "
                "have no answered, labelled counterpart."
            )
    labels = " and ".join(dict.fromkeys(str(row.labels) for row in report.rows))
    return list(dict.fromkeys([*lines, *report.notes, f"Labels: {labels}."]))


def _bounds_line(rows: Sequence[GateRow]) -> str:
    levels = {row.rule.confidence for row in rows if row.low == row.low}
    level = f"{100 * (levels.pop() or 0):g} %" if len(levels) == 1 else "its rule's confidence"
    return f"Bounds: one-sided, each at {level}; of the change (run - baseline) if there is one."


def rule_sentence(row: GateRow) -> str:
    """A row in words; of an undecided one, what would decide it."""
    figures = [f"value {number(row.value)}"]
    if row.rule.compares:
        figures.append(f"baseline {number(row.baseline)}, change {signed(row.change)}")
    if row.low == row.low:
        level = f"{100 * (row.rule.confidence or 0):g} %"
        figures.append(f"one-sided {level} bounds {interval((row.low, row.high))}")
    head = f"{rule_name(row)}, {rule_demand(row)}: {row.verdict}"
    doubt = f" {_doubt(row)}" if row.verdict is GateVerdict.UNDECIDED else ""
    exact = f" It is {said}" if (said := _exact(row)) else ""
    return f"{head}; {', '.join(figures)}; {row.n} judgements.{exact}{doubt}"


def _exact(row: GateRow) -> str:
    """Sentence on a rule that is decided without bounds; empty of others."""
    decided = row.withheld and row.verdict is not GateVerdict.UNDECIDED
    return f"judged by the value alone, as {row.withheld}." if decided else ""


def _doubt(row: GateRow) -> str:
    """Why a rule is undecided."""
    if not row.queries:
        return "Nothing counts in it: no answer to such a case was read."
    if row.withheld:
        return f"It has no bounds: {row.withheld}."
    return (
        f"{row.queries} queries ({row.n} judgements) count here, too few to tell: casewise power "
        "works out how many do."
    )
