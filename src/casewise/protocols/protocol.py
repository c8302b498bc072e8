"""Protocol: what a model is asked about one unit, and how its answers are read.

A protocol neither sends nor waits. It yields requests, is sent the answers, and returns a reading;
``drive`` connects it to whatever sends them (a run, Inspect's solver, a test's list of answers).
Each protocol is one file of this folder, found by its name; others come by the entry point
``casewise.protocols``.
"""

import math
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any, TypeVar

from casewise.cases import Case
from casewise.choices import (
    ENTRY_POINTS,
    PROTOCOLS,
    Delivery,
    Measure,
    Sampling,
    protocol_names,
)
from casewise.errors import UsageError, choose_from
from casewise.protocols.answer import read_cut
from casewise.protocols.conversations import Conversations, Opening
from casewise.protocols.prompts import EDITION, Prompts, load_prompts
from casewise.protocols.types import Graded, Reading
from casewise.protocols.words import ENGLISH

Returned = TypeVar("Returned")


class Unit(StrEnum):
    """Unit that one judgement is about."""

    CASE = "case"
    PAIR = "pair"
    """Two cases of one query."""


class Stop(StrEnum):
    """Reason that an answer ended."""

    ITSELF = "itself"
    """Its author ended it."""
    LIMIT = "limit"
    """The limit of tokens."""
    WINDOW = "window"
    """The model's window."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, as far as a protocol reads it."""

    text: str = ""
    stop: Stop = Stop.ITSELF
    refused: bool = False
    """True if the provider itself says that the model, or its filter, declined."""
    declined: bool = False
    """True if a target declined this turn alone, and the conversation goes on."""
    calls: tuple[str, ...] = ()
    """Names of the tools that it calls."""
    said: str = ""
    """The text with its calls, as a grader reads the conversation."""
    logprobs: Mapping[str, float] | None = None
    """Natural-log probability of each candidate of the first token."""
    pieces: Mapping[str, tuple[str, bool]] | None = None
    """First token of each of ``surface_forms`` and whether it is the whole form; None where the
    tokenizer is not at hand."""
    other_model: str | None = None
    """Name of the model that answered, where it is not the one that was asked."""

    @property
    def cut(self) -> bool:
        """Tell whether a limit of tokens or the model's window ended the answer."""
        return self.stop is not Stop.ITSELF


@dataclass(frozen=True, slots=True)
class Open:
    """Request that begins a conversation with one of the question's openings."""

    place: int = 0


@dataclass(frozen=True, slots=True)
class Say:
    """Request that goes on after the last answer, with another turn of the user."""

    text: str


@dataclass(frozen=True, slots=True)
class Grade:
    """Request to the grader, in a conversation of its own."""

    prompt: str


Request = Open | Say | Grade
Exchange = Generator[Sequence[Request], Sequence[Answer], Returned]
"""Requests that belong together, the answers to them in the same order, and the result."""


async def drive(
    exchange: Exchange[Returned], send: Callable[[Request], Awaitable[Answer]]
) -> Returned:
    """Send the requests, one after another, until the result is there.

    Raises:
        Exception: Whatever ``send`` raises.
    """
    try:
        requests = next(exchange)
        while True:
            requests = exchange.send([await send(request) for request in requests])
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Question:
    """One unit under one condition, laid out: all that asking and reading need."""

    messages: tuple[tuple[str, str], ...] = ()
    """Role and text of each message of the first opening."""
    more: tuple[str, ...] = ()
    """Prompts of further openings, each a conversation of its own."""
    later: tuple[str, ...] = ()
    """The user's turns after the first answer."""
    query: str | None = None
    context: Mapping[str, Any] | None = None
    language: str | None = None
    """Language that the answer may be in, beside English."""
    samples: int = 1
    """Answers to each opening."""
    grader: str | None = None
    """The grader of replies, as ``read_grader`` gives it; None is the offline reader."""
    scripted: bool = False
    """True if each reply is graded against the turn that it answers, and not against the query."""
    every: bool = False
    """True if every reply is graded, and not the last one alone."""


