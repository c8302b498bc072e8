"""Views of sets of cases: parts, differences between two versions, audits."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.cases import (
    Case,
    CaseChange,
    CaseSet,
    FieldChange,
    PairFault,
    SetDiff,
    SetPart,
    group_pairs,
    is_voted,
)
from casewise.choices import By
from casewise.contexts import differing_parameters
from casewise.dataset import (
    CHECKS,
    Audit,
    Finding,
    Guess,
    Languages,
    Severity,
    as_audit_record,
)
from casewise.errors import SHORT, install_hint
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    escape,
    figures,
    interval,
    json_fields,
    markdown,
    number,
    plural,
    terminal,
)


def parts_table(parts: Sequence[SetPart], by: By) -> Table:
    """Queries by stratum and part, with sums; shares and cases of each part."""
    rows = []
    for stratum in parts[0].queries if by is not By.NONE else ():
        counts = [part.queries[stratum] for part in parts]
        rows.append(Row([stratum, *counts, sum(counts)]))
    queries = [part.n_queries for part in parts]
    shares: list[Cell] = [number(one / sum(queries)) for one in queries]
    cases = [len(part.cases) for part in parts]
    rows += [
        Row(["queries", *queries, sum(queries)], apart=True),
        Row(["share", *shares, number(1.0)]),
        Row(["cases", *cases, sum(cases)]),
    ]
    heading = "Queries in each part" if by is By.NONE else f"Queries in each part, by {by}"
    names = (part.name for part in parts)
    return Table([Column(""), *figures(Kind.COUNT, *names, "all")], rows, heading)


LISTED = 20
"""Cases of each kind on a terminal; Markdown and JSON list all."""


def diff_sheet(diff: SetDiff, *, reveal: bool) -> Sheet:
    """The two versions, the counts, and every case; texts are their lengths unless revealed."""
    sections = _sections(diff, reveal=reveal)
    return Sheet(
        lambda: _diff_renderable(diff, sections),
        lambda: _diff_markdown(diff, sections),
        lambda: _diff_record(diff, reveal=reveal),
    )


_Section = tuple[str, list[tuple[str, Sequence[str]]]]
"""A kind of change: its heading, and the head and lines of each case."""


def _diff_renderable(diff: SetDiff, sections: Sequence[_Section]) -> RenderableType:
    old, new = _version("old", diff.old), _version("new", diff.new)
    parts: list[RenderableType] = [Text(f"{old}\n{new}", style="bold"), Text(_diff_counts(diff))]
    for heading, blocks in sections:
        parts.append(Text(f"\n{heading}", style="bold"))
        for head, lines in blocks[:LISTED]:
            parts += [Text(f"  {head}"), *(Text(f"    {line}") for line in lines)]
        if len(blocks) > LISTED:
            parts.append(Text(f"  ... and {len(blocks) - LISTED} more (--format json lists all)"))
    return Group(*parts)


def _diff_markdown(diff: SetDiff, sections: Sequence[_Section]) -> str:
    lines = [f"- {escape(_version('old', diff.old))}", f"- {escape(_version('new', diff.new))}"]
    lines += ["", _diff_counts(diff), ""]
    for heading, blocks in sections:
        lines += [f"### {heading}", ""]
        for head, inner in blocks:
            lines += [f"- {escape(head)}", *(f"    - {escape(line)}" for line in inner)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _diff_record(diff: SetDiff, *, reveal: bool) -> dict[str, Any]:
    return {
        "same": diff.same,
        "old": _set_record(diff.old),
        "new": _set_record(diff.new),
        "unchanged": diff.unchanged,
        "reordered": diff.reordered,
        "added": [_case_record(case) for case in diff.added],
        "removed": [_case_record(case) for case in diff.removed],
        "changed": [_change_record(change, reveal=reveal) for change in diff.changed],
        "reworded": [_change_record(change, reveal=reveal) for change in diff.reworded],
        "broken": list(map(asdict, diff.broken)),
    }


def _version(which: str, one: CaseSet) -> str:
    return f"{which}: {one.name}, {len(one.cases)} cases, {one.identity}"


def _diff_counts(diff: SetDiff) -> str:
    if diff.same:
        return f"No difference: {diff.unchanged} cases unchanged."
    kinds = ("added", "removed", "changed", "reworded")
    counts = ", ".join(f"{len(getattr(diff, kind))} {kind}" for kind in kinds)
    order = " The cases that stayed are in another order." if diff.reordered else ""
    return f"{counts}, {diff.unchanged} unchanged.{order}"


def _sections(diff: SetDiff, *, reveal: bool) -> list[_Section]:
    """The kinds of change that there are."""

    def lines(change: CaseChange) -> list[str]:
        return [_line(field, reveal=reveal) for field in change.fields]

    found: list[_Section] = [
        ("Added", [(_name(case), ()) for case in diff.added]),
        ("Removed", [(_name(case), ()) for case in diff.removed]),
        ("Changed", [(_name(one.new), lines(one)) for one in diff.changed]),
        (
            "Reworded, so under another id",
            [(f"{one.old.id} is now {_name(one.new)}", lines(one)) for one in diff.reworded],
        ),
        ("Against the rules of pairs", [(_fault(fault), ()) for fault in diff.broken]),
    ]
    return [(heading, blocks) for heading, blocks in found if blocks]


def _fault(fault: PairFault) -> str:
    return f"{', '.join(fault.case_ids)}: {fault.reason}"


def pairs_sheet(cases: Sequence[Case], faults: Sequence[PairFault]) -> Sheet:
    """Pairs, without their texts, and the rules that they break."""
    pairs = list(group_pairs(cases).items())
    differing = [differing_parameters(pair) for _, pair in pairs]

    def table() -> Table:
        rows = [
            Row(
                [
                    *(number, query_id, pair[0].category or "", len(pair)),
                    "yes" if any(map(is_voted, pair)) else "",
                    max(case.version for case in pair),
                    ", ".join(names),
                ]
            )
            for number, ((query_id, pair), names) in enumerate(
                zip(pairs, differing, strict=True), 1
            )
        ]
        columns = [Column("", Kind.COUNT), Column("query id"), Column("category")]
        columns += [Column("cases", Kind.COUNT), Column("votes"), Column("version", Kind.COUNT)]
        return Table([*columns, Column("parameters that differ")], rows, "Pairs")

    def said() -> list[str]:
        return [*map(_fault, faults)] or ["No rule of pairs is broken."]

    return Sheet(
        lambda: Group(terminal(table()), *map(Text, said())),
        lambda: markdown(table(), "\n".join(f"- {escape(line)}" for line in said())),
        lambda: {
            "pairs": [
                {
                    "query_id": query_id,
                    "cases": [case.id for case in pair],
                    "voted": [case.id for case in pair if is_voted(case)],
                    "differing": list(names),
                }
                for (query_id, pair), names in zip(pairs, differing, strict=True)
            ],
            "broken": list(map(asdict, faults)),
        },
    )


def _name(case: Case) -> str:
    return "  ".join([case.id, case.intended or "none", case.category or ""]).rstrip()


def _line(change: FieldChange, *, reveal: bool) -> str:
    remark = f" ({change.note})" if change.note else ""
    if change.field == "votes":
        return f"votes: {_votes(change.old)} -> {_votes(change.new)}{remark}"
    show = _length if change.is_text and not reveal else _short
    return f"{change.field}: {show(change.old)} -> {show(change.new)}{remark}"


def _votes(counts: Any) -> str:
    if counts is None:
        return "none"
    form = "counts" if counts["form"] == "counts" else "single votes"
    return f"{counts['safe']} safe, {counts['unsafe']} unsafe ({form})"


def _length(value: Any) -> str:
    return "none" if value is None else f"{_characters(value)} characters"


def _characters(value: Any) -> int:
    return len(_text(value))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = " ".join(_text(value).split())
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."


def _set_record(one: CaseSet) -> dict[str, Any]:
    return {"name": one.name, "version": one.version, "hash": one.hash, "cases": len(one.cases)}


def _case_record(case: Case) -> dict[str, Any]:
    return json_fields(case, "id", "query_id", "category", "intended")


def _change_record(change: CaseChange, *, reveal: bool) -> dict[str, Any]:
    fields = [
        {
            "field": field.field,
            "old": _value(field, field.old, reveal=reveal),
            "new": _value(field, field.new, reveal=reveal),
            "note": field.note or None,
        }
        for field in change.fields
    ]
    record = _case_record(change.new) | {"fields": fields}
    return record if change.old.id == change.new.id else {"old_id": change.old.id} | record


def _value(field: FieldChange, value: Any, *, reveal: bool) -> Any:
    if field.is_text and not reveal and value is not None:
        return {"characters": _characters(value)}
    return value


SHOWN = 3
"""Revealed pieces of a finding on a terminal; Markdown and JSON have all."""

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold"}


def audit_sheet(audit: Audit, *, reveal: bool) -> Sheet:
    """The findings, worst first, then the figures that they rest on; Markdown has every case id."""
    return Sheet(
        lambda: _audit_renderable(audit, reveal=reveal),
        lambda: _audit_markdown(audit, reveal=reveal),
        lambda: as_audit_record(audit, reveal=reveal),
    )


def _audit_renderable(audit: Audit, *, reveal: bool) -> RenderableType:
    parts: list[RenderableType] = [Text(_opening(audit)), Text(_counts(audit)), Text()]
    for found in audit.findings:
        head = (f"{found.severity} {found.code}", _STYLES[found.severity])
        parts.append(Text.assemble(head, f" ({_size(found)}) {found.sentence(audit.cases)}"))
        if reveal:
            parts += [Text(f"  {piece}", style="dim") for piece in _pieces(found)[:SHOWN]]
    return Group(*parts, Text(), terminal(*_tables(audit)))


def _audit_markdown(audit: Audit, *, reveal: bool) -> str:
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


def _opening(audit: Audit) -> str:
    sided = f" ({audit.pairs} in a safe and an unsafe context)" if audit.pairs else ""
    return (
        f"{audit.name}: {plural(audit.cases, 'case')} of {plural(audit.queries, 'query')}{sided}, "
        f"{plural(audit.categories, 'category')} "
        f"(hash {audit.hash})"
    )


def _counts(audit: Audit) -> str:
    counts = [
        plural(sum(one.severity is severity for one in audit.findings), str(severity))
        for severity in Severity
    ]
    return f"Found: {', '.join(counts)}." if audit.findings else "Found nothing."


def _size(found: Finding) -> str:
    """Size of a finding: the figure with its interval, or the count with its denominator."""
    unit = CHECKS[found.code].unit
    if not math.isnan(found.value):
        digits = 3 if found.value < 1 else 2
        ends = "" if math.isnan(found.interval[0]) else f", {interval(found.interval)}"
        return f"{unit} {number(found.value, digits)}{ends}"
    return f"{found.n}{f' of {found.of}' if found.of is not None else ''} {unit}"


def _pieces(found: Finding) -> list[str]:
    return [" ".join(piece.split()) for piece in found.shown]


def _tables(audit: Audit) -> list[Table]:
    tables = (_guesses(audit), _words(audit), _twins(audit), _parameters(audit))
    return [table for table in tables if table.rows]


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
    words = audit.twins
    ends = words.difference.interval
    return Table(
        [
            Column(""),
            Column("pairs", Kind.COUNT),
            *figures(Kind.NUMBER, "safe", "unsafe", "difference", digits=1),
            Column("95 %", Kind.INTERVAL, 1),
            Column("d", Kind.NUMBER, 2),
        ],
        [
            Row(
                [
                    *("words", words.pairs, words.safe, words.unsafe, words.difference.value),
                    *(ends, words.effect),
                ]
            )
        ]
        if words.pairs
        else [],
        "Do the twins differ? (one pair a query; means; d: Cohen's, of pairs)",
    )


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
        _languages(audit.languages),
    )


def _languages(spoken: Languages | None) -> str:
    if spoken is None:
        return f"Languages were not told apart: {install_hint('audit')}."
    return f"{_spoken('Queries', spoken.queries)} {_spoken('Contexts', spoken.contexts)}"


def _spoken(what: str, counts: dict[str, int]) -> str:
    named = ", ".join(f"{language} {count}" for language, count in counts.items())
    return f"{what} by language: {named or 'none'}."
