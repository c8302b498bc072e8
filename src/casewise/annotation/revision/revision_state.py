"""The state that the journal's entries add up to: cases, decisions, and entries by pair."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from casewise.annotation.revision.journal import SNAPSHOTS, Action, Entry
from casewise.cases import Case, to_line

VERDICTS = ("votes", "author_vote", "published_safe_rate", "ratings")
"""The fields that hold what people said of a case's text as it is."""


class PairStatus(StrEnum):
    """What was decided about a pair."""

    UNDECIDED = "undecided"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


DECISIONS = {
    Action.ACCEPT: PairStatus.ACCEPTED,
    Action.REJECT: PairStatus.REJECTED,
    Action.REOPEN: PairStatus.UNDECIDED,
}
"""The actions that decide, and what about."""


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
        """What a revision of this pair is made from; another after every line about it."""
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
    """By query id; what is absent is undecided."""
    entries: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By query id, the numbers of the lines about the pair."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Query ids that changed with their query, and what each became."""
    retired: frozenset[str] = frozenset()
    """Ids of editions with votes that another took the place of."""

    @property
    def hash(self) -> str:
        """The data set's version, as ``dataset_hash`` has it."""
        return _hash(self.lines)

    def hash_with(self, before: Sequence[Case], after: Sequence[Case]) -> str:
        """The same with cases in the place of others, one for one."""
        new = dict(zip(map(to_line, before), map(to_line, after), strict=True))
        return _hash(new.get(line, line) for line in self.lines)

    @property
    def file_bytes(self) -> bytes:
        """The canonical file."""
        return "".join(f"{line}\n" for line in self.lines).encode()

    def pairs(self) -> tuple[Pair, ...]:
        """Every pair, in the order of the file."""
        grouped: dict[str, list[Case]] = {}
        for case in self.cases:
            grouped.setdefault(case.query_id, []).append(case)
        return tuple(
            Pair(
                query_id,
                number,
                tuple(cases),
                self.status.get(query_id, PairStatus.UNDECIDED),
                self.entries.get(query_id, ()),
            )
            for number, (query_id, cases) in enumerate(grouped.items(), start=1)
        )


def _hash(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def state_of(cases: Iterable[Case]) -> RevisionState:
    """Cases about which nothing was decided yet."""
    cases = tuple(cases)
    retired = frozenset(case.replaces for case in cases if case.replaces)
    return RevisionState(cases, tuple(map(to_line, cases)), retired=retired)


def replay(entries: Sequence[Entry]) -> RevisionState:
    """What a whole journal adds up to.

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
    if entry.action in SNAPSHOTS:
        after = _taken_over(state, entry)
    elif entry.action in DECISIONS:
        after = _decided(state, entry)
    else:
        after = _replaced(state, entry)
    if after.hash != entry.file_after:
        raise GapError(f"line {entry.number} adds up to other cases than it says")
    return after


def _taken_over(state: RevisionState, entry: Entry) -> RevisionState:
    """The whole file anew; decisions hold for the pairs whose text is as it was."""
    fresh = state_of(entry.after)
    old, new = _texts(state.cases), _texts(entry.after)
    touched = {
        query_id: numbers if new[query_id] == old.get(query_id) else (*numbers, entry.number)
        for query_id in new
        if (numbers := state.entries.get(query_id, ())) or query_id in old
    }
    return replace(
        fresh,
        status={
            name: status for name, status in state.status.items() if new.get(name) == old[name]
        },
        entries={
            **state.entries,
            **{name: numbers for name, numbers in touched.items() if numbers},
        },
        renamed=state.renamed,
        retired=state.retired | fresh.retired,
    )


def _texts(cases: Iterable[Case]) -> dict[str, list[str]]:
    """By query id, the cases without their votes."""
    texts: dict[str, list[str]] = {}
    for case in cases:
        bare = case.model_copy(update=dict.fromkeys(VERDICTS))
        texts.setdefault(case.query_id, []).append(to_line(bare))
    return texts


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