PREFERS = "prefers"
"""Name of a number of a pair: share of the openings that prefer its first case, 0..1."""


@dataclass(frozen=True, slots=True)
class GradedReply:
    """Grade of one reply of a conversation."""

    grade: Graded
    by: str
    """``rules``, ``provider``, ``tool_call`` or the model that graded."""
    cut: bool


LONGEST = {Sampling.REFERENCE_API: 1024, Sampling.REFERENCE_OPEN: 512}
"""Longest answer of a judge under the samplings of the published runs, in tokens."""

MAX_TOKENS = 2048
"""Longest answer of the protocols that explain, in tokens; reasoning counts too."""


class Protocol:
    """Requests to a model about one unit, and the reading of its answers. One instance per name."""

    name: str
    unit: Unit = Unit.CASE
    acts = False
    """True if the model plays the chatbot, and its replies are graded."""
    task = "judge"
    """Name of the Inspect task in the logs."""
    deliveries: tuple[Delivery, ...] = (Delivery.JUDGE, Delivery.NONE)
    """Places of the context that mean something, the default first."""
    upstream: str | None = None
    """Name of the template in upstream's file; None where it has none."""
    mode: str | None = None
    """Name in the files of upstream's published outputs; None where it has none."""
    languages: tuple[str, ...] = ()
    """Languages, beside English, that templates are written in."""

    samples = 1
    """Default number of answers to each opening; ``--samples`` asks for others where it isn't 1."""
    drawn = True
    """True if answers may be drawn at random; False is always greedy."""
    takes_system = True
    """True if a sampling's system message is sent."""
    candidates = 0
    """Candidates of the first token that are asked for; 0 asks for none."""
    answer_tokens = 80
    """Length of a usual answer, in tokens."""

    unread: float | None = None
    """Number that the published script puts in an unread answer's place, 0..1; None where it counts
    verdicts alone."""

    measures: tuple[Measure, ...] = ()
    """Measures of this protocol alone, beside those of the table."""

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return find_protocol, (self.name,)

    # --- laying out ---------------------------------------------------------------------------

    def wording(
        self, delivery: Delivery, prompt: str | None, languages: Iterable[str | None]
    ) -> Prompts | Conversations:
        """Prompts of a condition; see ``load_prompts``."""
        return load_prompts(prompt, self, delivery, languages)

    def template(self, place: Delivery, language: str = ENGLISH) -> tuple[str, str]:
        """Name and text of a template of ours, with ``{query}`` and ``{context}``."""
        suffix = "" if language == ENGLISH else f".{language}"
        name = f"{self.name}-{place}-{EDITION}{suffix}"
        return name, (files("casewise.data") / "prompts" / f"{name}.txt").read_text("utf-8")

    def units(
        self,
        cases: Sequence[Case],
        pairs: int | None = None,
    ) -> Sequence[tuple[Case, ...]]:
        """The cases of each unit.

        Args:
            cases: All cases, in their order.
            pairs: The most pairs of one query; None is every one.
        """
        return [(case,) for case in cases]

    def open(self, unit: Sequence[Case], prompts: Prompts | Conversations) -> tuple[Opening, ...]:
        """Conversations in which a unit is asked."""
        return (prompts.open(unit[0]),)

    def longest(self, sampling: Sampling, *, embedded: bool) -> int:
        """Default limit of an answer, in tokens."""
        return LONGEST.get(sampling, MAX_TOKENS)

    # --- asking and reading -------------------------------------------------------------------

    def ask(self, question: Question) -> Exchange[Sequence[Answer]]:
        """Ask the model about one unit."""
        return (yield [Open()] * question.samples)

    def judge(
        self, question: Question, answers: Sequence[Answer]
    ) -> Exchange[Reading | tuple[GradedReply, ...]]:
        """Read the model's answers, with the help of a grader where the protocol asks one."""
        return self.read(question, answers)
        yield  # a generator that asks nobody

    def read(self, question: Question, answers: Sequence[Answer]) -> Reading:
        """Read the answers to one unit; never raises."""
        return self.read_answer(answers[0], question.language)

    def read_answer(self, answer: Answer, language: str | None) -> Reading:
        """Read one answer; of one that was cut, only what stood whole before the cut."""
        if answer.refused:
            return Reading.refused()
        if answer.cut:
            return self.read_cut(answer.text, language)
        return self.read_text(answer.text, language)

    def read_cut(self, text: str, language: str | None) -> Reading:
        """Read an answer that a limit cut; see ``answer.read_cut``."""
        return read_cut(lambda piece: self.read_text(piece, language), text)

    def read_text(self, text: str, language: str | None) -> Reading:
        """Read an answer that its author ended; never raises. Here no text is read."""
        return Reading.unparsed()

    def read_published(self, answer: str | float) -> Reading:
        """Read an answer of upstream's published outputs: parsed already, ``""`` if unread."""
        return Reading.unparsed()

    def is_cut(self, answers: Sequence[Answer]) -> bool:
        """Tell whether any of the answers was cut."""
        return any(answer.cut for answer in answers)


