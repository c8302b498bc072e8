"""Verdicts of a gate as a table, Markdown, JUnit, JSON, and annotations on GitHub."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence

from casewise.choices import Undecided
from casewise.gate import (
    BUILDS,
    FALSE_FAILS,
    Build,
    Demand,
    GateReport,
    GateRow,
    GateVerdict,
)
from casewise.reporting._compare import changed_table
from casewise.results import Gate
from casewise.scores import PROVISIONAL, Change, right_after
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
    number,
    setting,
    signed,
    terminal,
    to_markdown,
)

_COLUMNS = (
    Column("measure"),
    Column("wanted"),
    Column("value", Kind.NUMBER),
    Column("change", Kind.CHANGE),
    Column("bounds", Kind.INTERVAL),
    Column("verdict"),
)
_TONES = {
    GateVerdict.PASS: Tone.GOOD,
    GateVerdict.FAIL: Tone.BAD,
    GateVerdict.UNDECIDED: Tone.DOUBT,
}
_WANTED = {
    Demand.AT_MOST: "at most",
    Demand.AT_LEAST: "at least",
    Demand.WORSE_BY_AT_MOST: "at most",
}


def gate_sheet(result: Gate) -> Sheet:
    """A table of verdicts by condition, notes, and in Markdown the cases that changed."""
    return Sheet(
        lambda: terminal(_table(result.report), *_lines(result.report)),
        lambda: _markdown(result.report),
        result.record,
    )


def _markdown(report: GateReport) -> str:
    lines = [f"## casewise gate: {report.verdict}", "", f"{_heading(report)}.", ""]
    lines += [to_markdown(_table(report)), ""] if report.rows else []
    lines += [f"- {escape(line)}" for line in _lines(report)]
    for name, changed in report.changed.items():
        if changed:
            lines += ["", escape(_counted(name, changed)), ""]
            lines.append(to_markdown(changed_table(changed, MOST_CHANGES)))
    return "\n".join(lines) + "\n"


def refusal_markdown(text: str) -> str:
    """Summary of a build where nothing could be judged."""
    return f"## casewise gate: bad input\n\n{escape(text)}\n"


MOST_CHANGES = 50
"""Changed cases that Markdown shows; JSON has all."""


def _counted(name: str, changed: Sequence[Change]) -> str:
    after = [right_after(one) for one in changed]
    more = f"; the first {MOST_CHANGES}" if len(changed) > MOST_CHANGES else ""
    return (
        f"{name}: {len(changed)} verdicts changed against the baseline: {after.count(False)} to "
        f"wrong, {after.count(True)} to right{more}."
    )


def _table(report: GateReport) -> Table:
    rows = [
        Row(
            [
                _name(row),
                _wanted(row),
                row.value,
                row.change if row.rule.compares else "",
                (row.low, row.high) if row.low == row.low else "",
                Word(str(row.verdict), _TONES[row.verdict]),
            ],
            group=row.run,
        )
        for row in report.rows
    ]
    return Table(_COLUMNS, rows, _heading(report))


def gate_junit(result: Gate, undecided: Undecided = Undecided.FAILURE) -> str:
    """A test case for each rule and condition, and for what is missing."""
    report = result.report
    open_ = report.count(GateVerdict.UNDECIDED) + len(report.missing)
    fails = undecided is Undecided.FAILURE
    suite = _suite(
        tests=len(report.rows) + len(report.missing),
        failures=report.count(GateVerdict.FAIL) + (open_ if fails else 0),
        skipped=0 if fails else open_,
    )
    tags = {GateVerdict.FAIL: "failure", GateVerdict.UNDECIDED: undecided}
    for row in report.rows:
        name = f"rule {row.rule.number}: {_name(row)} {_wanted(row)}"
        _add_case(suite, row.run, name, tags.get(row.verdict), row.verdict, _sentence(row))
    for one in report.missing:
        _add_case(suite, one.run, f"missing: {one.what}", undecided, "missing", one.text)
    if notes := [*_build(report.build), *report.notes]:
        ElementTree.SubElement(suite, "system-out").text = _printable("\n".join(notes))
    return _xml(suite)


def refusal_junit(text: str) -> str:
    """One test case, an error, where nothing could be judged."""
    suite = _suite(tests=1, errors=1)
    _add_case(suite, "casewise gate", "input", "error", "bad input", text)
    return _xml(suite)


def _add_case(
    suite: ElementTree.Element, run: str, name: str, tag: str | None, kind: str, text: str
) -> None:
    """Add a test case with its text; without a tag it passed."""
    run, name, text = map(_printable, (run, name, text))
    case = ElementTree.SubElement(suite, "testcase", classname=run, name=name)
    about = {"message": text, "type": kind} if tag else {}
    ElementTree.SubElement(case, tag or "system-out", about).text = text


def _suite(
    *, tests: int, failures: int = 0, errors: int = 0, skipped: int = 0
) -> ElementTree.Element:
    counts = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    numbers = {name: str(count) for name, count in counts.items()}
    return ElementTree.Element("testsuite", {"name": "casewise gate"} | numbers)


def _xml(suite: ElementTree.Element) -> str:
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def gate_annotations(result: Gate) -> Iterator[str]:
    """GitHub's workflow commands: ``::error`` lines for whatever keeps a build from passing."""
    for row in result:
        if row.verdict is not GateVerdict.PASS:
            yield _annotation(row.verdict, f"{row.run}: {_sentence(row)}")
    for one in result.report.missing:
        yield _annotation("missing", one.text)


