"""The state of what is being made: attempts at a context, and what is wrong with each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from casewise.cases import ListedQuery, Side
from casewise.contexts import (
    CONTEXT,
    NOT_MENDED,
    PAIR,
    ContextFault,
    Fault,
    Member,
    Piece,
    Values,
    check_context,
    check_set,
    check_twins,
    make_context,
    read_answer,
)
from casewise.evaluation.generate._files import RequestOutcome
from casewise.protocols import ResponseClass, read_reply

SIDES: tuple[Side, Side] = ("safe", "unsafe")

SET_FAULTS = frozenset({ContextFault.COPY, ContextFault.MISFIT})
"""Faults that show only beside the other contexts of the set; their repairs are counted apart."""


@dataclass(slots=True)
class Attempt:
    """One answer of the model, and what is wrong with it."""

    number: int
    """From 1, over all attempts at the piece."""
    contexts: Mapping[Side, Values]
    """The texts of each side; empty where nothing could be read."""
    own: tuple[Fault, ...]
    """Faults that it has by itself."""
    tokens: tuple[int, int] = (0, 0)
    """Tokens in and out."""
    review_tokens: tuple[int, int] = (0, 0)
    """The same of its reviews."""
    beside: tuple[Fault, ...] = ()
    """Faults that it has beside its twin and the rest of the set."""
    reviews: dict[Side, Fault | None] = field(default_factory=dict)
    """Review of each side by the model critic; a side that it was not asked about is absent."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All of them."""
        return (*self.own, *self.beside, *(review for review in self.reviews.values() if review))

    @property
    def rank(self) -> tuple[bool, int, int]:
        """The lower, the better: has contexts, has few faults, came first."""
        reviewed = sum(review is not None for review in self.reviews.values())
        return (not self.contexts, len(self.own) + reviewed, self.number)


@dataclass(slots=True)
class ContextWork:
    """A piece of a query in the making: one side, or both at once."""

    place: int
    """Place of its query in the list."""
    query: ListedQuery
    piece: Piece
    matched: tuple[str, ...] = ()
    attempts: list[Attempt] = field(default_factory=list)
    chosen: int = 0
    """The place of the attempt that stands for the piece."""
    repairs: int = 0
    """Spent on faults of its own and of the twins."""
    set_repairs: int = 0
    """Spent on faults beside the rest of the set alone."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that the piece holds."""
        return SIDES if self.piece == "both" else (self.piece,)

    @property
    def current(self) -> Attempt:
        """The attempt that stands for the piece."""
        return self.attempts[self.chosen]

    @property
    def is_repaired(self) -> bool:
        """Tell whether the choice among the candidates is past."""
        return self.repairs + self.set_repairs > 0

    def choose(self) -> None:
        """Take the candidate with the fewest faults; once it is repaired, the choice stands."""
        if not self.is_repaired:
            best = min(self.attempts, key=lambda attempt: attempt.rank)
            self.chosen = self.attempts.index(best)

    def is_open(self, most: int) -> bool:
        """Tell whether it has faults that may still be repaired."""
        kinds = {fault.kind for fault in self.current.faults}
        if not kinds or kinds & NOT_MENDED:
            return False
        return self.set_repairs < most if kinds <= SET_FAULTS else self.repairs < most

    def count_repair(self) -> None:
        """Count a repair of what is wrong now."""
        if {fault.kind for fault in self.current.faults} <= SET_FAULTS:
            self.set_repairs += 1
        else:
            self.repairs += 1

    def take_repair(self, attempt: Attempt) -> None:
        """A repair takes the place of what it repairs, unless nothing could be read from it."""
        if not attempt.contexts:
            attempt.contexts = self.current.contexts if _is_final(attempt) else {}
        self.attempts.append(attempt)
        if attempt.contexts or not self.current.contexts:
            self.chosen = len(self.attempts) - 1

    @property
    def draft(self) -> JsonValue:
        """Draft to be repaired, in the form that is asked for; None of nothing."""
        contexts = self.current.contexts
        if not contexts:
            return None
        if self.piece != "both":
            return make_context(contexts[self.piece]).root
        shared = {k: v for k, v in contexts["safe"].items() if k not in self.matched}
        parts: dict[str, Values] = {"shared": shared}
        parts |= {side: _only(contexts[side], self.matched) for side in SIDES}
        return {name: make_context(values).root for name, values in parts.items()}


def _only(values: Values, places: Sequence[str]) -> Values:
    return {place: values[place] for place in places if place in values}


def _is_final(attempt: Attempt) -> bool:
    return any(fault.kind in NOT_MENDED for fault in attempt.own)


