"""The rules of revised cases: what may change, and what journal entries add up to."""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, count
from typing import Any

from pydantic import ValidationError

from casewise.cases import (
    KEPT_VOTES,
    OTHER_QUERY,
    SAME_TEXT,
    VERDICTS,
    Case,
    digest,
    group_pairs,
    is_voted,
    to_fields,
    to_line,
)
from casewise.contexts import leaf_parameters
from casewise_study.revision.journal import SNAPSHOTS, Action, Entry, UnfitError, VotedError


class PairStatus(StrEnum):
    """Decision about a pair."""

    UNDECIDED = "undecided"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


DECISIONS = {
    Action.ACCEPT: PairStatus.ACCEPTED,
    Action.REJECT: PairStatus.REJECTED,
    Action.REOPEN: PairStatus.UNDECIDED,
}
"""Status of a pair after each action that decides about it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The cases that share a query, and what was decided about them."""

    query_id: str
    number: int
    """The place among the pairs of the file, from 1."""
    cases: tuple[Case, ...]
    status: PairStatus
    entries: tuple[int, ...]
    """The numbers of the journal's lines about this pair, oldest first."""

    @property
    def version(self) -> str:
        """Version that a revision of this pair is made from; another after every line about it."""
        last = self.entries[-1] if self.entries else 0
        text = "\n".join(to_line(case) for case in self.cases)
        return f"{last}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class GapError(ValueError):
    """A line of the journal does not fit what the lines before it add up to."""


@dataclass(frozen=True, slots=True)
class RevisionState:
    """The cases as the journal has them."""

    cases: tuple[Case, ...] = ()
    lines: tuple[str, ...] = ()
    """The canonical line of each case, kept so that a hash of all is quick."""
    status: Mapping[str, PairStatus] = field(default_factory=dict)
    """Status by query id; an absent one is undecided."""
    entries: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Numbers of the lines about each pair, by query id."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Query ids that changed with their query, and what each became."""
    retired: frozenset[str] = frozenset()
    """Ids of editions with votes that another took the place of."""

    @property
    def hash(self) -> str:
        """The data set's version, as ``dataset_hash`` has it."""
        return hashlib.sha256("\n".join(self.lines).encode()).hexdigest()[:16]

    @property
    def file_bytes(self) -> bytes:
        """The canonical file."""
        return "".join(f"{line}\n" for line in self.lines).encode()

    def pairs(self) -> tuple[Pair, ...]:
        """Every pair, in the order of the file."""
        return tuple(
            Pair(
                query_id,
                number,
                tuple(cases),
                self.status.get(query_id, PairStatus.UNDECIDED),
                self.entries.get(query_id, ()),
            )
            for number, (query_id, cases) in enumerate(group_pairs(self.cases).items(), start=1)
        )


def state_of(cases: Iterable[Case]) -> RevisionState:
    """Cases about which nothing was decided yet."""
    cases = tuple(cases)
    retired = frozenset(case.replaces for case in cases if case.replaces)
    return RevisionState(cases, tuple(map(to_line, cases)), retired=retired)


def replay(entries: Sequence[Entry]) -> RevisionState:
    """State after a whole journal.

    Raises:
        GapError: A line does not fit those before it.
    """
    state = RevisionState()
    for entry in entries:
        state = apply(state, entry)
    return state


def apply(state: RevisionState, entry: Entry) -> RevisionState:
    """The state after one more line.

    Raises:
        GapError: The line tells of other cases than there are.
    """
    after = advance(state, entry)
    if after.hash != entry.file_after:
        raise GapError(f"line {entry.number} adds up to other cases than it says")
    return after


def advance(state: RevisionState, entry: Entry) -> RevisionState:
    """The same, whatever the line says that it adds up to."""
    if entry.action in SNAPSHOTS:
        return _taken_over(state, entry)
    return (_decided if entry.action in DECISIONS else _replaced)(state, entry)


def _taken_over(state: RevisionState, entry: Entry) -> RevisionState:
    """The whole file anew; decisions hold for the pairs whose text is as it was."""
    fresh = state_of(entry.after)
    old, new = _texts(state.cases), _texts(entry.after)
    touched = {
        name: (*state.entries.get(name, ()), entry.number)
        for name, text in new.items()
        if text != old.get(name) and (name in old or name in state.entries)
    }
    return replace(
        fresh,
        status={
            name: status for name, status in state.status.items() if new.get(name) == old[name]
        },
        entries={**state.entries, **touched},
        renamed=state.renamed,
        retired=state.retired | fresh.retired,
    )


