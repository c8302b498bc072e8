"""What the page is told, and what it sends, as JSON."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from casewise.annotation.revision import (
    SNAPSHOTS,
    Action,
    Desk,
    Entry,
    Node,
    Pair,
    Status,
    changes_between,
    from_tree,
    is_voted,
    progress,
    to_tree,
)
from casewise.cases import Case, Side, digest
from casewise.contexts import differing_parameters

SHORT_QUERY = 240
"""Characters of a query in the list of pairs."""


class _Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SentTurn(_Sent):
    """One earlier turn."""

    role: Literal["system", "user", "assistant"]
    content: str


class SentCase(_Sent):
    """What changes in one case; a field that is not sent stays as it is."""

    id: str
    query: str = ""
    context: tuple[Node, ...] | None = None
    history: tuple[SentTurn, ...] = ()
    category: str | None = None
    intended: Side | None = None
    tags: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The fields that were sent, as plain JSON values."""
        sent = {name: getattr(self, name) for name in self.model_fields_set if name != "id"}
        if sent.get("context") is not None:
            sent["context"] = from_tree(sent["context"])
        if "history" in sent:
            sent["history"] = [turn.model_dump() for turn in sent["history"]]
        return sent


class SentEdit(_Sent):
    """An edit of a pair."""

    author: str = Field(max_length=200)
    reason: str = Field(max_length=10_000)
    cases: tuple[SentCase, ...]


class SentVersion(_Sent):
    """Cases of which a new version is to be opened."""

    author: str = Field(max_length=200)
    reason: str = Field(max_length=10_000)
    cases: tuple[str, ...]


class SentDecision(_Sent):
    """What is decided about a pair."""

    author: str = Field(max_length=200)
    reason: str = Field(max_length=10_000)
    action: Literal[Action.ACCEPT, Action.REJECT, Action.REOPEN]


def key_of(query_id: str) -> str:
    """A pair's name in addresses: a given query id may say too much there."""
    return digest(query_id)


def list_record(desk: Desk) -> dict[str, Any]:
    """Every pair in short."""
    pairs = desk.pairs()
    decided, total = progress(pairs)
    return {"decided": decided, "total": total, "pairs": [_row(pair) for pair in pairs]}


def _row(pair: Pair) -> dict[str, Any]:
    first = pair.cases[0]
    return {
        "key": key_of(pair.query_id),
        "number": pair.number,
        "query": first.query[:SHORT_QUERY],
        "category": first.category,
        "status": pair.status,
        "cases": len(pair.cases),
        "voted": any(map(is_voted, pair.cases)),
        "version": max(case.version for case in pair.cases),
        "revisions": len(pair.entries),
        "differing": len(differing_parameters(pair.cases)),
    }


def pair_record(desk: Desk, pair: Pair) -> dict[str, Any]:
    """All that the page shows of a pair."""
    pairs = desk.pairs()
    decided, total = progress(pairs)
    place = pair.number - 1
    behind = [*pairs[place + 1 :], *pairs[:place]]
    undecided = next((one for one in behind if one.status is Status.UNDECIDED), None)
    return {
        "key": key_of(pair.query_id),
        "version": pair.version,
        "number": pair.number,
        "total": total,
        "decided": decided,
        "status": pair.status,
        "previous": key_of(pairs[place - 1].query_id) if place else None,
        "next": key_of(pairs[place + 1].query_id) if pair.number < total else None,
        "undecided": key_of(undecided.query_id) if undecided else None,
        "cases": [_case(case) for case in pair.cases],
        "revisions": [_revision(desk.entries[number - 1]) for number in reversed(pair.entries)],
    }


def _case(case: Case) -> dict[str, Any]:
    tree = to_tree(case.context)
    return {
        "id": case.id,
        "query": case.query,
        "context": None if tree is None else [node.model_dump(mode="json") for node in tree],
        "history": [turn.model_dump() for turn in case.history],
        "category": case.category,
        "intended": case.intended,
        "tags": list(case.tags),
        "voted": is_voted(case),
        "votes": _votes(case),
        "edition": case.version,
        "replaces": case.replaces,
    }


def _votes(case: Case) -> str:
    parts = []
    if (case.votes_safe or 0) + (case.votes_unsafe or 0):
        parts.append(f"{case.votes_safe} safe, {case.votes_unsafe} unsafe")
    if case.published_safe_rate is not None:
        parts.append(f"published share of safe votes {case.published_safe_rate:.2f}")
    if case.author_vote is not None:
        parts.append(f"the author's own vote: {case.author_vote}")
    return "; ".join(parts)


def _revision(entry: Entry) -> dict[str, Any]:
    replaced: Sequence[tuple[Case, Case]] = ()
    if entry.action not in SNAPSHOTS:
        replaced = list(zip(entry.before, entry.after, strict=True))
    return {
        "number": entry.number,
        "time": entry.time,
        "author": entry.author,
        "action": entry.action,
        "reason": entry.reason,
        "cases": [
            {
                "intended": new.intended,
                "changes": [
                    {"name": one.name, "old": one.old, "new": one.new}
                    for one in changes_between(old, new)
                    # An id that follows the text tells nothing that the text does not.
                    if entry.action is Action.NEW_VERSION or one.name not in ("id", "query_id")
                ],
            }
            for old, new in replaced
        ],
    }
