"""An audit for people, for a page of Markdown, and for programs."""

import json
import math
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.analysis import (
    CHECKS,
    Audit,
    AuditFinding,
    Guess,
    Severity,
    TwinDifference,
    as_audit_record,
    plural,
)
from casewise.reporting._scores import number
from casewise.reporting._tables import plain_table

SHOWN = 3
"""Case ids, and revealed pieces, of a finding on a terminal; JSON lists all."""

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold"}


@dataclass(frozen=True, slots=True)
class _Table:
    heading: str
    heads: tuple[str, ...]
    """Lines of a head are parted by line ends."""
    rows: list[tuple[str, ...]]
    note: str = ""


def audit_renderable(audit: Audit, *, reveal: bool) -> RenderableType:
    """The findings, worst first, then the figures that they rest on."""
    parts: list[RenderableType] = [Text(_opening(audit)), Text(_counts(audit)), Text()]
    for found in audit.findings:
        head = (f"{found.severity} {found.code}", _STYLES[found.severity])
        parts.append(Text.assemble(head, f" ({_size(found)}) {found.text}{_ids(found, audit)}"))
        if reveal:
            parts += [Text(f"  {piece}", style="dim") for piece in _pieces(found)[:SHOWN]]
    parts.append(Text())
    for table in _tables(audit):
        drawn = plain_table(table.heading, table.heads)
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        parts.append(drawn)
        if table.note:
            parts += [Text(table.note, style="dim"), Text()]
    return Group(*parts)


def audit_markdown(audit: Audit, *, reveal: bool) -> str:
    """The same as Markdown, with every case id."""
    lines = [f"# Audit of {_escaped(audit.name)}", "", _escaped(_opening(audit)), ""]
    lines += [_counts(audit), ""]
    for severity in Severity:
        found = [one for one in audit.findings if one.severity is severity]
        if found:
            lines += [f"## {str(severity).capitalize()}s", ""]
        for one in found:
            lines.append(f"- `{one.code}` ({_size(one)}) {_escaped(one.text)}")
            if one.cases and len(one.cases) < audit.cases:
                lines.append(f"    - cases: {', '.join(map(_escaped, one.cases))}")
            if reveal:
                lines += [f"    - {_escaped(piece)}" for piece in _pieces(one)]
        if found:
            lines.append("")
    lines += ["## Figures", ""]
    for table in _tables(audit):
        heads = [head.replace("-\n", "").replace("\n", " ") for head in table.heads]
        lines += [f"### {table.heading}", "", "| " + " | ".join(heads) + " |"]
        lines.append("|---|" + "---:|" * (len(heads) - 1))
        lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in table.rows]
        lines += ["", *([_escaped(table.note), ""] if table.note else [])]
    return "\n".join(lines).rstrip() + "\n"


def audit_json(audit: Audit, *, reveal: bool) -> str:
    """One object; what is undefined is null."""
    record = as_audit_record(audit, reveal=reveal)
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _opening(audit: Audit) -> str:
    return (
        f"{audit.name}: {plural(audit.cases, 'case')} of {plural(audit.queries, 'query')}, "
        f"{plural(audit.pairs, 'pair')}, {plural(audit.categories, 'category')} "
        f"(hash {audit.hash})"
    )


def _counts(audit: Audit) -> str:
    counts = [
        plural(sum(one.severity is severity for one in audit.findings), str(severity))
        for severity in Severity
    ]
    return f"Found: {', '.join(counts)}." if audit.findings else "Found nothing."


def _size(found: AuditFinding) -> str:
    """How much was found: the figure with its interval, or the count with its denominator."""
    unit = CHECKS[found.code].unit
    if not math.isnan(found.value):
        digits = 3 if found.value < 1 else 2
        return f"{unit} {number(found.value, digits)}{_between(found.interval)}"
    return f"{found.n}{f' of {found.of}' if found.of is not None else ''} {unit}"


def _between(interval: tuple[float, float]) -> str:
    low, high = interval
    return "" if math.isnan(low) else f", {number(low)} to {number(high)}"


