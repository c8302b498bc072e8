"""Conversations held elsewhere, graded into rows of the judgement table."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

import casewise
from casewise.cases import Case, CaseSet, digest, wanted_reply
from casewise.choices import RULES, grading_model, rules_first
from casewise.files import write_atomically
from casewise.judgements import (
    PROVIDER,
    TEXTS,
    case_columns,
    make_table,
    stand_in,
    table_bytes,
)
from casewise.protocols import (
    BARE_RUNG,
    BY_PROVIDER,
    TRANSCRIPTS,
    Delivery,
    Graded,
    ResponseClass,
    RunCondition,
    Status,
    acting_protocols,
    grader_version,
    read_cut_step,
    read_reply,
)
from casewise.transcripts import (
    BadLine,
    Conversation,
    Endings,
    Places,
    Reply,
    last_reply,
    plain,
)

SHOWN: Final = 5
"""Largest number of lines of each fate that are named."""

READ_AT_MOST: Final = 50_000
"""Characters of a reply that the rules read: those of longer replies are read from the start."""

_BATCH: Final = 5_000
"""Replies that are graded together."""

GRADED: Final = "placed in a case and graded"
"""Fate of a line whose reply was given to the grader."""


@dataclass(slots=True)
class LineTally:
    """Number of lines by fate; together they are all lines."""

    counts: Counter[str] = field(default_factory=lambda: Counter({GRADED: 0}))
    first: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Numbers of the first lines of each fate, ``SHOWN`` at most."""
    problems: list[str] = field(default_factory=list)
    """Problems of the first broken lines, ``SHOWN`` at most."""
    unnamed: int = 0
    """Graded replies of conversations that name no model."""
    endings: Endings = field(default_factory=Endings)
    """Endings of graded replies."""

    @property
    def graded(self) -> int:
        """Replies that were placed in a case and given to the grader."""
        return self.counts[GRADED]

    @property
    def total(self) -> int:
        """All lines."""
        return self.counts.total()

    def add(self, fate: str, line: int) -> None:
        """Count a line."""
        self.counts[fate] += 1
        if self.counts[fate] <= SHOWN:
            self.first[fate].append(line)


@dataclass(frozen=True, slots=True)
class UngradedReply:
    """A reply that was placed in a case."""

    case: Case
    reply: Reply
    model: str
    declined: bool
    """True if the provider itself says that it declines."""
    cut: bool
    """True if the file says that a token limit ended it."""
    rung: str | None
    """Rung of an evidence ladder that the file names."""

    @property
    def calls(self) -> tuple[str, ...]:
        """The names of the tools that it calls."""
        return tuple(call.name for call in self.reply.turn.tool_calls)

    @property
    def known_grade(self) -> tuple[Graded, str] | None:
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

    @property
    def by_rules(self) -> Graded:
        """Grade by the rules, which read the first ``READ_AT_MOST`` characters."""
        reply, request = self.reply.turn.content[:READ_AT_MOST], self.request[:READ_AT_MOST]
        return read_cut_step(reply, request, request) if self.cut else read_reply(reply, request)


def grade_by(
    grader: str,
    n: int,
    by_rules: Callable[[int], Graded],
    by_model: Callable[[Sequence[int]], Sequence[Graded]],
) -> list[tuple[Graded, str]]:
    """Grade n replies by rules, a model, or a model where the rules doubt; each with its grader.

    Args:
        grader: ``rules``, a model's name, or ``rules,`` and a model's name.
        n: Number of replies.
        by_rules: Grade of the reply at a place.
        by_model: Grades of the replies at some places.
    """
    model, grades = grading_model(grader), dict[int, tuple[Graded, str]]()
    if model is None or rules_first(grader):
        grades = {place: (by_rules(place), RULES) for place in range(n)}
    ungraded = [place for place in range(n) if place not in grades or grades[place][0].is_doubted]
    if model is not None and ungraded:
        grades |= {
            place: (grade, model) for place, grade in zip(ungraded, by_model(ungraded), strict=True)
        }
    return [grades[place] for place in range(n)]


@dataclass(frozen=True, slots=True)
class Grading:
    """Rules by which the conversations of a file are placed, graded and kept."""

    cases: CaseSet
    grader: str
    """``rules``, a model's name, or ``rules,`` and a model's name."""
    by_model: Callable[[Sequence[UngradedReply]], Sequence[Graded]]
    """Grades replies by the model, if one grades."""
    card: str | None
    """The name of the deployment card that the cases are of."""
    file: str
    """Name of the file, which stands for the model where nothing names one."""
    model: str | None
    """The model under test, whatever the file says."""
    delivery: Delivery
    reveal: bool
    """True if replies and explanations stand in the table."""