class InConversation(Protocol):
    """A protocol without a prompt of its own: the conversation itself is what a model gets."""

    def wording(
        self,
        delivery: Delivery,
        prompt: str | None,
        languages: Iterable[str | None],
    ) -> Conversations:
        """Conversations in which the model is asked.

        Raises:
            UsageError: A prompt is given.
        """
        if prompt is not None:
            raise UsageError(f"--prompt is a judge's; protocol {self} has a conversation")
        return Conversations(delivery)


def to_number(answer: str | float) -> float:
    """A published answer as a number; NaN where it is none."""
    try:
        return float(answer)
    except ValueError:
        return math.nan


@cache
def find_protocol(name: str) -> Protocol:
    """A protocol by its name.

    Raises:
        UsageError: There is none; or an entry point gives no protocol of that name.
    """
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            protocol = point.load()
        except Exception as error:
            reason = f"{point.value} can't be loaded: {type(error).__name__}: {error}"
            raise UsageError(f"protocol {name}: {reason}") from error
        if not isinstance(protocol, Protocol) or protocol.name != name:
            raise UsageError(f"protocol {name}: {point.value} is {protocol!r}, and not it")
        return protocol
    if name not in PROTOCOLS:
        raise UsageError(f"unknown protocol {name!r}: {choose_from(name, protocol_names())}")
    return import_module(f"casewise.protocols.{name}").protocol  # type: ignore[no-any-return]


@cache
def protocols() -> tuple[Protocol, ...]:
    """Every protocol; those of other distributions that can't be loaded are left out."""
    all_protocols = []
    for name in (*PROTOCOLS, *sorted(entry_points(group=ENTRY_POINTS).names)):
        with suppress(UsageError):
            all_protocols.append(find_protocol(name))
    return tuple(all_protocols)


@cache
def acting_protocols() -> tuple[str, ...]:
    """Names of the protocols in which the model plays the chatbot."""
    return tuple(protocol.name for protocol in protocols() if protocol.acts)


def is_acting(name: object) -> bool:
    """Tell whether a table's value names a protocol in which the model plays the chatbot."""
    return name in acting_protocols()


@cache
def published_protocol(mode: str) -> Protocol:
    """The protocol of upstream's published outputs of a mode."""
    return next(protocol for protocol in protocols() if protocol.mode == mode)


@cache
def pair_protocols() -> tuple[str, ...]:
    """Names of the protocols whose judgements are about pairs of cases."""
    return tuple(protocol.name for protocol in protocols() if protocol.unit is Unit.PAIR)
