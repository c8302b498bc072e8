"""End of a start before all was judged: its reason, the counts of what is kept, what goes on."""

import errno
import signal
from asyncio import CancelledError
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from casewise.errors import CasewiseError, ModelError
from casewise.evaluation.models._fault_table import ROWS
from casewise.evaluation.models._faults import FaultCounts


class Reason(StrEnum):
    """Reason why a start ended before all was judged."""

    CTRL_C = "ctrl-c"
    SIGTERM = "sigterm"
    SIGHUP = "sighup"
    CALLER = "caller"
    FULL_DISK = "full disk"
    UNWRITABLE = "unwritable file"
    FINAL_ANSWER = "final answer"
    BUDGET = "budget"
    LOST_HEAD = "lost cluster"
    ERRORS = "errors"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class ReasonRow:
    """A reason in words, and the exit status that it ends with."""

    reason: Reason
    words: str
    status: int
    advice: str = ""
    """Deed before the command that goes on; empty where there is none."""
    signal: str = ""
    """Name of the signal that stops a start so; empty where none does."""


TABLE = (
    ReasonRow(Reason.CTRL_C, "stopped by Ctrl-C", 130, signal="SIGINT"),
    ReasonRow(Reason.SIGTERM, "stopped by SIGTERM", 143, signal="SIGTERM"),
    ReasonRow(Reason.SIGHUP, "stopped by SIGHUP: its terminal was closed", 129, signal="SIGHUP"),
    ReasonRow(Reason.CALLER, "stopped by the program that started it", 130),
    ReasonRow(Reason.FULL_DISK, "stopped: the disk is full", 2, "make room first"),
    ReasonRow(Reason.UNWRITABLE, "stopped: a file can't be written", 2, "let it be written first"),
    ReasonRow(Reason.FINAL_ANSWER, "not all was judged: a provider's answer is final", 1),
    ReasonRow(Reason.BUDGET, "not all was judged: the cap is reached", 1),
    ReasonRow(
        Reason.LOST_HEAD,
        "stopped: the cluster's head does not answer",
        1,
        "start the cluster again, or leave out --address",
    ),
    ReasonRow(Reason.ERRORS, "not all was judged", 1),
    ReasonRow(Reason.FAILURE, "stopped by an error of casewise's own", 1),
)
"""Every reason; the page on faults shows this table."""

ROW_OF = {row.reason: row for row in TABLE}

STOPPING = {
    number: row.reason
    for row in TABLE
    if (number := getattr(signal, row.signal or "none", None)) is not None
}
"""Reason by signal that stops a start; Windows has no SIGHUP."""


@dataclass(frozen=True, slots=True)
class LostWork:
    """Work that a cluster lost with its nodes and processes, as far as they had told of it."""

    shards: int = 0
    """Shards that were lost, and run again."""
    paid_twice: int = 0
    """Judgements that had come, and were in no log: they were asked for again."""
    in_flight: int = 0
    """Requests that were sent, and whose answers are not kept."""

    @property
    def line(self) -> str:
        """Sentence for the terminal, where a shard was lost."""
        return (
            f"lost with nodes or processes of the cluster: {self.shards:,} "
            f"{'shard' if self.shards == 1 else 'shards'}, run again; {self.paid_twice:,} "
            f"judgements were paid twice, and {_requests(self.in_flight)} in flight may be"
        )


@dataclass(frozen=True, slots=True)
class Ending:
    """End of a start before all was judged, as the terminal and the file of faults tell it."""

    reason: Reason
    detail: str
    """File that could not be written, and the system's words; empty for other reasons."""
    judged: int
    """Judgements that are kept, those of earlier starts included."""
    planned: int | None
    """Judgements that were to be made; None where contexts are made."""
    answers: int
    """Answers that came in this start, and are kept."""
    in_flight: int
    """Requests that were sent, and whose answers are not kept: they may be paid for."""
    paid_twice: int
    """Judgements that a cluster lost with its nodes, and that were asked for again."""
    command: str | None
    """Command that goes on; None of a run that Python started."""

    @property
    def status(self) -> int:
        """Exit status of the command."""
        return ROW_OF[self.reason].status

    @property
    def record(self) -> Mapping[str, Any]:
        """Fields for the file of faults."""
        return asdict(self)

    def lines(self, place: str) -> tuple[str, ...]:
        """Sentences for the terminal; the command follows the last.

        Args:
            place: Folder of the logs, or of the answers.
        """
        row = ROW_OF[self.reason]
        kept = (
            f"{self.answers:,} answers of this start"
            if self.planned is None
            else f"{self.judged:,} of {self.planned:,} judgements"
        )
        detail = f" ({self.detail})" if self.detail else ""
        lines = [
            "; ".join(filter(None, (f"{row.words}{detail}", row.advice))),
            f"kept: {kept}, in {place}",
        ]
        if self.in_flight:
            lines.append(
                f"in flight: {_requests(self.in_flight)}, which may be paid for, and whose answers "
                "are not kept: the next start sends them again"
            )
        if self.paid_twice:
            lines.append(f"paid twice: {self.paid_twice:,} judgements that were lost with nodes")
        if self.command is not None:
            lines.append("To go on:")
        return tuple(lines)


def _requests(count: int) -> str:
    return f"{count:,} {'request' if count == 1 else 'requests'}"


_NO_ROOM = {
    number
    for name in ("ENOSPC", "EDQUOT", "EFBIG")
    if (number := getattr(errno, name, None)) is not None
}
"""Error numbers of a full disk, a full quota, and a file that may not be longer."""


class LostHeadError(CasewiseError):
    """A cluster whose head is gone: nothing more can be begun there, nor heard of."""


def reason_of(error: BaseException, faults: FaultCounts, number: int) -> tuple[Reason, str]:
    """Reason and detail of a start that an error ended.

    Args:
        error: The error.
        faults: Faults that were met.
        number: Signal that stands for an interrupt.
    """
    match error:
        case KeyboardInterrupt():
            return STOPPING[number], ""
        case CancelledError():
            return Reason.CALLER, ""
        case OSError():
            reason = Reason.FULL_DISK if error.errno in _NO_ROOM else Reason.UNWRITABLE
            where = f"{error.filename}: " if error.filename else ""
            return reason, f"{where}{error.strerror or error}"
        case LostHeadError():
            return Reason.LOST_HEAD, str(error)
        case ModelError():
            return reason_of_failures(faults, capped=False), ""
    return Reason.FAILURE, ""


def reason_of_failures(faults: FaultCounts, *, capped: bool) -> Reason:
    """Reason of a start that ended by itself, with faults, before all was judged."""
    if capped:
        return Reason.BUDGET
    is_final = any(ROWS[kind].is_final for _, kind in faults)
    return Reason.FINAL_ANSWER if is_final else Reason.ERRORS
