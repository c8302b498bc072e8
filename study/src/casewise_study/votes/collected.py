"""Data that a study has collected, and the votes that count, as columns."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import AfterValidator, AwareDatetime, Field, Json

from casewise.cases import Side
from casewise.statistics import (
    BoolArray,
    Clusters,
    FloatArray,
    IntArray,
    number_clusters,
)
from casewise_study.statistics.stopping import Boundary, FirstVotes, chances_first
from casewise_study.study.schema import Arm, Counting, Study, StudyCell


class PersonStatus(StrEnum):
    """Status of a person.

    ``abandoned``: the lease ran out before the last case. ``excluded``: by whoever runs the study;
    a database keeps the exclusion beside the status before it.
    """

    STARTED = "started"
    ACTIVE = "active"
    COMPLETED = "completed"
    SCREENED_OUT = "screened_out"
    WITHDRAWN = "withdrawn"
    ABANDONED = "abandoned"
    EXCLUDED = "excluded"


AT_BLOCK = (PersonStatus.ACTIVE, PersonStatus.COMPLETED)
"""Statuses of people who judge or have judged a block: their votes may count."""


def _to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time of this calendar in UTC") from None


# Records are the columns of their files: a cell is read as its field says, and what is None is
# empty. No name that is published is an address of a person.
Rater = Annotated[str, Field(pattern="^[^@]+$")]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Time = Annotated[AwareDatetime, AfterValidator(_to_utc)]
TOOL_ANSWERS = ("none", "some", "all")


@dataclass(frozen=True, slots=True)
class PersonRecord:
    """A person by pseudonym. Nothing here leads back to an account."""

    rater: Rater
    status: PersonStatus
    block: Count | None = None
    """The block of the design, from 0."""
    started: Time | None = None
    """Time in UTC, as every time here."""
    ended: Time | None = None
    attempts: Count = 0
    """At the comprehension check."""
    demographics: Json[dict[str, str]] | None = None
    """Answers about the person, by the names of the questions."""
    remark: str | None = None
    """The answer to the exit question."""
    excluded: str | None = None
    """Why whoever runs the study excluded the person, to be published."""
    trap_pages: Count | None = None
    """Answered pages that held hidden text; None where nobody looked, as for all that follows."""
    trapped: Count | None = None
    """Pages of these whose hidden text was followed."""
    watched: Count | None = None
    """Pages of these whose script counted; 0 where scripts are off."""
    left: Count | None = None
    """Watched pages that were left for another window or tab."""
    away_seconds: Seconds | None = None
    """Seconds in all."""
    copied: Count | None = None
    """Watched pages whose case was copied from, or where something was pasted."""
    tool: Annotated[str, Field(pattern="^(none|some|all)$")] | None = None
    """Share of the answers that a tool gave, by the person's own word."""
    confirmed: Literal["export", "link", "nobody"] | None = None
    """Who confirmed that the person is one of the platform: its export, else a signed link."""


@dataclass(frozen=True, slots=True)
class VoteRecord:
    """One person's verdict on one case."""

    rater: Rater
    case_id: str
    query_id: str
    arm: Arm
    verdict: Side
    position: Count
    """Among the person's pages, from 0, attention checks counted."""
    time: Time | None = None
    seconds: Seconds | None = None
    """From the page's first showing to the answer; a study's own server counts at most
    ``timing.most_seconds``, since more is a break."""
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None
    """1 (guessing) to 5 (certain)."""
    reason: str | None = None
    counted: bool = True
    """False for a block that was abandoned, withdrawn or excluded: others judge it in full. Last,
    so that a file that was cut within its last row shows it."""


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """One person's answer to one attention check."""

    rater: Rater
    check: str
    passed: bool
    position: Count
    seconds: Seconds | None = None


@dataclass(frozen=True, slots=True)
class SecondAccount:
    """A sign that two people are one: they used one browser."""

    rater: str
    other: str | None
    """Person who began before. None: the rater's browser opened the study under an id that did not
    begin there."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Facts on people's identity that a study's server could check."""

    seconds: tuple[SecondAccount, ...] = ()

    @property
    def sharing(self) -> int:
        """People who share a browser."""
        names = {name for second in self.seconds for name in (second.rater, second.other)}
        return len(names - {None})

    def left_out(self, rule: Counting) -> frozenset[str]:
        """Second accounts whose votes don't count by the study's rule."""
        leaves_out = rule is Counting.LEAVE_OUT
        return frozenset(second.rater for second in self.seconds if second.other and leaves_out)


@dataclass(frozen=True, slots=True)
class Collected:
    """Data that a study has collected: people by arrival, votes and checks by time of answering."""

    people: tuple[PersonRecord, ...]
    votes: tuple[VoteRecord, ...]
    checks: tuple[CheckRecord, ...] = ()
    identity: Identity | None = None
    """None where nobody looked."""

    @property
    def checked(self) -> tuple[Counter[str], Counter[str]]:
        """Attention checks by rater: answered, and failed."""
        failed = (check.rater for check in self.checks if not check.passed)
        return Counter(check.rater for check in self.checks), Counter(failed)