def _ids(found: AuditFinding, audit: Audit) -> str:
    """The first few cases; none where it is about all."""
    if len(found.cases) in (0, audit.cases):
        return ""
    more = len(found.cases) - SHOWN
    return f" [{', '.join(found.cases[:SHOWN])}{f' and {more} more' if more > 0 else ''}]"


def _pieces(found: AuditFinding) -> list[str]:
    return [" ".join(piece.split()) for piece in found.shown]


def _tables(audit: Audit) -> list[_Table]:
    return [
        table
        for table in (_guesses(audit), _words(audit), _twins(audit), _parameters(audit))
        if table.rows
    ]


def _guesses(audit: Audit) -> _Table:
    found = audit.leakage
    rows = [
        ("words of the context", found.context),
        ("words of the query", found.query),
        ("lengths of the context", found.lengths),
        *((f"  {one.parameter}", one.guess) for one in found.parameters),
    ]
    cells: list[tuple[str, ...]] = [(name, *_guess(one)) for name, one in rows]
    # What a parameter says alone stands below the whole context that it is part of.
    if len(cells) > 3:
        cells.insert(3, ("words of one parameter", "", "", ""))
    return _Table(
        "How well is the intended side guessed from the surface?",
        ("from", "accuracy", "95 %", "chance"),
        cells if found.context.n else [],
        f"Logistic regression on words that are there or not, {found.groups} groups of queries "
        "that share no context, in ten folds; the interval is clustered by group.",
    )


def _guess(one: Guess) -> tuple[str, str, str]:
    low, high = one.accuracy.interval
    between = "–" if math.isnan(low) else f"{number(low)} to {number(high)}"
    return number(one.accuracy.value), between, number(one.chance)


def _words(audit: Audit) -> _Table:
    return _Table(
        "Words that carry the guess from the context",
        ("word", "weight", "cases\nsafe", "cases\nunsafe"),
        [
            (one.word, f"{one.weight:+.2f}", str(one.safe), str(one.unsafe))
            for one in (audit.leakage.words if audit.leakage.context.beyond_chance > 0 else ())
        ],
        "Weight: mean log-odds of safe over the folds, of words with one sign in all of them. "
        "Listed where the guess is beyond chance.",
    )


def _twins(audit: Audit) -> _Table:
    both = {"words": audit.twins.words, "LIX (readability)": audit.twins.lix}
    return _Table(
        "Do the twins differ? (means; d: Cohen's, of pairs)",
        ("", "pairs", "safe", "unsafe", "difference", "95 %", "d"),
        [(name, *_difference(one)) for name, one in both.items() if one.pairs],
    )


def _difference(one: TwinDifference) -> tuple[str, ...]:
    low, high = one.difference.interval
    return (
        str(one.pairs),
        number(one.safe, 1),
        number(one.unsafe, 1),
        number(one.difference.value, 1),
        "–" if math.isnan(low) else f"{number(low, 1)} to {number(high, 1)}",
        number(one.effect, 2),
    )


def _parameters(audit: Audit) -> _Table:
    return _Table(
        "Parameters",
        ("", "con-\ntexts", "safe", "unsafe", "differ-\nent", "differs\nin pairs"),
        [
            (
                # A long name breaks after its group, or a narrow terminal would cut it.
                one.name.replace(".", ".\n  ", 1),
                str(one.present),
                str(one.safe),
                str(one.unsafe),
                str(one.distinct),
                f"{one.differs} of {one.pairs}",
            )
            for one in audit.coverage.parameters
        ],
        _spoken("Queries", audit.languages.queries)
        + " "
        + _spoken("Contexts", audit.languages.contexts),
    )


def _spoken(what: str, counts: dict[str, int]) -> str:
    named = ", ".join(f"{language} {count}" for language, count in counts.items())
    return f"{what} by language: {named or 'none'}."


def _cell(text: str) -> str:
    return _escaped(text.replace("\n  ", "").replace("\n", " ").strip())


def _escaped(text: str) -> str:
    for mark in "\\`*_[]<>|":
        text = text.replace(mark, f"\\{mark}")
    return text
