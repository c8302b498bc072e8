"""Differences between two versions of a set of cases, shown."""

import json
from collections.abc import Iterator
from typing import Any

from casewise.cases import (
    Case,
    CaseChange,
    CaseSet,
    SetDiff,
)
from casewise.errors import SHORT
from casewise.sheets import (
    Part,
    Sheet,
    Tone,
    Word,
    json_fields,
    page,
)


def diff_sheet(diff: SetDiff, *, reveal: bool) -> Sheet:
    """The two versions, the counts, and every case; texts are their lengths unless revealed."""
    return page(_diff_parts(diff, reveal=reveal), lambda: _diff_record(diff, reveal=reveal))


def _diff_parts(diff: SetDiff, *, reveal: bool) -> Iterator[Part]:
    for version, case_set in (("old", diff.old), ("new", diff.new)):
        yield f"{version}: {case_set.name}, {len(case_set.cases)} cases, {case_set.identity}"
    yield _diff_counts(diff)
    for kind, cases in (("added", diff.added), ("removed", diff.removed)):
        yield from (f"{kind}: {_name(case)}" for case in cases)
    for change in (*diff.changed, *diff.reworded):
        renamed = change.old.id != change.new.id
        head = f"{change.old.id} is now {_name(change.new)}" if renamed else _name(change.new)
        yield f"\n{'reworded' if renamed else 'changed'}: {head}"
        for field in change.fields:
            old, new = (
                _short(text, hides=field.is_text and not reveal) for text in (field.old, field.new)
            )
            yield f"{field.field}: {old} -> {new}"
        if change.moves_votes:
            yield Word(
                "people voted on this text; their votes would come to stand on another", Tone.BAD
            )


def _diff_record(diff: SetDiff, *, reveal: bool) -> dict[str, Any]:
    def sides(case_set: CaseSet) -> dict[str, Any]:
        return {**json_fields(case_set, "name", "version", "hash"), "cases": len(case_set.cases)}

    changes = {
        name: [_change_record(change, reveal=reveal) for change in getattr(diff, name)]
        for name in ("changed", "reworded")
    }
    return {
        "same": diff.same,
        **{"old": sides(diff.old), "new": sides(diff.new)},
        **json_fields(diff, "unchanged", "reordered"),
        "added": [_case_record(case) for case in diff.added],
        "removed": [_case_record(case) for case in diff.removed],
        **changes,
    }


def _diff_counts(diff: SetDiff) -> str:
    if diff.same:
        return f"No difference: {diff.unchanged} cases unchanged."
    kinds = ("added", "removed", "changed", "reworded")
    counts = ", ".join(f"{len(getattr(diff, kind))} {kind}" for kind in kinds)
    order = " The cases that stayed are in another order." if diff.reordered else ""
    return f"{counts}, {diff.unchanged} unchanged.{order}"


def _name(case: Case) -> str:
    return "  ".join([case.id, case.intended or "none", case.category or ""]).rstrip()


def _short(value: Any, *, hides: bool) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if hides:
        return f"{len(text)} characters"
    text = " ".join(text.split())
    return text if len(text) <= SHORT else f"{text[: SHORT - 3]}..."


def _case_record(case: Case) -> dict[str, Any]:
    return json_fields(case, "id", "query_id", "category", "intended")


def _change_record(change: CaseChange, *, reveal: bool) -> dict[str, Any]:
    fields = []
    for field in change.fields:
        sides = {"old": field.old, "new": field.new}
        if field.is_text and not reveal:
            sides = {side: _short(value, hides=True) for side, value in sides.items()}
        fields.append({"field": field.field, **sides})
    return {
        "old_id": change.old.id,
        **_case_record(change.new),
        "fields": fields,
        "moves_votes": change.moves_votes,
    }
