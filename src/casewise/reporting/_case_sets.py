"""Views of sets of cases: parts, differences between two versions, pairs."""

import json
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
from casewise.errors import SHORT
from casewise.sheets import (
    Cell,
    Column,
    Kind,
    Row,
    Sheet,
    Table,
    escape,
    figures,
    json_fields,
    markdown,
    number,
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
