"""Case that a reply answers, and the turns of its conversation that are asked again.

The case is told by the id that the conversation names, or by what was said. Asked again are its
turns up to one of the user's, with the old reply.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from casewise.cases import Case, Turn, digest, find_turn_fault
from casewise.contexts import claim, describe_to_sender, render_json, render_text
from casewise.transcripts.conversations import BadLine, Conversation, Endings
from casewise.transcripts.masking import Mask

LINE_TAG = "line:"
"""Prefix of the tag of a case that tests a line of a deployment card."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a conversation, and what was said before it."""

    turn: Turn
    before: tuple[Turn, ...]

    @property
    def query(self) -> str | None:
        """The user's last message before it; None where the file keeps none."""
        return next((turn.content for turn in reversed(self.before) if turn.role == "user"), None)


def last_reply(turns: Sequence[Turn]) -> Reply | None:
    """The last reply of a conversation, oldest turn first; None where it has none."""
    places = [at for at, turn in enumerate(turns) if turn.role == "assistant"]
    return Reply(turns[places[-1]], tuple(turns[: places[-1]])) if places else None


UNKNOWN = "unknown: no case has the id, or asks the query"
AMBIGUOUS = "ambiguous: several cases ask the query, and nothing tells which"


@dataclass(frozen=True, slots=True)
class _CaseText:
    """Text that a conversation must hold, in plain form, to be the one that a case stands for."""

    case: Case
    earlier: tuple[str, ...]
    """The case's own earlier turns: all of them."""
    contexts: tuple[str, ...]
    """Forms of its context: one of them, if there are any."""

    def fits(self, words: str) -> bool:
        """Tell whether the words before the query hold its turns and one form of its context."""
        in_context = not self.contexts or any(form in words for form in self.contexts)
        return in_context and all(turn in words for turn in self.earlier)


class Places:
    """The cases of a set, found by id, by the id of a card's line, or by text."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._by_id: dict[str, Case] = {}
        self._by_line: dict[str, Case] = {}
        self._by_query: dict[str, list[_CaseText]] = defaultdict(list)
        for case in cases:
            self._by_id[case.id] = case
            for tag in case.tags:
                if tag.startswith(LINE_TAG):
                    self._by_line.setdefault(tag.removeprefix(LINE_TAG), case)
            text = _case_text(case)
            self._by_query[plain(case.query)].append(text)
            if case.context is not None and (claimed := claim(case.context)):
                self._by_query[plain(f"{claimed}\n\n{case.query}")].append(text)

    def find(self, conversation: Conversation, reply: Reply) -> Case | str:
        """The case that a reply answers; or why it has none.

        An id of a case that the conversation names decides; a card's line may be named in its
        place. Else the query decides that the reply answers, letters, spaces and their forms
        apart; and where several cases ask it, the context that was given, or the earlier turns.

        Args:
            conversation: Where the reply stands.
            reply: The reply.
        """
        named = conversation.case
        if named is not None:
            return self._by_id.get(named) or self._on_line(named, reply)
        for maybe in (conversation.sample, conversation.id):
            if maybe in self._by_id:
                return self._by_id[maybe]
        return self._by_text(reply.query or "", reply)

    def _on_line(self, named: str, reply: Reply) -> Case | str:
        """A case of its own for the query that was asked, under the card's line that is named."""
        tested = self._by_line.get(named)
        if tested is None:
            return UNKNOWN
        query = reply.query if reply.query and reply.query.strip() else named
        return tested.model_copy(
            update={
                "id": f"{named}:{digest(query)}",
                "query": query,
                "query_id": digest(query),
                "history": (),
            }
        )

    def _by_text(self, query: str, reply: Reply) -> Case | str:
        candidates = self._by_query.get(plain(query), [])
        if len(candidates) < 2:
            return candidates[0].case if candidates else UNKNOWN
        words = plain("\n".join(turn.content for turn in reply.before))
        fitting = [candidate for candidate in candidates if candidate.fits(words)]
        # What is wanted of nothing fits everything: it is meant where nothing else was given.
        specific = [candidate for candidate in fitting if candidate.contexts or candidate.earlier]
        if specific:
            # A case whose earlier turns stand there, too, is more than one of the context alone.
            most = max(len(candidate.earlier) for candidate in specific)
            specific = [candidate for candidate in specific if len(candidate.earlier) == most]
            return specific[0].case if len(specific) == 1 else AMBIGUOUS
        alone = len(reply.before) == 1 and len(fitting) == 1
        return fitting[0].case if alone else AMBIGUOUS


