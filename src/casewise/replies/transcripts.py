"""Conversations held elsewhere, graded as they stream into rows of the judgement table."""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import polars as pl

import casewise
from casewise.cases import Case, CaseSet, digest, wanted_reply
from casewise.choices import RULES
from casewise.errors import InputError
from casewise.files import new_file
from casewise.judgements import PROVIDER, case_columns, case_texts, make_table, stand_in
from casewise.protocols import (
    BARE_RUNG,
    BY_PROVIDER,
    READER_VERSION,
    Delivery,
    Graded,
    ResponseClass,
    RunCondition,
    Status,
    acting,
    read_cut_step,
    read_reply,
)
from casewise.transcripts import (
    READ_AT_MOST,
    BadLine,
    Conversation,
    Endings,
    Places,
    Reply,
    Unplaced,
    plain,
    reply_of,
)

UNNAMED: Final = "unnamed"
"""The model of a conversation whose file names none."""

SHOWN: Final = 5
"""Largest number of lines of each fate that are named."""

_ROW_GROUP: Final = 10_000
"""Rows that are written together: polars holds several such groups in memory."""

_BATCH: Final = 5_000
_BATCH_TEXT: Final = 50_000_000
"""Characters of a batch's conversations beyond which it is closed."""


class Fate(StrEnum):
    """Fate of a line."""

    GRADED = "graded"
    """Its reply was placed in a case and given to the grader."""
    DUPLICATE = "duplicate"
    """An earlier line has its id and its text; it counts once."""
    CONTRADICTORY = "contradictory"
    """An earlier line has its id and another text; the earlier one counts."""
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    NO_REPLY = "no reply"
    """The model says nothing in it, or not as often as was asked for."""
    BROKEN = "broken"


@dataclass(slots=True)
class LineTally:
    """Number of lines by fate; together they are all lines."""

    counts: Counter[Fate] = field(default_factory=Counter)
    first: dict[Fate, list[int]] = field(default_factory=dict)
    """Numbers of the first lines of each fate, ``SHOWN`` at most."""
    problems: list[str] = field(default_factory=list)
    """Problems of the first broken lines, ``SHOWN`` at most."""
    shortened: int = 0
    """Graded replies longer than ``READ_AT_MOST``, of which the rules read the start alone."""
    endings: Endings = field(default_factory=Endings)
    """Endings of graded replies."""
    unnamed: int = 0
    """Graded replies whose model nobody named."""

    @property
    def graded(self) -> int:
        """Replies that were placed in a case and given to the grader."""
        return self.counts[Fate.GRADED]

    @property
    def total(self) -> int:
        """All lines."""
        return self.counts.total()

    def add(self, fate: Fate, line: int) -> None:
        """Count a line."""
        self.counts[fate] += 1
        shown = self.first.setdefault(fate, [])
        if len(shown) < SHOWN:
            shown.append(line)


class NothingPlacedError(InputError):
    """No reply of a file could be placed in a case; ``tally`` says why."""

    def __init__(self, tally: LineTally, file: Path) -> None:
        super().__init__(
            "no reply could be placed in a case",
            file=file,
            expected="conversations that name a case's id (case_id) or ask its query, with a reply",
        )
        self.tally = tally


@dataclass(frozen=True, slots=True)
class ToGrade:
    """A reply that was placed in a case."""

    case: Case
    reply: Reply
    model: str
    declined: bool = False
    """True if the provider itself says that it declines."""
    cut: bool = False
    """True if the file says that a token limit ended it."""
    rung: str | None = None
    """Rung of an evidence ladder that the file names."""

    @property
    def calls(self) -> tuple[str, ...]:
        """The names of the tools that it calls."""
        return tuple(call.name for call in self.reply.turn.tool_calls)

    @property
    def seen(self) -> tuple[Graded, str] | None:
        """Grade of a reply that no grader needs to read, with its source; None for others."""
        if self.declined:
            return BY_PROVIDER, PROVIDER
        if self.calls and not self.reply.turn.content.strip():
            none = Graded.of(ResponseClass.UNDETERMINED, doubt=0.0)
            return none.beside_calls(self.calls), str(ResponseClass.TOOL_CALL)
        return None

    @property
    def request(self) -> str:
        """Request that it answers: the case's query, or the message that it answers in its place.

        A message that holds the query with more around it asks the query.
        """
        answered = self.reply.query
        if not answered or plain(self.case.query) in plain(answered):
            return self.case.query
        return answered

    @property
    def situation(self) -> str | None:
        """Context of the case as JSON, as a model that grades sees it; None without one."""
        context = self.case.context
        return json.dumps(context.root, ensure_ascii=False) if context is not None else None


Grade = Callable[[Sequence[ToGrade]], Sequence[Graded]]
"""Grades replies, in their order."""


def grade_by_rules(replies: Sequence[ToGrade]) -> list[Graded]:
    """Grade replies by the rules, each by its first ``READ_AT_MOST`` characters."""
    return list(map(_grade_one, replies))


