"""Attempts at contexts, and the faults of each."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby
from typing import Any

from pydantic import JsonValue

from casewise.cases import Case, Side
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
    render_making,
)
from casewise.evaluation.generate._files import RequestOutcome
from casewise.protocols import ResponseClass, read_reply

SIDES: tuple[Side, Side] = ("safe", "unsafe")

SET_FAULTS = frozenset({ContextFault.COPY, ContextFault.MISFIT})
"""Faults that show only beside the other contexts of the set; their repairs are counted apart."""


Tokens = tuple[int, int]
"""Tokens in and out."""


def sum_tokens(tokens: Iterable[Tokens]) -> Tokens:
    """Sum of tokens in, and of tokens out."""
    sent, written = zip(*tokens, strict=True)
    return sum(sent), sum(written)


@dataclass(slots=True)
class Attempt:
    """One answer of the model, and its faults."""

    number: int
    """Number among the attempts at the piece, from 1."""
    contexts: Mapping[Side, Values]
    """Texts of each side; empty where nothing could be read."""
    own: tuple[Fault, ...]
    """Faults of the answer by itself."""
    tokens: Tokens
    review_tokens: Tokens = (0, 0)
    """Tokens of its reviews."""
    beside: tuple[Fault, ...] = ()
    """Faults beside its twin and the rest of the set."""
    reviews: dict[Side, Fault | None] = field(default_factory=dict)
    """Review of each side by the model critic; a side that it was not asked about is absent."""

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Faults of all kinds."""
        return (*self.own, *self.beside, *filter(None, self.reviews.values()))

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Sort key, the best attempt first: has contexts, has few faults, came early."""
        reviewed = sum(review is not None for review in self.reviews.values())
        return (not self.contexts, len(self.own) + reviewed, self.number)


@dataclass(slots=True)
class ContextWork:
    """A piece of a query in the making: one side, or both at once."""

    place: int
    """Place of its query in the file."""
    query: Case
    """The query, in a case without a context."""
    piece: Piece
    matched: tuple[str, ...] = ()
    attempts: list[Attempt] = field(default_factory=list)
    chosen: int = 0
    """Index of the current attempt."""
    repairs: int = 0
    """Repairs of its own faults and of the twins'."""
    set_repairs: int = 0
    """Repairs of faults beside the rest of the set alone."""

    @property
    def sides(self) -> tuple[Side, ...]:
        """Sides that the piece holds."""
        return SIDES if self.piece == "both" else (self.piece,)

    @property
    def side(self) -> Side | None:
        """The one side that the piece holds; None where it holds both."""
        return None if self.piece == "both" else self.piece

    @property
    def prompt(self) -> str:
        """Request to write the piece."""
        return render_making(self.query.query, self.piece, self.query.language, self.matched)

    @property
    def current(self) -> Attempt:
        """Attempt that stands for the piece."""
        return self.attempts[self.chosen]

    @property
    def _kinds(self) -> set[ContextFault]:
        return {fault.kind for fault in self.current.faults}

    def choose(self) -> None:
        """Take the candidate with the fewest faults; once it is repaired, the choice stands."""
        if not self.repairs + self.set_repairs:
            best = min(self.attempts, key=lambda attempt: attempt.rank)
            self.chosen = self.attempts.index(best)

    def is_open(self, most: int) -> bool:
        """Tell whether it has faults that may still be repaired, with so many repairs at most."""
        kinds = self._kinds
        if not kinds or kinds & NOT_MENDED:
            return False
        return (self.set_repairs if kinds <= SET_FAULTS else self.repairs) < most

    def take_repair(self, attempt: Attempt) -> None:
        """Count a repair, and put it in the place of the current attempt, if it could be read.

        A repair that failed for good keeps the contexts of the attempt before.
        """
        if self._kinds <= SET_FAULTS:
            self.set_repairs += 1
        else:
            self.repairs += 1
        if not attempt.contexts and any(fault.kind in NOT_MENDED for fault in attempt.own):
            attempt.contexts = self.current.contexts
        self.attempts.append(attempt)
        if attempt.contexts or not self.current.contexts:
            self.chosen = len(self.attempts) - 1

    @property
    def draft(self) -> JsonValue:
        """Draft to be repaired, in the form that is asked for; None where there is none."""
        contexts = self.current.contexts
        if not contexts:
            return None
        if self.piece != "both":
            return make_context(contexts[self.piece]).root
        parts = {"shared": self.other_values(contexts["safe"])}
        parts |= {side: self.matched_values(contexts[side]) for side in SIDES}
        return {name: make_context(values).root for name, values in parts.items()}

    def other_values(self, values: Values) -> Values:
        """Texts of the parameters that twins share."""
        return {place: text for place, text in values.items() if place not in self.matched}

    def matched_values(self, values: Values) -> Values:
        """Texts of the parameters in which alone twins may differ."""
        return {place: values[place] for place in self.matched if place in values}


