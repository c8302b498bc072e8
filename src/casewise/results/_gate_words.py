"""A gate in words: its heading, what each rule wanted and found, what is missing or undecided."""

from collections.abc import Sequence

from casewise.gate import BUILDS, FALSE_FAILS, Build, Demand, GateReport, GateRow, GateVerdict
from casewise.results._verdict import weighing_words
from casewise.scores import PROVISIONAL
from casewise.sheets import interval, number, setting, signed

_WANTED = {
    Demand.AT_MOST: "at most",
    Demand.AT_LEAST: "at least",
    Demand.WORSE_BY_AT_MOST: "at most",
}


def gate_heading(report: GateReport) -> str:
    counts = {verdict: report.count(verdict) for verdict in GateVerdict}
    words = [f"{n} {verdict}" for verdict, n in counts.items() if n]
    words += [f"{len(report.missing)} missing"] if report.missing else []
    short = [one for one in report.completeness.values() if one.missing]
    there = sum(one.state.there for one in short)
    of = f"; {there} of {there + sum(one.missing for one in short)} judgements" if short else ""
    return f"Gate: {report.verdict} ({', '.join(words)}{of})"


def rule_name(row: GateRow) -> str:
    chosen = [
        f"{column} {' or '.join(str(value) for value in values)}"
        for column, values in row.rule.where
        if column in ("category", "intended")
    ]
    chosen += [PROVISIONAL] if row.provisional else []
    name = row.rule.measure.name
    return f"{name} ({', '.join(chosen)})" if chosen else name


def rule_demand(row: GateRow) -> str:
    worse = " worse" if row.rule.compares else ""
    return f"{_WANTED[row.rule.demand]} {setting(row.rule.limit)}{worse}"


def gate_lines(report: GateReport) -> list[str]:
    """Lines below the table: what is missing or undecided, counterparts, coverage, labels."""
    lines = [f"Missing: {one.text}" for one in report.missing]
    lines += [_bounds_line(report.rows)] if any(row.low == row.low for row in report.rows) else []
    lines += build_lines(report.build)
    lines += [f"{rule_name(row)}: {said}" for row in report.rows if (said := _fallen(row))]
    lines += [f"{rule_name(row)}: {said}" for row in report.rows if (said := _exact(row))]
    lines += [said for row in report.rows if (said := _apart(row))]
    if units := list(dict.fromkeys(str(row.rule.weigh_by) for row in report.rows if row.uneven)):
        lines.append(weighing_words(units))
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


def build_lines(build: Build | None) -> list[str]:
    """Confidence that a fail needs in a build of a history; nothing without one."""
    if build is None:
        return []
    return [
        f"Build {build.number} of the history: a rule fails only where that is shown at "
        f"{100 * build.confidence:.7g} %, so that {BUILDS} unchanged builds fail at all in at most "
        f"{100 * FALSE_FAILS:g} of 100 tries; {setting(build.spent)} of {setting(FALSE_FAILS)} is "
        "spent."
    ]


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
    fallen = f" It is {said}" if (said := _fallen(row)) else ""
    exact = f" It is {said}" if (said := _exact(row)) else ""
    return f"{head}; {', '.join(figures)}; {row.n} judgements.{fallen}{exact}{doubt}"


def _fallen(row: GateRow) -> str:
    """Sentence on a fail that the builds before show; empty of others."""
    if row.verdict is not GateVerdict.FAIL or row.fall is None or not row.fall.shown:
        return ""
    worse = "lower" if row.rule.good == 1 else "higher"
    builds = "this build" if row.fall.window == 1 else f"the last {row.fall.window} builds"
    chance = f"p = {row.fall.p:.1g}"
    return f"{worse} in {builds} than in the baseline and the builds before ({chance})."


def _exact(row: GateRow) -> str:
    """Sentence on a rule that is decided without bounds; empty of others."""
    decided = row.withheld and row.verdict is not GateVerdict.UNDECIDED
    return f"judged by the value alone, as {row.withheld}." if decided else ""


def _apart(row: GateRow) -> str:
    """Sentence on earlier builds under another weight of pairs; empty without any."""
    if row.fall is None or not row.fall.apart:
        return ""
    n, unit = row.fall.apart, row.rule.weigh_by
    builds = "1 earlier build of the history isn't" if n == 1 else f"{n} earlier builds aren't"
    return (
        f"{rule_name(row)}: {builds} held beside this one: made under another weight of pairs, or "
        f"before weights were named, and here each {unit} weighs alike. Builds from now on count; "
        "to begin anew, give --history another file."
    )


def _doubt(row: GateRow) -> str:
    """Why a rule is undecided, and what would decide it."""
    if row.fall is not None and row.fall.ahead:
        more = "1 more build" if row.fall.ahead == 1 else f"{row.fall.ahead} more builds"
        return f"{_few(row)} Or {more} like this one would show that it is worse."
    return _few(row)


def _few(row: GateRow) -> str:
    """Number of queries that would decide a rule."""
    if not row.queries:
        return "Nothing counts in it: no answer to such a case was read."
    if row.withheld:
        return f"It has no bounds: {row.withheld}."
    needed = row.needed
    here = f"{row.queries} queries ({row.n} judgements) count here"
    if needed is None:
        return f"No number of queries that can be told from these would decide it; {here}."
    tries = f"in {100 * needed.power:.0f} of 100 tries"
    size = f"{needed.queries} queries ({needed.cases} judgements)"
    if needed.equal:
        return f"An equal model passes {tries} with {size}; {here}."
    outcome = "pass" if needed.passes else "fail"
    return f"If what was seen is true, {size} would {outcome} it {tries}; {here}."