def _grade_one(one: ToGrade) -> Graded:
    reply, request = one.reply.turn.content[:READ_AT_MOST], one.request[:READ_AT_MOST]
    return read_cut_step(reply, request, request) if one.cut else read_reply(reply, request)


@dataclass(frozen=True, slots=True)
class Grader:
    """Grader of replies."""

    name: str
    """Name in the table's column ``graded_by``."""
    version: str
    grade: Grade
    of_doubted: "Grader | None" = None
    """Grader of the replies that this one doubts, in its place."""

    @property
    def whole_name(self) -> str:
        """Names of all that grade."""
        return self._joined("name")

    @property
    def versions(self) -> str:
        """Versions of all that grade."""
        return self._joined("version")

    def _joined(self, field: str) -> str:
        own = str(getattr(self, field))
        return own if self.of_doubted is None else f"{own},{self.of_doubted._joined(field)}"

    def grade_by(self, replies: Sequence[ToGrade]) -> list[tuple[Graded, str]]:
        """Grade replies, each with the name of its grader."""
        found = [(graded, self.name) for graded in self.grade(replies)]
        doubted = [place for place, (graded, _) in enumerate(found) if graded.is_doubted]
        if self.of_doubted is not None and doubted:
            again = self.of_doubted.grade_by([replies[place] for place in doubted])
            for place, one in zip(doubted, again, strict=True):
                found[place] = one
        return found


BY_RULES: Final = Grader(RULES, READER_VERSION, grade_by_rules)


@dataclass(frozen=True, slots=True)
class Grading:
    """Rules by which the conversations of a file are placed, graded and kept."""

    cases: CaseSet
    grader: Grader = BY_RULES
    card: str | None = None
    """The name of the deployment card that the cases are of."""
    model: str | None = None
    """The model under test, whatever the file says."""
    delivery: Delivery = Delivery.SYSTEM
    turn: int | None = None
    """Number of the model's reply that is graded, from 1; None is the last."""
    reveal: bool = False
    """True if replies and explanations stand in the table."""


def grade_conversations(
    conversations: Iterable[Conversation | BadLine],
    out: Path,
    grading: Grading,
    file: Path,
    progress: Callable[[LineTally], None] | None = None,
) -> LineTally:
    """Grade the replies of a file's conversations, and write their judgement table (Parquet).

    Memory holds one batch of replies: the table is put together from pieces beside it, and ids
    and hashes by which duplicates are known are kept on the disk.

    Args:
        conversations: Conversations and broken lines, as they are read.
        out: The table; an earlier one is replaced at the end.
        grading: Rules of placing and grading.
        file: File of the conversations, for messages.
        progress: Called after each batch.

    Raises:
        NothingPlacedError: No reply was placed; nothing is written.
    """
    tally = LineTally()
    said = hashlib.blake2b(digest_size=8)
    epochs: Counter[tuple[str, str, str | None]] = Counter()
    with new_file(out) as new:
        pieces = new.parent / "pieces"
        pieces.mkdir()
        placed = _placed(conversations, grading, tally, said)
        for number, batch in enumerate(_batches(placed)):
            rows = _rows(batch, grading, epochs)
            table = make_table(rows)
            if grading.reveal:
                table = table.with_columns(_texts(batch))
            table.write_parquet(pieces / f"{number:08}.parquet")
            if progress is not None:
                progress(tally)
        if not tally.graded:
            raise NothingPlacedError(tally, file)
        about = {
            "made by": f"casewise {casewise.__version__}",
            "form": "graded conversations",
            "texts": "included" if grading.reveal else "withheld",
            "grader_version": grading.grader.versions,
        }
        grader = grading.grader
        run = digest(said.hexdigest(), grader.whole_name, grader.versions, grading.turn)
        pl.scan_parquet(pieces / "*.parquet").with_columns(run_id=pl.lit(run)).sink_parquet(
            new, metadata={"casewise": json.dumps(about)}, row_group_size=_ROW_GROUP
        )
    return tally


def _placed(
    conversations: Iterable[Conversation | BadLine],
    grading: Grading,
    tally: LineTally,
    said: "hashlib.blake2b",
) -> Iterator[ToGrade]:
    """Yield the replies that have a case, and count every line by its fate."""
    places = Places(grading.cases.cases)
    with closing(_Seen()) as seen:
        for one in conversations:
            if isinstance(one, BadLine):
                tally.add(Fate.BROKEN, one.line)
                if len(tally.problems) < SHOWN:
                    tally.problems.append(str(one))
                continue
            text = _digest("\0".join(turn.line for turn in one.turns))
            fate, found = _place(one, places, grading.turn, seen.before(one.id, text))
            tally.add(fate, one.line)
            if found is None:
                continue
            said.update(text)
            model = grading.model or one.model
            tally.unnamed += model is None
            case, reply = found
            last = reply.turn is one.turns[-1]
            tally.shortened += len(reply.turn.content) > READ_AT_MOST
            declined, cut = one.declined and last, one.cut and last
            if not declined:
                tally.endings.add(reply.turn.content, cut=cut)
            yield ToGrade(case, reply, model or UNNAMED, declined, cut, one.rung)


