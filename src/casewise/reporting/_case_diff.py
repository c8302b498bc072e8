"""How a data set was divided, and what changed between two versions of one."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from casewise.cases import By, Case, CaseChange, CaseSet, FieldChange, Release, SetDiff, SetPart
from casewise.errors import SHORT
from casewise.sheets import Cell, Column, Kind, Row, Table, escape, figures, number, to_json


def parts_table(parts: Sequence[SetPart], by: By) -> Table:
    """Queries by stratum and part, and the sums."""
    rows = []
    for stratum in parts[0].queries if by is not By.NONE else ():
        counts = [part.queries[stratum] for part in parts]
        rows.append(Row([stratum, *counts, sum(counts)]))
    queries = [part.n_queries for part in parts]
    shares: list[Cell] = [number(one / sum(queries)) for one in queries]
    cases = [len(part.cases) for part in parts]
    rows.append(Row(["queries", *queries, sum(queries)], apart=True))
    rows.append(Row(["share", *shares, number(1.0)]))
    rows.append(Row(["cases", *cases, sum(cases)]))
    heading = "Queries in each part" if by is By.NONE else f"Queries in each part, by {by}"
    names = (part.name for part in parts)
    return Table([Column(""), *figures(Kind.COUNT, *names, "all")], rows, heading)


def releases_table(releases: Sequence[Release]) -> Table:
    """The versions of a data set, oldest first."""
    return Table(
        [
            Column("version"),
            Column("date"),
            *figures(Kind.COUNT, "cases", "queries"),
            Column("hash"),
            Column("note"),
        ],
        [
            Row(
                [
                    one.version,
                    one.date.isoformat(),
                    one.cases,
                    one.queries,
                    one.hash,
                    one.note or "",
                ]
            )
            for one in releases
        ],
        "Releases",
    )


SHOWN = 20
"""Cases of each kind that are listed for a person; JSON and Markdown have all."""


def diff_renderable(diff: SetDiff, *, reveal: bool) -> RenderableType:
    """The two versions, the counts, and the first cases of each kind."""
    old, new = _version("old", diff.old), _version("new", diff.new)
    parts: list[RenderableType] = [Text(f"{old}\n{new}", style="bold"), Text(_counts(diff))]
    for heading, blocks in _sections(diff, reveal=reveal):
        parts.append(Text(f"\n{heading}", style="bold"))
        for head, lines in blocks[:SHOWN]:
            parts += [Text(f"  {head}"), *(Text(f"    {line}") for line in lines)]
        if len(blocks) > SHOWN:
            parts.append(Text(f"  ... and {len(blocks) - SHOWN} more (--format json lists all)"))
    return Group(*parts)


def diff_markdown(diff: SetDiff, *, reveal: bool) -> str:
    """The same as Markdown, with every case."""
    lines = [f"- {escape(_version('old', diff.old))}", f"- {escape(_version('new', diff.new))}"]
    lines += ["", _counts(diff), ""]
    for heading, blocks in _sections(diff, reveal=reveal):
        lines += [f"### {heading}", ""]
        for head, inner in blocks:
            lines += [f"- {escape(head)}", *(f"    - {escape(line)}" for line in inner)]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def diff_json(diff: SetDiff, *, reveal: bool) -> str:
    """One object; texts are their lengths unless revealed, and what is absent is null."""
    record = {
        "same": diff.same,
        "old": _set_record(diff.old),
        "new": _set_record(diff.new),
        "unchanged": diff.unchanged,
        "reordered": diff.reordered,
        "added": [_case_record(case) for case in diff.added],
        "removed": [_case_record(case) for case in diff.removed],
        "changed": [_change_record(change, reveal=reveal) for change in diff.changed],
        "reworded": [_change_record(change, reveal=reveal) for change in diff.reworded],
    }
    return to_json(record)


def _version(which: str, one: CaseSet) -> str:
    return f"{which}: {one.name}, {len(one.cases)} cases, {one.identity}"


def _counts(diff: SetDiff) -> str:
    if diff.same:
        return f"No difference: {diff.unchanged} cases unchanged."
    kinds = ("added", "removed", "changed", "reworded")
    counts = ", ".join(f"{len(getattr(diff, kind))} {kind}" for kind in kinds)
    order = " The cases that stayed are in another order." if diff.reordered else ""
    return f"{counts}, {diff.unchanged} unchanged.{order}"


_Block = tuple[str, Sequence[str]]


def _sections(diff: SetDiff, *, reveal: bool) -> list[tuple[str, list[_Block]]]:
    """The kinds of change that there are: a heading, and a head and lines for each case."""
    found: list[tuple[str, list[_Block]]] = [
        ("Added", [(_name(case), ()) for case in diff.added]),
        ("Removed", [(_name(case), ()) for case in diff.removed]),
        ("Changed", [(_name(one.new), _lines(one, reveal=reveal)) for one in diff.changed]),
        (
            "Reworded, so under another id",
            [
                (f"{one.old.id} is now {_name(one.new)}", _lines(one, reveal=reveal))
                for one in diff.reworded
            ],
        ),
    ]
    return [(heading, blocks) for heading, blocks in found if blocks]


def _name(case: Case) -> str:
    return "  ".join([case.id, case.intended or "none", case.category or ""]).rstrip()


def _lines(change: CaseChange, *, reveal: bool) -> list[str]:
    return [_line(field, reveal=reveal) for field in change.fields]


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
    return len(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _short(value: Any) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."


def _set_record(one: CaseSet) -> dict[str, Any]:
    return {"name": one.name, "version": one.version, "hash": one.hash, "cases": len(one.cases)}


def _case_record(case: Case) -> dict[str, Any]:
    names = ("id", "query_id", "category", "intended")
    return {name: getattr(case, name) for name in names}


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