def open_works(queries: Sequence[Case], matched: tuple[str, ...]) -> list[ContextWork]:
    """Pieces to be made, in the order of the queries, the safe side first."""
    pieces: tuple[Piece, ...] = ("both",) if matched else SIDES
    return [
        ContextWork(place, query, piece, matched)
        for place, query in enumerate(queries)
        for piece in pieces
    ]


def by_query(works: Iterable[ContextWork]) -> Iterable[list[ContextWork]]:
    """Pieces of each query, in the order of the queries; they stand beside each other."""
    return [list(group) for _, group in groupby(works, lambda work: work.place)]


def read_attempt(work: ContextWork, reply: RequestOutcome) -> Attempt:
    """Attempt out of an answer, with the faults that the rules find in it by itself."""
    contexts, extra = _contexts(work, reply)
    faults = [
        fault
        for side, values in contexts.items()
        for fault in check_context(values, extra, work.query.query, side)
    ]
    if not contexts:
        faults = [_unread(work, reply)]
    elif work.piece == "both":
        # A fault in what both share counts once.
        faults = [
            fault if fault.parameter in work.matched else replace(fault, side=None)
            for fault in faults
        ]
    number = len(work.attempts) + 1
    return Attempt(number, contexts, tuple(dict.fromkeys(faults)), reply.tokens)


def _contexts(work: ContextWork, reply: RequestOutcome) -> tuple[dict[Side, Values], list[str]]:
    """Texts of each side, and names that are no parameters; nothing where none can be read."""
    if reply.error is not None or reply.refused:
        return {}, []
    read = read_answer(reply.text, PAIR if work.piece == "both" else (CONTEXT,))
    if read is None or _is_declined(_phrase(read)):
        return {}, []
    extra = [name for part in read.values() for name in part.extra]
    if work.piece != "both":
        return {work.piece: read[CONTEXT].values}, extra
    stray = [
        f"{name}.{place}"
        for name, part in read.items()
        for place in part.values
        if (place in work.matched) != (name in SIDES)
    ]
    shared = work.other_values(read["shared"].values)
    return {side: {**shared, **work.matched_values(read[side].values)} for side in SIDES}, [
        *extra,
        *stray,
    ]


def _phrase(read: Mapping[str, Any]) -> str:
    """The texts, where they are so few that the model put one phrase in place of a context."""
    texts = dict.fromkeys(chain.from_iterable(part.values.values() for part in read.values()))
    return " ".join(texts) if len(texts) <= 2 else ""


def _is_declined(text: str) -> bool:
    return bool(text) and read_reply(text, None).response_class is ResponseClass.REFUSAL


def _unread(work: ContextWork, reply: RequestOutcome) -> Fault:
    if reply.error is not None:
        return Fault(ContextFault.FAILED, f"the request failed: {reply.error}", work.side)
    read = None if reply.refused else read_answer(reply.text, (CONTEXT,))
    if reply.refused or _is_declined(_phrase(read) if read else reply.text):
        return Fault(ContextFault.REFUSED, "the model declined to write it", work.side)
    if not reply.text.strip():
        return Fault(ContextFault.UNREAD, "the answer is empty", work.side)
    end = "; it was cut at the limit of tokens" if reply.cut else ""
    reason = f"the answer is no JSON object of the parameters{end}"
    return Fault(ContextFault.UNREAD, reason, work.side)


def compare(works: Sequence[ContextWork]) -> None:
    """Choose among candidates, and find the faults of each beside its twin and the set.

    It depends on the attempts alone, not on the order in which answers came.
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
    queries = [together[0].query.query for together in by_query(works)]
    matched = any(work.piece == "both" for work in works)
    faults = check_set(members, queries, matched=matched)
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