def refusal_annotation(text: str) -> str:
    """Workflow command where nothing could be judged."""
    return _annotation("bad input", text)


def _annotation(title: str, text: str) -> str:
    # So that no name of a model or a file ends the line and begins a command of its own.
    for character, code in {"%": "%25", "\r": "%0D", "\n": "%0A"}.items():
        text = text.replace(character, code)
    return f"::error title=casewise gate ({title})::{text}"


def _heading(report: GateReport) -> str:
    counts = {verdict: report.count(verdict) for verdict in GateVerdict}
    words = [f"{n} {verdict}" for verdict, n in counts.items() if n]
    words += [f"{len(report.missing)} missing"] if report.missing else []
    short = [one for one in report.completeness.values() if one.missing]
    there = sum(one.state.there for one in short)
    of = f"; {there} of {there + sum(one.missing for one in short)} judgements" if short else ""
    return f"Gate: {report.verdict} ({', '.join(words)}{of})"


def _name(row: GateRow) -> str:
    chosen = [
        f"{column} {' or '.join(str(value) for value in values)}"
        for column, values in row.rule.where
        if column in ("category", "intended")
    ]
    chosen += [PROVISIONAL] if row.provisional else []
    name = row.rule.measure.name
    return f"{name} ({', '.join(chosen)})" if chosen else name


def _wanted(row: GateRow) -> str:
    worse = " worse" if row.rule.compares else ""
    return f"{_WANTED[row.rule.demand]} {setting(row.rule.limit)}{worse}"


def _lines(report: GateReport) -> list[str]:
    """Lines below the table: what is missing or undecided, counterparts, coverage, labels."""
    lines = [f"Missing: {one.text}" for one in report.missing]
    lines += [_bounds_line(report.rows)] if any(row.low == row.low for row in report.rows) else []
    lines += _build(report.build)
    undecided = [row for row in report.rows if row.verdict is GateVerdict.UNDECIDED]
    lines += [f"{_name(row)} {_wanted(row)}: undecided. {_doubt(row)}" for row in undecided]
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


def _build(build: Build | None) -> list[str]:
    """Confidence that a fail needs in a build of a history; nothing without one."""
    if build is None:
        return []
    return [
        f"Build {build.number} of the history: a rule fails only where that is shown at "
        f"{100 * build.confidence:.7g} %, so that {BUILDS} unchanged builds fail at all in at most "
        f"{100 * FALSE_FAILS:g} of 100 tries; {setting(build.spent)} of {setting(FALSE_FAILS)} is "
        "spent."
    ]


def _sentence(row: GateRow) -> str:
    """A row in words; of an undecided one, what would decide it."""
    figures = [f"value {number(row.value)}"]
    if row.rule.compares:
        figures.append(f"baseline {number(row.baseline)}, change {signed(row.change)}")
    if row.low == row.low:
        level = f"{100 * (row.rule.confidence or 0):g} %"
        figures.append(f"one-sided {level} bounds {interval((row.low, row.high))}")
    said = f"{_name(row)}, {_wanted(row)}: {row.verdict}"
    doubt = f" {_doubt(row)}" if row.verdict is GateVerdict.UNDECIDED else ""
    return f"{said}; {', '.join(figures)}; {row.n} judgements.{doubt}"


def _doubt(row: GateRow) -> str:
    """Why a rule is undecided, and what would decide it."""
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


_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _printable(text: str) -> str:
    """A text whose characters XML 1.0 can hold."""
    return _CONTROL.sub("\ufffd", text)
