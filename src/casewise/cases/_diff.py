"""Changes between two versions of a data set, case by case."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic import JsonValue

from casewise.cases._case import Case, VoteCounts, case_id, digest, to_fields
from casewise.cases._load import CaseSet
from casewise.cases._pairs import (
    KEPT_VOTES,
    OTHER_QUERY,
    PairFault,
    group_pairs,
    keeps_votes,
    pair_faults,
)

_Key = tuple[JsonValue, ...]


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field, or one parameter of a context, before and after."""

    field: str
    """The field's name; a context's parameter as ``context.recipient.background``."""
    old: JsonValue
    """Value before, None where absent; votes are counts."""
    new: JsonValue
    note: str = ""
    """Remark on a change that the two values don't show."""

    @property
    def is_text(self) -> bool:
        """Tell whether the field is text that messages withhold: query, context or history."""
        return self.field.split(".")[0] in ("query", "context", "history")


@dataclass(frozen=True, slots=True)
class CaseChange:
    """One case in two versions."""

    old: Case
    new: Case
    fields: tuple[FieldChange, ...]
    """Changes in the order of a case's fields, without ``id``."""


@dataclass(frozen=True, slots=True)
class SetDiff:
    """Comparison of two versions of a data set."""

    old: CaseSet
    new: CaseSet
    added: tuple[Case, ...]
    """Added cases in the order of the new version."""
    removed: tuple[Case, ...]
    """Removed cases in the order of the old version."""
    changed: tuple[CaseChange, ...]
    """Cases that kept their id, in the order of the old version."""
    reworded: tuple[CaseChange, ...]
    """Cases whose text changed, and with it the id that is made of it."""
    unchanged: int
    reordered: bool
    """True if the cases that kept their id follow each other in another order."""
    broken: tuple[PairFault, ...]
    """Rules of pairs that the changes break."""

    @property
    def same(self) -> bool:
        """Tell whether both versions hold the same cases in the same order."""
        return self.old.hash == self.new.hash


def diff_sets(old: CaseSet, new: CaseSet) -> SetDiff:
    """Compare two versions of a data set by the ids of their cases.

    An id that nobody gave is made of the text of the case, so a corrected text looks like one
    case removed and another added. Such two are one reworded case where the new one names the old
    (``replaces``), or where they share the query id and the intended side, or else (the query
    itself was reworded) the whole context, the history and the intended side; and no third case
    does.
    """
    before = {case.id: case for case in old.cases}
    after = {case.id: case for case in new.cases}
    kept = [id for id in before if id in after]
    changes = [CaseChange(before[id], after[id], _changes(before[id], after[id])) for id in kept]
    changed = tuple(change for change in changes if change.fields)
    removed = {id: case for id, case in before.items() if id not in after}
    added = {id: case for id, case in after.items() if id not in before}
    reworded = []
    for match in (_editions, partial(_matches, key=_by_query), partial(_matches, key=_by_context)):
        for earlier, other in match(removed.values(), added.values()):
            reworded.append(CaseChange(earlier, other, _changes(earlier, other)))
            del removed[earlier.id], added[other.id]
    places = {case.id: place for place, case in enumerate(old.cases)}
    reworded.sort(key=lambda change: places[change.old.id])
    return SetDiff(
        old,
        new,
        tuple(added.values()),
        tuple(removed.values()),
        changed,
        tuple(reworded),
        len(kept) - len(changed),
        kept != [id for id in after if id in before],
        tuple(_broken(old, new, (*changed, *reworded))),
    )


def _broken(old: CaseSet, new: CaseSet, changes: Sequence[CaseChange]) -> Iterator[PairFault]:
    """Rules that hold in the old version, or of its votes, and that the new one breaks."""
    for change in changes:
        if keeps_votes(change.old, change.new):
            yield PairFault(change.new.query_id, (change.new.id,), KEPT_VOTES)
    after = {case.id: case for case in new.cases} | {one.old.id: one.new for one in changes}
    for query_id, pair in group_pairs(old.cases).items():
        now = [after[case.id] for case in pair if case.id in after]
        if len({case.query for case in pair}) == 1 < len({case.query for case in now}):
            yield PairFault(query_id, tuple(case.id for case in now), OTHER_QUERY)
    known = {(fault.case_ids, fault.reason) for fault in pair_faults(old.cases)}
    for fault in pair_faults(new.cases):
        if (fault.case_ids, fault.reason) not in known and fault.reason != OTHER_QUERY:
            yield fault


def _editions(removed: Iterable[Case], added: Iterable[Case]) -> list[tuple[Case, Case]]:
    """Pairs of a case and the new edition that names it."""
    old = {case.id: case for case in removed}
    replacing = {case.replaces: case for case in added if case.replaces in old}
    return [(old[id], new) for id, new in replacing.items() if id is not None]


def _matches(removed: Iterable[Case], added: Iterable[Case], key: Any) -> list[tuple[Case, Case]]:
    """Pairs of a removed and an added case with a key that no third case has."""
    sides: list[dict[_Key | None, list[Case]]] = [{}, {}]
    for side, cases in zip(sides, (removed, added), strict=True):
        for case in filter(_is_derived, cases):
            side.setdefault(key(case), []).append(case)
    old, new = sides
    return [
        (ones[0], new[common][0])
        for common, ones in old.items()
        if common is not None and len(ones) == len(new.get(common, ())) == 1
    ]


def _is_derived(case: Case) -> bool:
    """Tell whether the id is a hash of the case's text: ours, or that of upstream's records."""
    own = case_id(case.query, case.context, case.history)
    return case.id in (own, digest(case.query, case.intended))


def _by_query(case: Case) -> _Key:
    return case.query_id, case.intended


def _by_context(case: Case) -> _Key | None:
    if case.context is None:
        return None
    history: JsonValue = [list(turn.values) for turn in case.history]
    return digest(case.context.root, history), case.intended


def _changes(old: Case, new: Case) -> tuple[FieldChange, ...]:
    before, after = to_fields(old), to_fields(new)
    return tuple(
        change
        for name in Case.model_fields
        if name != "id" and _text(before.get(name)) != _text(after.get(name))
        for change in _field_changes(name, before.get(name), after.get(name), old, new)
    )


def _field_changes(
    name: str, before: Any, after: Any, old: Case, new: Case
) -> Iterator[FieldChange]:
    if name == "votes":
        counts = _counts(old), _counts(new)
        note = "the counts are the same, single votes are not" if counts[0] == counts[1] else ""
        yield FieldChange(name, *counts, note)
    elif name == "context" and before is not None and after is not None:
        first, second = dict(_leaves(before, name)), dict(_leaves(after, name))
        texts = [{path: _text(value) for path, value in side.items()} for side in (first, second)]
        paths = [path for path in first | second if texts[0].get(path) != texts[1].get(path)]
        for path in paths:
            yield FieldChange(path, first.get(path), second.get(path))
        if not paths:
            yield FieldChange(name, before, after, "the order of the parameters")
    else:
        yield FieldChange(name, before, after)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}")
    else:
        yield path, value


def _counts(case: Case) -> JsonValue:
    if case.votes is None:
        return None
    form = "counts" if isinstance(case.votes, VoteCounts) else "rows"
    return {"safe": case.votes_safe, "unsafe": case.votes_unsafe, "form": form}


def _text(value: Any) -> str:
    """Canonical text: the order of parameters counts, and 1 is not true."""
    return json.dumps(value, ensure_ascii=False)
