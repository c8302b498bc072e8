"""Which case a reply answers: by the id that its conversation names, or by what was said."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from casewise.cases import Case, Turn, digest
from casewise.contexts import claim, describe_to_sender, render_json, render_text
from casewise.transcripts._conversation import Conversation

LINE_TAG = "line:"
"""How the tag of a case begins that tests a line of a deployment card."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a conversation, and what was said before it."""

    turn: Turn
    before: tuple[Turn, ...]

    @property
    def query(self) -> str | None:
        """The user's last message before it; None where the file keeps none."""
        return next((turn.content for turn in reversed(self.before) if turn.role == "user"), None)


READ_AT_MOST: Final = 50_000
"""Characters of a reply that the rules read: those of longer replies are read from the start."""


def reply_of(turns: Sequence[Turn], number: int | None = None) -> Reply | None:
    """A reply of a conversation; None where it has no such reply.

    Args:
        turns: The conversation, oldest turn first.
        number: Which of the model's replies, from 1; None is the last.
    """
    places = [at for at, turn in enumerate(turns) if turn.role == "assistant"]
    if not places or (number is not None and number > len(places)):
        return None
    at = places[-1] if number is None else places[number - 1]
    return Reply(turns[at], tuple(turns[:at]))


class Unplaced(StrEnum):
    """Why a reply has no case."""

    UNKNOWN = "unknown"
    """No case has the id that is named, or asks what was asked."""
    AMBIGUOUS = "ambiguous"
    """Several cases ask it, and the conversation doesn't tell which of them it is."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a conversation must hold, in plain form, to be the one that a case stands for."""

    case: Case
    earlier: tuple[str, ...]
    """The case's own earlier turns: all of them."""
    contexts: tuple[str, ...]
    """Forms of its context: one of them, if there are any."""

    def fits(self, said: str) -> bool:
        """Whether what was said before the query holds it."""
        told = not self.contexts or any(form in said for form in self.contexts)
        return told and all(turn in said for turn in self.earlier)


class Places:
    """The cases of a set, found by id, by the id of a card's line, or by text."""

    def __init__(self, cases: Iterable[Case]) -> None:
        self._by_id: dict[str, Case] = {}
        self._by_line: dict[str, Case] = {}
        self._by_query: dict[str, list[_Wanted]] = defaultdict(list)
        for case in cases:
            self._by_id[case.id] = case
            for tag in case.tags:
                if tag.startswith(LINE_TAG):
                    self._by_line.setdefault(tag.removeprefix(LINE_TAG), case)
            wanted = _wanted(case)
            self._by_query[plain(case.query)].append(wanted)
            if case.context is not None and (claimed := claim(case.context)):
                self._by_query[plain(f"{claimed}\n\n{case.query}")].append(wanted)

    def find(self, conversation: Conversation, reply: Reply) -> Case | Unplaced:
        """The case that a reply answers.

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
            if maybe is not None and maybe in self._by_id:
                return self._by_id[maybe]
        return self._by_text(conversation.query or reply.query or "", reply)

    def _on_line(self, named: str, reply: Reply) -> Case | Unplaced:
        """A case of its own for what was asked, on the line that is named."""
        tested = self._by_line.get(named)
        if tested is None:
            return Unplaced.UNKNOWN
        query = reply.query if reply.query and reply.query.strip() else named
        return tested.model_copy(
            update={
                "id": f"{named}:{digest(query)}",
                "query": query,
                "query_id": digest(query),
                "history": (),
            }
        )

    def _by_text(self, query: str, reply: Reply) -> Case | Unplaced:
        candidates = self._by_query.get(plain(query), [])
        if len(candidates) < 2:
            return candidates[0].case if candidates else Unplaced.UNKNOWN
        said = plain("\n".join(turn.content for turn in reply.before))
        fitting = [one for one in candidates if one.fits(said)]
        # What is wanted of nothing fits everything: it is meant where nothing else was given.
        told = [one for one in fitting if one.contexts or one.earlier]
        if told:
            # A case whose earlier turns stand there, too, is more than one of the context alone.
            most = max(len(one.earlier) for one in told)
            told = [one for one in told if len(one.earlier) == most]
            return told[0].case if len(told) == 1 else Unplaced.AMBIGUOUS
        alone = len(reply.before) == 1 and len(fitting) == 1
        return fitting[0].case if alone else Unplaced.AMBIGUOUS


def plain(text: str) -> str:
    """A text by which two are compared: one form of letters, no capitals, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _wanted(case: Case) -> _Wanted:
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
    return _Wanted(
        case,
        tuple(plain(turn.content) for turn in case.history),
        tuple(dict.fromkeys(plain(form) for form in forms if form)),
    )
