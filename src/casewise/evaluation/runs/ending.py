"""End of a start before all was judged: why, what is kept, and the command that goes on."""

import errno
import signal
from asyncio import CancelledError
from dataclasses import dataclass

STOPPING = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if (number := getattr(signal, name, None)) is not None
)
"""Signals that stop a start as Ctrl-C does; Windows has no SIGHUP."""

_FULL = {
    number
    for name in ("ENOSPC", "EDQUOT", "EFBIG")
    if (number := getattr(errno, name, None)) is not None
}
"""Error numbers of a full disk, a full quota, and a file that may not be longer."""

NOT_ALL = "not all was judged"


@dataclass(frozen=True, slots=True)
class Ending:
    """End of a start before all was done, as the terminal tells it."""

    why: str
    status: int
    """Exit status of the command."""
    kept: str
    """What the folder keeps: ``34 of 900 judgements``."""
    command: str | None
    """Command that goes on; None of a run that Python started."""

    def lines(self, place: str) -> tuple[str, ...]:
        """Sentences for the terminal; the command follows the last.

        Args:
            place: Folder of the logs, or of the answers.
        """
        kept = f"kept: {self.kept}, in {place}; what was in flight is asked again"
        return (self.why, kept, *(("To go on:",) if self.command is not None else ()))


def reason_of(error: BaseException, number: int) -> tuple[str, int]:
    """Reason and exit status of a start that an error ended.

    Args:
        error: The error.
        number: Signal that stands for an interrupt.
    """
    match error:
        case KeyboardInterrupt():
            name = "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
            return f"stopped by {name}", 128 + number
        case CancelledError():
            return "stopped by the program that started it", 130
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            detail = f"{where}{error.strerror or error}"
            if error.errno in _FULL:
                return f"stopped: the disk is full ({detail}); make room first", 2
            return f"stopped: a file can't be written ({detail})", 2
    return NOT_ALL, 1