def _place(
    conversation: Conversation, places: Places, turn: int | None, before: bool | None
) -> tuple[Fate, tuple[Case, Reply] | None]:
    """Fate of a conversation, and case and reply of one that is graded.

    ``turn`` is the number of the reply that counts (None: the last); ``before`` says whether the id
    came before with the same text (None: it is new).
    """
    if before is not None:
        return (Fate.DUPLICATE if before else Fate.CONTRADICTORY), None
    reply = reply_of(conversation.turns, turn)
    if reply is None:
        return Fate.NO_REPLY, None
    case = places.find(conversation, reply)
    if isinstance(case, Unplaced):
        return Fate(case.value), None
    return Fate.GRADED, (case, reply)


def _batches(replies: Iterable[ToGrade]) -> Iterator[list[ToGrade]]:
    batch, size = list[ToGrade](), 0
    for one in replies:
        batch.append(one)
        size += sum(len(turn.content) for turn in (*one.reply.before, one.reply.turn))
        if len(batch) == _BATCH or size > _BATCH_TEXT:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _rows(
    batch: Sequence[ToGrade], grading: Grading, epochs: Counter[tuple[str, str, str | None]]
) -> Iterator[dict[str, Any]]:
    data = grading.cases
    held = RunCondition(sampling="transcripts", card=grading.card or None)
    condition = {
        "protocol": acting()[0],
        "delivery": str(grading.delivery),
        "prompt_version": "as held",
        "dataset_hash": data.hash,
        "dataset_version": data.version,
    }
    read = iter(grading.grader.grade_by([one for one in batch if one.seen is None]))
    for one in batch:
        if (seen := one.seen) is not None:
            graded, by = seen
        else:
            graded, by = next(read)
            graded = graded.beside_calls(one.calls)
        asked = (one.model, one.case.id, one.rung)
        epochs[asked] += 1
        yield {
            **condition,
            **({"delivery": "none"} if one.rung == BARE_RUNG else {}),
            "variant": replace(held, evidence=one.rung).variant,
            **case_columns(one.case),
            "model": one.model,
            "expected": wanted_reply(one.case),
            "epoch": epochs[asked],
            "graded_by": by,
            "doubt": graded.doubt,
            **_judgement(one, graded, grading, by),
        }


def _texts(batch: Sequence[ToGrade]) -> list[pl.Series]:
    """Columns of the cases' texts, which people need to label replies."""
    found = [case_texts(one.case) for one in batch]
    histories = [[turn.model_dump(mode="json") for turn in one.case.history] for one in batch]
    return [
        pl.Series("query", [one["query"] for one in found], pl.String),
        pl.Series("context", [json.dumps(one["context"]) for one in found], pl.String),
        pl.Series("history", [json.dumps(one) for one in histories], pl.String),
    ]


def _judgement(one: ToGrade, graded: Graded, grading: Grading, by: str) -> Mapping[str, Any]:
    def shown(text: str) -> str:
        return text if grading.reveal else stand_in(text)

    # The rules have reasons of their own; a model may quote the reply, and tools have names.
    own = (one.declined or by == RULES) and not one.calls
    reason = graded.reason if own else shown(graded.reason)
    return {
        "status": str(graded.status),
        "response_class": str(graded.response_class) if graded.response_class else None,
        # Unknown where the file doesn't say so: the reply need not have ended by itself.
        "cut": one.cut or None,
        "answer": shown(one.reply.turn.text),
        "explanation": reason,
        "error": reason if graded.status is Status.ERROR else None,
    }


class _Seen:
    """The ids of conversations and the hashes of their texts, on the disk: there may be millions.

    Two ids are taken for one if their hashes of 64 bits agree: of a million, with probability
    3 in 10^8.
    """

    def __init__(self) -> None:
        # Without a name, the database is a file that goes with the connection.
        self._kept = sqlite3.connect("", isolation_level=None)
        self._kept.execute("CREATE TABLE seen (id INTEGER PRIMARY KEY, text BLOB)")
        self._kept.execute("BEGIN")

    def before(self, id: str, text: bytes) -> bool | None:
        """Keep an id; None if it is new, else whether it came with the same text."""
        key = int.from_bytes(_digest(id), signed=True)
        found = self._kept.execute("SELECT text FROM seen WHERE id = ?", (key,)).fetchone()
        if found is not None:
            return bool(found[0] == text)
        self._kept.execute("INSERT INTO seen VALUES (?, ?)", (key, text))
        return None

    def close(self) -> None:
        self._kept.close()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=8).digest()
