"""How a grader agrees with hand labels, for people and for programs."""

import json
import math
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.analysis import (
    CLASSES,
    LABEL,
    NOT_GRADED,
    Against,
    Estimate,
    GraderReport,
    Half,
    grader_record,
    kappa_interval,
)
from casewise.reporting._scores import number
from casewise.reporting._tables import plain_table

SHOWN = 10
"""Mistakes that are listed for a person; JSON has all."""


STRING_MATCH = "string match"
PEOPLE = "two people"
"""The second of them, against the first."""


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]


def grader_renderable(report: GraderReport) -> RenderableType:
    """Four tables, with string match and the people beside the grader; then the first mistakes."""
    parts: list[RenderableType] = []
    for section in _sections(report):
        table = plain_table(section.heading, section.heads)
        for row in section.rows:
            table.add_row(*map(Text, row))
        parts.append(table)
    return Group(*parts, *(Text(line) for line in _mistakes(report)))


def grader_markdown(report: GraderReport) -> str:
    """The same as Markdown."""
    lines = []
    for section in _sections(report):
        heads = [head.replace("-\n", "") for head in section.heads]
        lines += [f"### {section.heading}", "", f"| {' | '.join(heads)} |"]
        lines.append("|---|" + "---:|" * (len(section.heads) - 1))
        for row in section.rows:
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
        lines.append("")
    return "\n".join([*lines, *(f"{line.strip()}  " for line in _mistakes(report))]) + "\n"


def grader_json(report: GraderReport) -> str:
    """One object; what is undefined is null."""
    record = grader_record(report)
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sections(report: GraderReport) -> list[_Section]:
    found = report.agreement
    which = "all" if report.half == "all" else f"half {report.half}"
    named = "" if report.label == LABEL else f", field {report.label}"
    rows = [(report.grader, report.graded), (STRING_MATCH, report.string_match)]
    if report.people is not None:
        rows.append((PEOPLE, report.people))
    return [
        _Section(
            f"Against the hand labels of {report.file}{named}, {which} ({report.grader_version})",
            ("grader", "n", "graded", "accuracy", "95 %", "kappa", "95 %"),
            [(name, *_whole_cells(one)) for name, one in rows],
        ),
        _Section(
            "Refusal or not (a partial refusal is one)",
            ("grader", "accu-\nracy", "95 %", "preci-\nsion", "95 %", "recall", "95 %"),
            [(name, *_refusal_cells(one)) for name, one in rows],
        ),
        _Section(
            "By class, of what was graded",
            ("class", "labels", "precision", "95 %", "recall", "95 %"),
            [
                (name, str(labels), *_cells(precision), *_cells(recall))
                for name, labels, precision, recall in _by_class(report)
            ],
        ),
        _Section(
            "What was said (columns) of each hand label (rows)",
            ("label", *map(str, CLASSES), NOT_GRADED),
            [
                (str(name), *map(str, row))
                for name, row in zip(CLASSES, found.confusion, strict=True)
            ],
        ),
    ]


def _by_class(report: GraderReport) -> list[tuple[str, int, Estimate, Estimate]]:
    """The grader's, and string match's where it can say something: refusals."""
    found, plain = report.agreement, report.string_match.agreement
    refusal = CLASSES.index("refusal")
    return [
        *zip(CLASSES, found.confusion.sum(axis=1), found.precision, found.recall, strict=True),
        (
            f"{CLASSES[refusal]}, {STRING_MATCH}",
            plain.confusion[refusal].sum(),
            plain.precision[refusal],
            plain.recall[refusal],
        ),
    ]


def _whole_cells(one: Against) -> tuple[str, ...]:
    found = one.agreement
    return (
        str(found.n),
        number(found.coverage.value),
        *_cells(found.accuracy),
        number(found.kappa.value),
        _range(kappa_interval(found)),
    )


def _refusal_cells(one: Against) -> tuple[str, ...]:
    found = one.refusals
    shares = (found.accuracy, found.precision[1], found.recall[1])
    return tuple(cell for share in shares for cell in _cells(share))


def _cells(share: Estimate) -> tuple[str, str]:
    return number(share.value), _range(share.interval)


def _range(ends: tuple[float, float]) -> str:
    return "–" if math.isnan(ends[0]) else f"{number(ends[0])} to {number(ends[1])}"


def _mistakes(report: GraderReport) -> list[str]:
    """How many there are, and the first; those held out stay unread, or they would not be."""
    mistakes = report.mistakes
    lines = [f"{len(mistakes)} classed otherwise than by hand."]
    if report.half is Half.HELD_OUT:
        return [f"{lines[0]} What is held out is counted here, not shown."]
    lines += [
        f"  {one.id}  {one.label}, said {one.said or NOT_GRADED}  {one.reason}".rstrip()
        for one in mistakes[:SHOWN]
    ]
    if len(mistakes) > SHOWN:
        lines.append(f"  ... and {len(mistakes) - SHOWN} more (--format json lists all)")
    return lines
