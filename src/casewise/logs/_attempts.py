"""Which attempt at a case counts, where a run has several logs."""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import product
from typing import Any

from casewise.logs._header import LogHeader
from casewise.logs._records import SampleRecord, read_records

Asked = tuple[str, int]
"""A case, and which time it is asked."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """What became of the cases of one log."""

    judged: Set[Asked] = frozenset()
    stayed: Set[Asked] = frozenset()
    """Ended in an error, in a log that ended well: they aren't asked again."""
    open: Set[Asked] = frozenset()
    """Ended in an error, or without a score, and will be asked again."""

    def __contains__(self, asked: Asked) -> bool:
        """Whether it holds an attempt at a case."""
        return any(asked in found for found in (self.judged, self.stayed, self.open))

    @classmethod
    def of_records(cls, header: LogHeader, records: Iterable[SampleRecord]) -> "Attempts":
        """What became of the cases, by what the log keeps of them."""
        judged, stayed, open_ = set[Asked](), set[Asked](), set[Asked]()
        for one in records:
            if one.judged:
                judged.add((one.case, one.epoch))
            elif header.ended and one.error is not None:
                stayed.add((one.case, one.epoch))
            elif not one.in_flight:
                open_.add((one.case, one.epoch))
        return cls(judged, stayed, open_)

    @classmethod
    def of_header(cls, header: LogHeader) -> "Attempts":
        """The same of a log that holds a judgement of each of its cases: its header says it all.

        Over many of them, reading what they keep of each case would take minutes.
        """
        return cls(set(product(header.sample_ids, header.epochs)))


def counting(logs: Sequence[Attempts]) -> list[Attempts]:
    """The attempts that count: the one rule, for whoever reads a run and whoever goes on with it.

    Of each case the first judgement counts. Where it was never judged, the first error that stays
    counts, and where there is none, the first other error.

    Args:
        logs: All logs of a run, in the order in which they were made.

    Returns:
        What counts of each log; no case is in two of them.
    """
    taken = set[Asked]()

    def first(found: Set[Asked]) -> Set[Asked]:
        new = found - taken
        taken.update(new)
        return new

    judged = [first(one.judged) for one in logs]
    stayed = [first(one.stayed) for one in logs]
    others = [first(one.open) for one in logs]
    return [Attempts(*parts) for parts in zip(judged, stayed, others, strict=True)]


@dataclass(frozen=True, slots=True)
class LoggedRun:
    """The logs of one model under one condition that count together."""

    logs: tuple[LogHeader, ...]
    """One at least, in the order in which they were made."""

    @property
    def first(self) -> LogHeader:
        """The log that was made first."""
        return self.logs[0]

    @property
    def alone(self) -> bool:
        """Whether it is one log that is whole by itself."""
        return len(self.logs) == 1 and self.first.part is None

    @property
    def run_id(self) -> str:
        """One execution of one task; Inspect's own run id is shared by all tasks of a run."""
        return self.first.log.eval.eval_id if self.alone else self.first.run

    @property
    def planned(self) -> int | None:
        """Samples that it was to judge, over all epochs; None where the logs don't say."""
        return max((one.planned or 0 for one in self.logs), default=0) or None

    @property
    def complete(self) -> bool:
        """Whether it ended well; of several logs, whether every case needs no further request."""
        if self.alone:
            return self.first.ended
        planned = self.planned
        return planned is not None and len(set().union(*map(_settled, self.logs))) >= planned

    @property
    def condition(self) -> dict[str, Any]:
        """The columns of the judgement table that are the same in every row."""
        return self.first.condition | {"run_id": self.run_id}


def runs_of(headers: Iterable[LogHeader]) -> list[LoggedRun]:
    """Put the logs of each run together.

    Of attempts at a run that are whole by themselves, the one that ended well counts alone: it
    holds what those before it held.

    Returns:
        The runs, in the order in which the first log of each comes.
    """
    groups: dict[tuple[str, str], list[LogHeader]] = {}
    for header in headers:
        groups.setdefault((header.run, header.model), []).append(header)
    return [LoggedRun(tuple(_that_count(attempts))) for attempts in groups.values()]


def _that_count(attempts: Sequence[LogHeader]) -> Sequence[LogHeader]:
    ended = [one for one in attempts if one.ended]
    if ended and not any(one.part for one in attempts):
        return [max(ended, key=lambda one: one.age)]
    return sorted(attempts, key=lambda one: one.age)


def _settled(header: LogHeader) -> Set[Asked]:
    """The cases of a log that need not be asked again."""
    if header.ended:
        return Attempts.of_header(header).judged
    return Attempts.of_records(header, read_records(header)).judged