def open_works(queries: Sequence[ListedQuery], matched: tuple[str, ...]) -> list[ContextWork]:
    """Every piece that is to be made, in the order of the queries, the safe side first."""
    pieces: tuple[Piece, ...] = ("both",) if matched else SIDES
    return [
        ContextWork(place, query, piece, matched)
        for place, query in enumerate(queries)
        for piece in pieces
    ]


def by_query(works: Iterable[ContextWork]) -> Iterable[list[ContextWork]]:
    """The pieces of each query, together."""
    grouped: dict[int, list[ContextWork]] = {}
    for work in works:
        grouped.setdefault(work.place, []).append(work)
    return grouped.values()


# --- from an answer to an attempt -----------------------------------------------------------


def read_attempt(work: ContextWork, reply: RequestOutcome) -> Attempt:
    """Contents of an answer, and the faults that the rules find in it by itself."""
    number = len(work.attempts) + 1
    tokens = (reply.input_tokens, reply.output_tokens)
    contexts, extra = _contexts(work, reply)
    if not contexts:
        return Attempt(number, {}, (_unread(work, reply),), tokens)
    faults = [
        fault
        for side in work.sides
        for fault in check_context(contexts[side], extra, work.query.query, side)
    ]
    if work.piece == "both":
        # What both share is wrong once.
        faults = [
            fault if fault.parameter in work.matched else replace(fault, side=None)
            for fault in faults
        ]
    return Attempt(number, contexts, tuple(dict.fromkeys(faults)), tokens)


def _contexts(
    work: ContextWork, reply: RequestOutcome
) -> tuple[dict[Side, Values], tuple[str, ...]]:
    if reply.error is not None or reply.refused:
        return {}, ()
    read = read_answer(reply.text, PAIR if work.piece == "both" else (CONTEXT,))
    if read is None or _is_declined(" ".join(_distinct(read))):
        return {}, ()
    extra = tuple(name for part in read.values() for name in part.extra)
    if work.piece != "both":
        return {work.piece: read[CONTEXT].values}, extra
    shared = {k: v for k, v in read["shared"].values.items() if k not in work.matched}
    stray = [
        f"{name}.{place}"
        for name, part in read.items()
        for place in part.values
        if (place in work.matched) != (name in SIDES)
    ]
    return {side: {**shared, **_only(read[side].values, work.matched)} for side in SIDES}, (
        *extra,
        *stray,
    )


def _distinct(read: Mapping[str, Any]) -> list[str]:
    """The texts, if they are so few that the model has put one phrase in place of a context."""
    texts = list(dict.fromkeys(text for part in read.values() for text in part.values.values()))
    return texts if len(texts) <= 2 else []


def _is_declined(text: str) -> bool:
    return bool(text) and read_reply(text, None).response_class is ResponseClass.REFUSAL


def _unread(work: ContextWork, reply: RequestOutcome) -> Fault:
    side = None if work.piece == "both" else work.piece
    if reply.error is not None:
        return Fault(ContextFault.FAILED, f"the request failed: {reply.error}", side)
    read = None if reply.refused else read_answer(reply.text, (CONTEXT,))
    text = " ".join(_distinct(read)) if read else reply.text
    if reply.refused or _is_declined(text):
        return Fault(ContextFault.REFUSED, "the model declined to write it", side)
    if not reply.text.strip():
        return Fault(ContextFault.UNREAD, "the answer is empty", side)
    end = "; it was cut at the limit of tokens" if reply.cut else ""
    return Fault(ContextFault.UNREAD, f"the answer is no JSON object of the parameters{end}", side)


# --- beside the others ----------------------------------------------------------------------


def compare(works: Sequence[ContextWork]) -> None:
    """Choose among candidates, and find what is wrong with each beside its twin and the set.

    A function of all the attempts and of nothing else: the order in which answers came plays
    no role.
    """
    for work in works:
        work.choose()
        work.current.beside = ()
    for together in by_query(works):
        _compare_twins(together)
    members = [
        Member(work.place, side, work.current.contexts[side], not work.current.faults)
        for work in works
        for side in work.sides
        if side in work.current.contexts
    ]
    queries = list(dict.fromkeys((work.place, work.query.query) for work in works))
    matched = any(work.piece == "both" for work in works)
    faults = check_set(members, [query for _, query in queries], matched=matched)
    for work in works:
        for side in work.sides:
            work.current.beside += faults.get((work.place, side), ())


def _compare_twins(together: Sequence[ContextWork]) -> None:
    contexts = {side: values for work in together for side, values in work.current.contexts.items()}
    if len(contexts) < len(SIDES):
        return
    for fault in check_twins(contexts, together[0].matched):
        for work in together:
            if fault.side is None or fault.side in work.sides:
                work.current.beside += (fault,)
