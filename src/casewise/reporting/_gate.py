"""Verdicts of a gate as a table, Markdown, JUnit, JSON, and annotations on GitHub."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from urllib.parse import quote

from casewise.choices import Undecided
from casewise.gate import (
    Gate,
    GateReport,
    GateVerdict,
    gate_heading,
    gate_lines,
    rule_demand,
    rule_name,
    rule_sentence,
)
from casewise.results import Change, right_after
from casewise.sheets import (
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    Tone,
    Word,
    escape,
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


def gate_sheet(result: Gate, page: str = "") -> Sheet:
    """Verdicts on the runs, a table of rules, notes, and in Markdown the cases newly wrong.

    Args:
        result: Verdicts of a gate.
        page: Address of the page that cases lead to, in Markdown; empty for none.
    """
    return Sheet(
        lambda: terminal(
            Word(gate_heading(result.report), _TONES[result.verdict]),
            *result.lines,
            _table(result.report),
            *gate_lines(result.report),
        ),
        lambda: _markdown(result, page),
        result.record,
    )


def _markdown(result: Gate, page: str) -> str:
    report = result.report
    lines = [f"## casewise gate: {report.verdict}", "", f"{gate_heading(report)}.", ""]
    for line in result.lines:
        lines += [escape(line), ""]
    lines += [to_markdown(_table(report)), ""] if report.rows else []
    lines += [f"- {escape(line)}" for line in gate_lines(report)]
    for name, changed in report.changed.items():
        if changed:
            lines += ["", escape(_counted(name, changed))]
            lines += ["", *_listed(report, name, page)]
    return "\n".join(lines) + "\n"


def refusal_markdown(text: str) -> str:
    """Summary of a build where nothing could be judged."""
    return f"## casewise gate: bad input\n\n{escape(text)}\n"


MOST_FAILURES = 10
"""Newly wrong cases of a run that a summary tells of; JSON has all."""


def _failures(report: GateReport, name: str) -> list[tuple[str, str]]:
    """Id of each of the newly wrong cases that are furthest from people, and its sentence."""
    return [
        (one.case_id, f"({one.category or 'no category'}): {one.sentence}")
        for one in report.failures.get(name, ())[:MOST_FAILURES]
    ]


def _listed(report: GateReport, name: str, page: str) -> list[str]:
    """The newly wrong cases as a list in Markdown, and how many more there are."""
    told = _failures(report, name)
    lines = [
        f"- [{escape(case)}]({page}#case={quote(case, safe='')}) {escape(text)}"
        if page
        else f"- {escape(case)} {escape(text)}"
        for case, text in told
    ]
    more = len(report.failures.get(name, ())) - len(told)
    rest = f"and {more} more"
    return [*lines, f"- [{rest}]({page}#view=new)" if page else f"- {rest}"] if more else lines


def _counted(name: str, changed: Sequence[Change]) -> str:
    after = [right_after(one) for one in changed]
    return (
        f"{name}: {len(changed)} verdicts changed against the baseline: {after.count(False)} to "
        f"wrong, {after.count(True)} to right."
    )


def _table(report: GateReport) -> Table:
    rows = [
        Row(
            [
                rule_name(row),
                rule_demand(row),
                row.value,
                row.change if row.rule.compares else "",
                (row.low, row.high) if row.low == row.low else "",
                Word(str(row.verdict), _TONES[row.verdict]),
            ],
            group=row.run,
        )
        for row in report.rows
    ]
    return Table(_COLUMNS, rows)


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
        name = f"rule {row.rule.number}: {rule_name(row)} {rule_demand(row)}"
        _add_case(suite, row.run, name, tags.get(row.verdict), row.verdict, rule_sentence(row))
    for one in report.missing:
        _add_case(suite, one.run, f"missing: {one.what}", undecided, "missing", one.text)
    failures = [
        f"{name}: newly wrong: {case} {text}"
        for name in report.failures
        for case, text in _failures(report, name)
    ]
    if notes := [*result.lines, *report.notes, *failures]:
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
            yield _annotation(row.verdict, f"{row.run}: {rule_sentence(row)}")
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


_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _printable(text: str) -> str:
    """A text whose characters XML 1.0 can hold."""
    return _CONTROL.sub("\ufffd", text)
