"""What of a conversation is asked again: its turns up to one of the user's, with the old reply."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from casewise.cases import Case, Turn, find_turn_fault, flags_query
from casewise.errors import UsageError
from casewise.protocols import Graded, ResponseClass, phrase_match, read_reply
from casewise.transcripts._conversation import BadLine, Conversation
from casewise.transcripts._masking import Mask

Chosen = int | Literal["last", "each"]
"""Which turn of the user is asked again: the n-th from 1, the last that was answered, or each."""


class LeftOut(StrEnum):
    """Why a conversation has nothing that can be asked again."""

    UNREADABLE = "no conversation could be read"
    NO_TURN = "no such turn of the user"
    BLANK = "the user's turn is blank"
    OUT_OF_ORDER = "the turns before are out of order"


class NoReply(StrEnum):
    """Why the file has no reply to compare with."""

    ABSENT = "the file has no reply to it"
    TOOL = "the old reply is a tool call without a text"


@dataclass(frozen=True, slots=True)
class Prefix:
    """One turn of the user, asked again after all that was said before it."""

    case: Case
    """Its history is the conversation before the turn, its query the turn."""
    conversation: str
    """The conversation's id."""
    line: int
    """Where the conversation stands in its file, from 1."""
    user: str | None
    old: str | NoReply
    """The reply that stands in the file."""


def read_chosen(text: str) -> Chosen:
    """The turn that a person names.

    Raises:
        UsageError: It is neither ``last`` nor ``each`` nor a whole number from 1.
    """
    if text in ("last", "each"):
        return text  # type: ignore[return-value]  # one of the two
    if text.isdecimal() and int(text) >= 1:
        return int(text)
    raise UsageError(f"--turn {text}: give last, each, or the number of the user's turn, from 1")


class Prefixes:
    """The turns of conversations that are asked again, one after another.

    Args:
        conversations: As they are read, one at a time.
        chosen: Which turn of each.
        mask: What is done to the turns before anything else is; None leaves them.
    """

    def __init__(
        self,
        conversations: Iterable[Conversation | BadLine],
        chosen: Chosen = "last",
        mask: Mask | None = None,
    ) -> None:
        self.conversations = 0
        """How many there were."""
        self.left_out: Counter[LeftOut] = Counter()
        self.bad: list[BadLine] = []
        """The first lines that can't be read."""
        self._source, self._chosen, self._mask = conversations, chosen, mask
        self._ids: set[str] = set()

    def __iter__(self) -> Iterator[Prefix]:
        for read in self._source:
            self.conversations += 1
            if isinstance(read, BadLine):
                self.left_out[LeftOut.UNREADABLE] += 1
                if len(self.bad) < SHOWN:
                    self.bad.append(read)
                continue
            # An id that stands twice would be one case.
            name = read.id if read.id not in self._ids else f"{read.id} (line {read.line})"
            self._ids.add(name)
            turns = read.turns if self._mask is None else self._mask(read.turns)
            places = _places(turns, self._chosen)
            if not places:
                self.left_out[LeftOut.NO_TURN] += 1
            for number, place in places:
                found = _prefix(turns, place)
                if isinstance(found, LeftOut):
                    self.left_out[found] += 1
                    continue
                history, query, old = found
                case = Case(
                    id=f"{name}:{number}", query=query, history=history, category=read.category
                )
                yield Prefix(case, name, read.line, read.user, old)


SHOWN = 3
"""Bad lines that are named."""


def _places(turns: tuple[Turn, ...], chosen: Chosen) -> list[tuple[int, int]]:
    """The chosen turns of the user: their numbers, and their places among all."""
    places = [at for at, turn in enumerate(turns) if turn.role == "user"]
    numbered = list(enumerate(places, start=1))
    if isinstance(chosen, int):
        return numbered[chosen - 1 : chosen]
    if chosen == "each":
        return numbered
    answered = [one for one in numbered if _is_answered(turns, one[1])]
    return (answered or numbered)[-1:]


def _is_answered(turns: tuple[Turn, ...], place: int) -> bool:
    return place + 1 < len(turns) and turns[place + 1].role == "assistant"


def _prefix(
    turns: tuple[Turn, ...], place: int
) -> tuple[tuple[Turn, ...], str, str | NoReply] | LeftOut:
    """What was said before a turn, the turn, and the reply to it."""
    history, query = turns[:place], turns[place].content
    if not query.strip():
        return LeftOut.BLANK
    if find_turn_fault(history) is not None:
        return LeftOut.OUT_OF_ORDER
    if not _is_answered(turns, place):
        return history, query, NoReply.ABSENT
    reply = turns[place + 1]
    if reply.tool_calls and not reply.content.strip():
        return history, query, NoReply.TOOL
    return history, query, reply.content


# --- a first look -------------------------------------------------------------------------------

LIKELY = (ResponseClass.REFUSAL, ResponseClass.PARTIAL)
"""Classes of an old reply near which a new one may fall elsewhere."""


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What is known of a turn before anything is asked."""

    old: Graded | NoReply
    """The class of the old reply, by the offline reader."""
    likely: bool
    """Whether a change is thought likelier than elsewhere."""


def look_at(prefix: Prefix) -> FirstLook:
    """Look at a turn without a model.

    A change is thought likely where the old reply refuses, wholly or in part, where an earlier
    reply of the conversation holds a refusal's phrase, or where the turn holds a word of the
    keyword list.
    """
    query, old = prefix.case.query, prefix.old
    graded = old if isinstance(old, NoReply) else read_reply(old, query)
    likely = (
        (isinstance(graded, Graded) and graded.response_class in LIKELY)
        or flags_query(query)
        or any(
            phrase_match(turn.content) is ResponseClass.REFUSAL
            for turn in prefix.case.history
            if turn.role == "assistant"
        )
    )
    return FirstLook(graded, likely)