def plain(text: str) -> str:
    """A text by which two are compared: one form of letters, no capitals, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _case_text(case: Case) -> _CaseText:
    context = case.context
    forms: Sequence[str] = ()
    if context is not None and context.root:
        forms = (
            describe_to_sender(context),
            claim(context),
            render_text(context),
            render_json(context),
            render_json(context, ascii_only=False),
        )
    return _CaseText(
        case,
        tuple(plain(turn.content) for turn in case.history),
        tuple(dict.fromkeys(plain(form) for form in forms if form)),
    )


@dataclass(frozen=True, slots=True)
class ReplayTurn:
    """One turn of the user, asked again after all that was said before it."""

    case: Case
    """Its history is the conversation before the turn, its query the turn."""
    conversation: str
    """The conversation's id."""
    line: int
    """Place of the conversation in its file, from 1."""
    user: str | None
    old: str
    """The reply that stands in the file; empty where none is wanted."""
    declined: bool
    """True if the provider itself says that the old reply is a refusal."""


@dataclass(slots=True)
class ReplayTurns:
    """The turns of conversations that are asked again, and what is left out."""

    conversations: int = 0
    """Number of conversations."""
    by_case: dict[str, ReplayTurn] = field(default_factory=dict)
    """Turns by the ids of their cases."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of turns or conversations left out, by reason."""
    bad: list[BadLine] = field(default_factory=list)
    """Lines that can't be read."""
    endings: Endings = field(default_factory=Endings)
    """Endings of the old replies."""


def find_turns(
    conversations: Iterable[Conversation | BadLine],
    mask: Mask | None,
    *,
    each: bool,
    with_old: bool,
) -> ReplayTurns:
    """Find the turns of conversations that are asked again.

    Args:
        conversations: As they are read, one at a time.
        mask: What is done to the turns before anything else is; None leaves them.
        each: Whether each turn of the user is asked, or the last that was answered.
        with_old: Whether only turns with a reply in the file are of use.
    """
    turns = ReplayTurns()
    ids = set[str]()
    for conversation in conversations:
        turns.conversations += 1
        if isinstance(conversation, BadLine):
            turns.left_out["no conversation could be read"] += 1
            turns.bad.append(conversation)
            continue
        # An id that stands twice would be one case.
        name = (
            conversation.id
            if conversation.id not in ids
            else f"{conversation.id} (line {conversation.line})"
        )
        ids.add(name)
        turn_list = conversation.turns if mask is None else mask(conversation.turns)
        places = _places(turn_list, each=each)
        if not places:
            turns.left_out["no turn of the user"] += 1
        for number, place in places:
            history, query = turn_list[:place], turn_list[place].content
            if reason := _exclusion_reason(turn_list, place, with_old=with_old):
                turns.left_out[reason] += 1
                continue
            old = turn_list[place + 1].content if with_old else ""
            if with_old:
                turns.endings.add(old)
            case = Case(
                id=f"{name}:{number}", query=query, history=history, category=conversation.category
            )
            declined = conversation.declined and place == len(turn_list) - 2
            turns.by_case[case.id] = ReplayTurn(
                case, name, conversation.line, conversation.user, old, declined
            )
    return turns


def _places(turns: tuple[Turn, ...], *, each: bool) -> list[tuple[int, int]]:
    """Turns of the user that are asked: their numbers, and their places among all."""
    users = (at for at, turn in enumerate(turns) if turn.role == "user")
    numbered = list(enumerate(users, start=1))
    if each:
        return numbered
    answered = [pair for pair in numbered if _is_answered(turns, pair[1])]
    return (answered or numbered)[-1:]


def _is_answered(turns: tuple[Turn, ...], place: int) -> bool:
    return place + 1 < len(turns) and turns[place + 1].role == "assistant"


def _exclusion_reason(turns: tuple[Turn, ...], place: int, *, with_old: bool) -> str:
    """Why a turn can't be asked again, or compared; "" where it can."""
    if not turns[place].content.strip():
        return "the user's turn is blank"
    if find_turn_fault(turns[:place]) is not None:
        return "the turns before are out of order"
    if with_old and not _is_answered(turns, place):
        return "the file has no reply to it"
    if with_old and turns[place + 1].tool_calls and not turns[place + 1].content.strip():
        return "the old reply is a tool call without a text"
    return ""
