"""What a run needs everywhere."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from casewise.evaluation._answer_journal import AnswerJournal
from casewise.evaluation._budget import Budget
from casewise.evaluation._solver import Hopes
from casewise.protocols import Status

Observer = Callable[[Status], None]
"""Called with the status of each judgement, and with ``error`` for each failed attempt at one."""


def _ignore(_: Status) -> None:
    pass


@dataclass(slots=True)
class RunContext:
    """One start of a run, in one process."""

    observe: Observer = _ignore
    budget: Budget | None = None
    journal: AnswerJournal | None = None
    """Where answers are kept until a log holds them; None on a cluster."""
    hopes: Hopes = field(default_factory=Hopes)
    writer: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="casewise-logs")
    )
    """The thread that writes the logs."""