def grade_conversations(
    conversations: Iterable[Conversation | BadLine],
    out: Path,
    grading: Grading,
    progress: Callable[[LineTally], None],
) -> LineTally:
    """Grade the replies of a file's conversations, and write their judgement table (Parquet).

    Where no reply was placed in a case, nothing is written.

    Args:
        conversations: Conversations and broken lines, as they are read.
        out: The table; an earlier one is replaced at the end.
        grading: Rules of placing and grading.
        progress: Called after each batch.
    """
    tally, text_hash = LineTally(), hashlib.blake2b(digest_size=8)
    epochs: Counter[tuple[str, str, str | None]] = Counter()
    tables = []
    placed = _replies_with_cases(conversations, grading, tally, text_hash)
    while batch := list(islice(placed, _BATCH)):
        rows = list(_rows(batch, grading, epochs))
        texts = TEXTS if grading.reveal else ()
        tables.append(
            make_table(rows).with_columns(
                pl.Series(name, [row[name] for row in rows], pl.String) for name in texts
            )
        )
        progress(tally)
    if not tables:
        return tally
    version = grader_version(grading.grader)
    about = {
        "made by": f"casewise {casewise.__version__}",
        "form": "graded conversations",
        "texts": "included" if grading.reveal else "withheld",
        "grader_version": version,
    }
    run = digest(text_hash.hexdigest(), grading.grader, version)
    table = pl.concat(tables).with_columns(run_id=pl.lit(run))
    write_atomically(out, table_bytes(table, out, {"casewise": json.dumps(about)}))
    return tally


def _replies_with_cases(
    conversations: Iterable[Conversation | BadLine],
    grading: Grading,
    tally: LineTally,
    text_hash: "hashlib.blake2b",
) -> Iterator[UngradedReply]:
    """Yield the replies that have a case, and count every line by its fate."""
    places, texts = Places(grading.cases.cases), dict[str, bytes]()
    for conversation in conversations:
        if isinstance(conversation, BadLine):
            tally.add("broken", conversation.line)
            if len(tally.problems) < SHOWN:
                tally.problems.append(str(conversation))
            continue
        lines = "\0".join(turn.line for turn in conversation.turns)
        text = hashlib.blake2b(lines.encode(), digest_size=8).digest()
        if conversation.id in texts:
            same = "duplicate: id and text of an earlier one, counts once"
            other = "id of an earlier one with another text; the earlier one counts"
            tally.add(same if texts[conversation.id] == text else other, conversation.line)
            continue
        texts[conversation.id] = text
        reply = last_reply(conversation.turns)
        case = places.find(conversation, reply) if reply is not None else None
        if reply is None or case is None:
            tally.add("no reply of the model", conversation.line)
        elif isinstance(case, str):
            tally.add(case, conversation.line)
        else:
            tally.add(GRADED, conversation.line)
            text_hash.update(text)
            last = reply.turn is conversation.turns[-1]
            declined, cut = conversation.declined and last, conversation.cut and last
            tally.endings.add("" if declined else reply.turn.content, cut=cut)
            tally.unnamed += conversation.model is None
            model = grading.model or conversation.model or grading.file
            yield UngradedReply(case, reply, model, declined, cut, conversation.rung)


def _rows(
    batch: Sequence[UngradedReply], grading: Grading, epochs: Counter[tuple[str, str, str | None]]
) -> Iterator[dict[str, Any]]:
    data = grading.cases
    condition = RunCondition(sampling=TRANSCRIPTS, card=grading.card or None)
    open_ = [placed for placed in batch if placed.known_grade is None]
    read = iter(
        grade_by(
            grading.grader,
            len(open_),
            lambda place: open_[place].by_rules,
            lambda places: grading.by_model([open_[place] for place in places]),
        )
    )
    for placed in batch:
        graded, by = placed.known_grade or next(read)
        if placed.known_grade is None:
            graded = graded.beside_calls(placed.calls)
        key = (placed.model, placed.case.id, placed.rung)
        epochs[key] += 1
        # The rules have reasons of their own; a model may quote the reply, and tools have names.
        by_rules = (placed.declined or by == RULES) and not placed.calls
        reason = graded.reason if by_rules or grading.reveal else stand_in(graded.reason)
        answer = placed.reply.turn.text
        yield {
            "protocol": acting_protocols()[0],
            "delivery": "none" if placed.rung == BARE_RUNG else str(grading.delivery),
            "prompt_version": "as held",
            "dataset_hash": data.hash,
            "dataset_version": data.version,
            "variant": replace(condition, evidence=placed.rung).variant,
            **case_columns(placed.case),
            "model": placed.model,
            "expected": wanted_reply(placed.case),
            "epoch": epochs[key],
            "status": str(graded.status),
            "response_class": graded.response_class and str(graded.response_class),
            "graded_by": by,
            "doubt": graded.doubt,
            # Unknown where the file doesn't say so: the reply need not have ended by itself.
            "cut": placed.cut or None,
            "answer": answer if grading.reveal else stand_in(answer),
            "explanation": reason,
            "error": reason if graded.status is Status.ERROR else None,
            # People need the texts to label replies.
            "query": placed.case.query,
            "context": placed.situation,
            "history": json.dumps([turn.model_dump(mode="json") for turn in placed.case.history]),
        }