@dataclass(frozen=True, slots=True, eq=False)
class VoteTable:
    """Counted votes; each column of shape ``(votes,)``."""

    cells: tuple[StudyCell, ...]
    """Cells of the study's design."""
    raters: tuple[str, ...]
    """People with counted votes, in the order of the people."""
    safe: FloatArray
    """1 safe, 0 unsafe."""
    cell: IntArray
    """The place in ``cells``."""
    rater: IntArray
    """The place in ``raters``."""
    query: IntArray
    """A number for the query."""
    position: FloatArray
    seconds: FloatArray
    """NaN where unknown."""
    weight: FloatArray
    """The weight of each vote in the share of its cell: 1 over their number; or, if cases stopped
    once their majority was decided, the chance that it was the first of them."""
    boundary: Boundary | None = None
    """Rule by which cases stopped once their majority was decided, if they did."""
    first: FirstVotes | None = None
    """What first votes on each cell said, under such a rule."""

    @property
    def is_sequential(self) -> bool:
        """True if a case was asked no further once its majority was decided."""
        return self.boundary is not None

    @property
    def counts(self) -> FloatArray:
        """Votes on each cell. Shape ``(cells,)``."""
        return np.bincount(self.cell, minlength=len(self.cells)).astype(np.float64)

    @property
    def counts_safe(self) -> FloatArray:
        """Safe votes on each cell. Shape ``(cells,)``."""
        return np.bincount(self.cell, self.safe, minlength=len(self.cells)).astype(np.float64)

    @property
    def majorities(self) -> FloatArray:
        """1 where most votes on a cell say safe, -1 unsafe; 0 of a tie, and without votes."""
        return np.sign(2 * self.counts_safe - self.counts)

    def of_raters(self) -> list[IntArray]:
        """The places of each rater's votes, in the order of ``raters``."""
        order = np.argsort(self.rater, kind="stable")
        ends = np.cumsum(np.bincount(self.rater, minlength=len(self.raters)))
        return list(np.split(order, ends[:-1]))[: len(self.raters)]

    @property
    def by_query(self) -> Clusters:
        """Clusters of votes by query: votes of one query are correlated."""
        return number_clusters(self.query)

    @property
    def by_rater(self) -> Clusters:
        """Clusters of votes by person: votes of one person are correlated."""
        return number_clusters(self.rater)

    @property
    def arms(self) -> list[Arm]:
        """Arms that have cells."""
        present = {cell.arm for cell in self.cells}
        return [arm for arm in Arm if arm in present]

    def arm_places(self, arm: Arm) -> IntArray:
        """The cells of an arm."""
        return np.flatnonzero([cell.arm is arm for cell in self.cells])

    def in_arm(self, arm: Arm) -> BoolArray:
        """Mask of votes on cells of an arm."""
        return np.isin(self.cell, self.arm_places(arm))

    def cell_queries(self) -> IntArray:
        """The number of each cell's query; -1 without votes. Shape ``(cells,)``."""
        queries = np.full(len(self.cells), -1, np.int64)
        queries[self.cell] = self.query
        return queries

    def only(self, mask: BoolArray) -> Self:
        """Some of the votes; cells, raters and queries keep their numbers."""
        columns = ("safe", "cell", "rater", "query", "position", "seconds", "weight")
        return replace(self, **{name: getattr(self, name)[mask] for name in columns})

    def without(self, raters: frozenset[str]) -> Self:
        """The votes of everybody else, weighed anew."""
        stays = np.array([name not in raters for name in self.raters], bool)
        return self.only(stays[self.rater])._weighed()

    def _weighed(self) -> Self:
        if self.boundary is None:
            return replace(self, weight=1 / self.counts[self.cell])
        weight, first = chances_first(self.cell, self.safe, len(self.cells), self.boundary)
        return replace(self, weight=weight, first=first)


def vote_table(study: Study, collected: Collected) -> VoteTable:
    """The counted votes of what was collected."""
    votes = [vote for vote in collected.votes if vote.counted]
    voted = {vote.rater for vote in votes}
    raters = tuple(person.rater for person in collected.people if person.rater in voted)
    places = {name: place for place, name in enumerate(raters)}
    queries = {name: n for n, name in enumerate(dict.fromkeys(vote.query_id for vote in votes))}

    def numbers(values: Iterable[float | None]) -> FloatArray:
        return np.array([*values], np.float64)  # None becomes NaN

    def codes(values: Iterable[int]) -> IntArray:
        return np.array([*values], np.int64)

    collection = study.collection
    return VoteTable(
        cells=study.design.cells,
        raters=raters,
        safe=numbers(vote.verdict == "safe" for vote in votes),
        cell=codes(study.places[vote.case_id] for vote in votes),
        rater=codes(places[vote.rater] for vote in votes),
        query=codes(queries[vote.query_id] for vote in votes),
        position=numbers(vote.position for vote in votes),
        seconds=numbers(vote.seconds for vote in votes),
        weight=np.ones(len(votes)),
        boundary=collection.boundary if collection.is_sequential else None,
    )._weighed()


def active_minutes(study: Study, collected: Collected) -> dict[str, float]:
    """Minutes that each person was at work, without breaks; who has no known times is left out.

    The seconds of every page, and the time from the consent to the first page, each up to
    ``timing.most_seconds``. Where a page's seconds aren't known, from start to end.
    """
    pages = defaultdict[str, list[float]](list)
    first: dict[str, datetime] = {}
    answers: tuple[CheckRecord | VoteRecord, ...] = (*collected.checks, *collected.votes)
    for answer in answers:
        pages[answer.rater].append(math.nan if answer.seconds is None else answer.seconds)
    for vote in collected.votes:
        if vote.time is not None and vote.seconds is not None:
            shown = vote.time - timedelta(seconds=vote.seconds)
            first[vote.rater] = min(shown, first.get(vote.rater, shown))
    minutes = {}
    for person in collected.people:
        if person.started is None:
            continue
        started, spent = person.started, pages[person.rater]
        if person.rater in first and not any(map(math.isnan, spent)):
            before = (first[person.rater] - started).total_seconds()
            parts = (max(0.0, before), *spent)
            minutes[person.rater] = sum(min(part, study.timing.most_seconds) for part in parts) / 60
        elif person.ended is not None:
            minutes[person.rater] = (person.ended - started).total_seconds() / 60
    return minutes
