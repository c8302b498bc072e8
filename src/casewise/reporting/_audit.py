"""An audit for people, for a page of Markdown, and for programs."""

import math

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.dataset import (
    CHECKS,
    Audit,
    Finding,
    Guess,
    Severity,
    TwinDifference,
    as_audit_record,
    plural,
)
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Table,
    escape,
    figures,
    interval,
    markdown,
    number,
    terminal,
    to_json,
)

SHOWN = 3
"""Revealed pieces of a finding on a terminal; JSON lists all."""

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold"}


def audit_renderable(audit: Audit, *, reveal: bool) -> RenderableType:
    """The findings, worst first, then the figures that they rest on."""
    parts: list[RenderableType] = [Text(_opening(audit)), Text(_counts(audit)), Text()]
    for found in audit.findings:
        head = (f"{found.severity} {found.code}", _STYLES[found.severity])
        parts.append(Text.assemble(head, f" ({_size(found)}) {found.sentence(audit.cases)}"))
        if reveal:
            parts += [Text(f"  {piece}", style="dim") for piece in _pieces(found)[:SHOWN]]
    return Group(*parts, Text(), terminal(*_tables(audit)))


def audit_markdown(audit: Audit, *, reveal: bool) -> str:
    """The same as Markdown, with every case id."""
    lines = [f"# Audit of {escape(audit.name)}", "", escape(_opening(audit)), ""]
    lines += [_counts(audit), ""]
    for severity in Severity:
        found = [one for one in audit.findings if one.severity is severity]
        if found:
            lines += [f"## {str(severity).capitalize()}s", ""]
        for one in found:
            lines.append(f"- `{one.code}` ({_size(one)}) {escape(one.text)}")
            if one.cases and len(one.cases) < audit.cases:
                lines.append(f"    - cases: {', '.join(map(escape, one.cases))}")
            if reveal:
                lines += [f"    - {escape(piece)}" for piece in _pieces(one)]
        if found:
            lines.append("")
    lines += ["## Figures", "", markdown(*_tables(audit))]
    return "\n".join(lines).rstrip() + "\n"


def audit_json(audit: Audit, *, reveal: bool) -> str:
    """One object; what is undefined is null."""
    return to_json(as_audit_record(audit, reveal=reveal))


def _opening(audit: Audit) -> str:
    pairs = f"{plural(audit.pairs, 'pair')}, " if audit.pairs else ""
    return (
        f"{audit.name}: {plural(audit.cases, 'case')} of {plural(audit.queries, 'query')}, "
        f"{pairs}{plural(audit.categories, 'category')} "
        f"(hash {audit.hash})"
    )


def _counts(audit: Audit) -> str:
    counts = [
        plural(sum(one.severity is severity for one in audit.findings), str(severity))
        for severity in Severity
    ]
    return f"Found: {', '.join(counts)}." if audit.findings else "Found nothing."


def _size(found: Finding) -> str:
    """How much was found: the figure with its interval, or the count with its denominator."""
    unit = CHECKS[found.code].unit
    if not math.isnan(found.value):
        digits = 3 if found.value < 1 else 2
        return f"{unit} {number(found.value, digits)}{_between(found.interval)}"
    return f"{found.n}{f' of {found.of}' if found.of is not None else ''} {unit}"


def _between(ends: tuple[float, float]) -> str:
    return "" if math.isnan(ends[0]) else f", {interval(ends)}"


def _pieces(found: Finding) -> list[str]:
    return [" ".join(piece.split()) for piece in found.shown]


def _tables(audit: Audit) -> list[Table]:
    return [
        table
        for table in (_guesses(audit), _words(audit), _twins(audit), _parameters(audit))
        if table.rows
    ]


def _guesses(audit: Audit) -> Table:
    found = audit.leakage
    rows = [
        _guess("words of the context", found.context),
        _guess("words of the query", found.query),
        _guess("lengths of the context", found.lengths),
    ]
    if found.parameters:
        # What a parameter says alone stands below the whole context that it is part of.
        rows.append(Row(["words of one parameter", "", "", ""]))
        rows += [_guess(f"  {one.parameter}", one.guess) for one in found.parameters]
    return Table(
        [
            Column("from"),
            Column("accuracy", Kind.SHARE),
            Column("95 %", Kind.INTERVAL),
            Column("chance", Kind.SHARE),
        ],
        rows if found.context.n else [],
        "How well is the intended side guessed from the surface?",
        f"Logistic regression on words that are there or not, {found.groups} groups of queries "
        "that share no context, in ten folds; the interval is clustered by group.",
    )


def _guess(name: str, one: Guess) -> Row:
    return Row([name, one.accuracy.value, one.accuracy.interval, one.chance])


def _words(audit: Audit) -> Table:
    return Table(
        [
            Column("word"),
            Column("weight", Kind.CHANGE, 2),
            *figures(Kind.COUNT, "cases\nsafe", "cases\nunsafe"),
        ],
        [
            Row([one.word, one.weight, one.safe, one.unsafe])
            for one in (audit.leakage.words if audit.leakage.context.beyond_chance > 0 else ())
        ],
        "Words that carry the guess from the context",
        "Weight: mean log-odds of safe over the folds, of words with one sign in all of them. "
        "Listed where the guess is beyond chance.",
    )


def _twins(audit: Audit) -> Table:
    both = {"words": audit.twins.words, "LIX (readability)": audit.twins.lix}
    return Table(
        [
            Column(""),
            Column("pairs", Kind.COUNT),
            *figures(Kind.NUMBER, "safe", "unsafe", "difference", digits=1),
            Column("95 %", Kind.INTERVAL, 1),
            Column("d", Kind.NUMBER, 2),
        ],
        [Row([name, *_difference(one)]) for name, one in both.items() if one.pairs],
        "Do the twins differ? (means; d: Cohen's, of pairs)",
    )


def _difference(one: TwinDifference) -> list[Cell]:
    ends = one.difference.interval
    return [one.pairs, one.safe, one.unsafe, one.difference.value, ends, one.effect]


def _parameters(audit: Audit) -> Table:
    sided = any(one.safe or one.unsafe for one in audit.coverage.parameters)
    sides = ("safe", "unsafe") if sided else ()
    return Table(
        [
            Column(""),
            *figures(Kind.COUNT, "con-\ntexts", *sides, "differ-\nent"),
            *([Column("differs\nin pairs", Kind.COUNT)] if audit.pairs else []),
        ],
        [
            Row(
                [
                    one.name,
                    one.present,
                    *([one.safe, one.unsafe] if sides else []),
                    one.distinct,
                    *([f"{one.differs} of {one.pairs}"] if audit.pairs else []),
                ]
            )
            for one in audit.coverage.parameters
        ],
        "Parameters",
        _spoken("Queries", audit.languages.queries)
        + " "
        + _spoken("Contexts", audit.languages.contexts),
    )


def _spoken(what: str, counts: dict[str, int]) -> str:
    named = ", ".join(f"{language} {count}" for language, count in counts.items())
    return f"{what} by language: {named or 'none'}."
