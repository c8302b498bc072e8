"""A gate, or the refusal of one, in the forms that a build reads: JUnit, annotations, summary."""

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

from casewise.gate.report import Gate, GateVerdict
from casewise.sheets import escape


def junit(gate: Gate) -> str:
    """A test case for each rule and condition, and for what is missing: only a pass passes."""
    cases = [
        _case(
            row.run.name,
            f"rule {row.number}: {row.name} {row.demand}",
            "" if row.verdict is GateVerdict.PASS else "failure",
            row.verdict,
            row.sentence,
        )
        for row in gate
    ]
    cases += [
        _case(missing.run, f"missing: {missing.what}", "failure", "missing", missing.text)
        for missing in gate.missing
    ]
    newly_wrong = [
        f"{name}: newly wrong: {case} {text}"
        for name, failures in gate.newly_wrong()
        for case, text in failures
    ]
    return _suite(cases, [*gate.lines, *gate.notes, *newly_wrong])


def annotations(gate: Gate) -> Iterator[str]:
    """GitHub's workflow commands: ``::error`` lines for whatever keeps a build from passing."""
    for row in gate:
        if row.verdict is not GateVerdict.PASS:
            yield _annotation(row.verdict, f"{row.run.name}: {row.sentence}")
    for missing in gate.missing:
        yield _annotation("missing", missing.text)


def refusal(text: str) -> tuple[str, str, list[str]]:
    """JUnit, Markdown and annotations where nothing could be judged."""
    case = _case("casewise gate", "input", "error", "bad input", text)
    summary = f"## casewise gate: bad input\n\n{escape(text)}\n"
    return _suite([case], []), summary, [_annotation("bad input", text)]


def _case(run: str, name: str, tag: str, kind: str, text: str) -> ElementTree.Element:
    """A test case with its text; without a tag it passed."""
    run, name, text = map(_printable, (run, name, text))
    case = ElementTree.Element("testcase", classname=run, name=name)
    about = {"message": text, "type": kind} if tag else {}
    ElementTree.SubElement(case, tag or "system-out", about).text = text
    return case


def _suite(cases: list[ElementTree.Element], lines: list[str]) -> str:
    counts = {"failures": "failure", "errors": "error"}
    numbers = {name: str(sum(case[0].tag == tag for case in cases)) for name, tag in counts.items()}
    root = ElementTree.Element("testsuites")
    about = {"name": "casewise gate", "tests": str(len(cases))} | numbers
    suite = ElementTree.SubElement(root, "testsuite", about)
    suite.extend(cases)
    if lines:
        ElementTree.SubElement(suite, "system-out").text = _printable("\n".join(lines))
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode", xml_declaration=False)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _annotation(title: str, text: str) -> str:
    # So that no name of a model or a file ends the line and begins a command of its own.
    for character, code in {"%": "%25", "\r": "%0D", "\n": "%0A"}.items():
        text = text.replace(character, code)
    return f"::error title=casewise gate ({title})::{text}"


_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _printable(text: str) -> str:
    """A text whose characters XML 1.0 can hold."""
    return _CONTROL.sub("\ufffd", text)