def _texts(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Cases without their votes, by query id."""
    bare = dict.fromkeys(VERDICTS)
    return {
        name: [to_line(case.model_copy(update=bare)) for case in pair]
        for name, pair in group_pairs(cases).items()
    }


def _decided(state: RevisionState, entry: Entry) -> RevisionState:
    name = entry.query_id or ""
    if not any(case.query_id == name for case in state.cases):
        raise GapError(f"line {entry.number} decides about a pair that is not there")
    return replace(
        state,
        status={**state.status, name: DECISIONS[entry.action]},
        entries=_with_entry(state, name, name, entry.number),
    )


def _replaced(state: RevisionState, entry: Entry) -> RevisionState:
    """Cases in the place of others; the pair is undecided again, since its text is another."""
    old, name = entry.query_id or "", entry.after[0].query_id if entry.after else ""
    new_by_line = dict(zip(map(to_line, entry.before), entry.after, strict=True))
    cases, lines = list(state.cases), list(state.lines)
    for place, line in enumerate(state.lines):
        if line in new_by_line:
            cases[place] = new_by_line.pop(line)
            lines[place] = to_line(cases[place])
    if new_by_line or not entry.after:
        raise GapError(f"line {entry.number} replaces cases that are not there")
    renamed = {**state.renamed, old: name} if name != old else state.renamed
    opened = frozenset(case.replaces for case in entry.after if case.replaces)
    return replace(
        state,
        cases=tuple(cases),
        lines=tuple(lines),
        status={key: value for key, value in state.status.items() if key != old},
        entries=_with_entry(state, old, name, entry.number),
        renamed=renamed,
        retired=state.retired | opened,
    )


def _with_entry(
    state: RevisionState, old: str, name: str, number: int
) -> dict[str, tuple[int, ...]]:
    kept = {key: value for key, value in state.entries.items() if key != old}
    return {**kept, name: (*state.entries.get(old, ()), number)}


EDITABLE = ("query", "context", "history", "category", "intended", "tags")
"""The fields that a revision may change."""

Fields = Mapping[str, Any]


def next_edition(case: Case, taken: Collection[str]) -> Case:
    """The next version of a case: the same text, an id of its own, no votes."""
    fields = {name: value for name, value in to_fields(case).items() if name not in VERDICTS}
    version = case.version + 1
    stem = case.id if case.version == 1 else case.id.removesuffix(f"-v{case.version}")
    new = {"id": _free(f"{stem}-v{version}", taken), "version": version, "replaces": case.id}
    return Case.model_validate(fields | new)


def revise_cases(
    cases: Sequence[Case], edits: Mapping[str, Fields], taken: Collection[str]
) -> tuple[Case, ...]:
    """The cases of a pair after an edit, in their order.

    An id that is a hash of the text follows the text, as does the query id; given ones stay. A
    hash that an earlier edition has already is told apart by the version (``...-v2``).

    Args:
        cases: The pair.
        edits: By case id, the fields that change (of ``EDITABLE``) and their plain JSON values.
        taken: Ids of other cases, and of editions that were replaced.

    Raises:
        UnfitError: The edit makes no valid cases, or takes a pair apart.
        VotedError: A case that would change carries votes.
    """
    if set(edits) - {case.id for case in cases}:
        raise UnfitError("the pair has no such case: was it replaced meanwhile?")
    revised = [_edited(case, edits.get(case.id, {})) for case in cases]
    if len({case.query for case in cases}) == 1 < len({case.query for case in revised}):
        raise UnfitError(OTHER_QUERY)
    query_id = _query_id(cases, revised)
    done: list[Case] = []
    for old, new in zip(cases, revised, strict=True):
        whole = new.model_copy(update={"query_id": query_id})
        if to_line(whole) == to_line(old):
            done.append(old)
            continue
        if is_voted(old):
            raise VotedError(f"{KEPT_VOTES}. Open a new version of the case first")
        done.append(_with_own_id(old, whole, {*taken, *(case.id for case in done)}))
    if len({case.id for case in done}) < len(done):
        raise UnfitError(SAME_TEXT)
    return tuple(done)


@dataclass(frozen=True, slots=True)
class RevisedField:
    """One field of a case, or one parameter of its context, before and after."""

    name: str
    """A field's name, or a parameter's path (``recipient.type``)."""
    old: str | None
    """Text as it is, other values as JSON; None where there was none."""
    new: str | None


def changes_between(before: Case, after: Case) -> tuple[RevisedField, ...]:
    """Differences: fields in their order, then the parameters of the context."""
    old, new = _named(before), _named(after)
    return tuple(
        RevisedField(name, old.get(name), new.get(name))
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    )


def _named(case: Case) -> dict[str, str]:
    fields: dict[str, Any] = to_fields(case)
    context = fields.pop("context", None)
    parts = leaf_parameters(case.context) if case.context is not None else {}
    if context is not None and not parts:
        parts = {"context": context}
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for name, value in {**fields, **parts}.items()
    }


def _edited(case: Case, fields: Fields) -> Case:
    if forbidden := sorted(set(fields) - set(EDITABLE)):
        raise UnfitError(f"{', '.join(forbidden)}: not to be changed here")
    try:
        edited = Case.model_validate({**to_fields(case), **fields})
        to_line(edited).encode()
    except UnicodeEncodeError:
        raise UnfitError("a text holds half of a character") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        said = first["msg"].removeprefix("Value error, ")
        raise UnfitError(f"{place}: {said}" if place else said) from None
    return edited


def _query_id(old: Sequence[Case], new: Sequence[Case]) -> str:
    """The pair's query id: a hash follows the query."""
    given = old[0].query_id
    follows = given == digest(old[0].query) and len({case.query for case in old}) == 1
    return digest(new[0].query) if follows else given


def _with_own_id(old: Case, new: Case, taken: Collection[str]) -> Case:
    made = _text_id(old)
    if old.id not in (made, f"{made}-v{old.version}"):
        return new
    own = _text_id(new)
    if own in taken:
        own = f"{own}-v{new.version}"
    if own in taken:
        raise UnfitError("another case has the same query, context and history")
    return new.model_copy(update={"id": own})


def _text_id(case: Case) -> str:
    """The id of a case to which none is given."""
    return Case(query=case.query, context=case.context, history=case.history).id


def _free(id: str, taken: Collection[str]) -> str:
    names = chain([id], (f"{id}.{more}" for more in count(2)))
    return next(name for name in names if name not in taken)
