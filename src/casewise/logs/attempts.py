"""The logs of a folder: which belong together, and which attempt at a case counts."""

import logging
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path

from casewise.errors import InputError, first_line
from casewise.files import address_of, is_elsewhere
from casewise.logs.log import LogHeader, SampleRecord, path_now, read_header, read_records
from casewise.logs.names import COMMAND, RUNNING, SHARDS
from casewise.protocols import RunCondition


def list_logs(folder: Path) -> list[Path]:
    """The logs of a folder and of the shards in it, by name; there may be none.

    Raises:
        InputError: It is elsewhere (``s3://...``), and can't be reached.
    """
    return sorted(_stamped(folder))


def read_headers(folder: Path) -> list[LogHeader]:
    """The headers of casewise's logs in a folder as they stand now, by name.

    Logs that are cut short, or of another task, are left out. A header is read again only if its
    file has changed.
    """
    logging.getLogger("inspect_ai").setLevel(logging.ERROR)
    headers = (_header_or_none(path, stamp) for path, stamp in sorted(_stamped(folder).items()))
    return [header for header in headers if header is not None]


@lru_cache(maxsize=1024)
def _header_or_none(path: Path, stamp: "_Stamp") -> LogHeader | None:  # noqa: ARG001 - its key
    with suppress(InputError):
        return read_header(path)
    return None


_Stamp = tuple[int, float | None]
"""State of a file: bytes, and time of its last change."""


def _stamped(folder: Path) -> dict[Path, _Stamp]:
    """The logs of a folder and of the shards in it, in no certain order."""
    if is_elsewhere(folder):
        from inspect_ai.log import list_eval_logs

        try:
            listing = list_eval_logs(address_of(folder), formats=["eval"])
        except Exception as error:  # whatever its file system raises
            problem = f"can't be read: {first_line(error)}"
            raise InputError(problem, file=address_of(folder)) from None
        return {Path(log.name): (log.size, log.mtime) for log in listing}
    logs = product((folder, *(folder / SHARDS).glob("*")), (".eval", RUNNING))
    paths = [path_now(path) for place, suffix in logs for path in place.glob(f"*{suffix}")]
    return {path: ((stat := path.stat()).st_size, stat.st_mtime) for path in paths}


SampleKey = tuple[str, int]
"""A case and its epoch."""


class Outcome(IntEnum):
    """Outcome of an attempt at a case; of several, the least counts."""

    JUDGED = 0
    FINAL_ERROR = 1
    """Ended in an error, in a log that ended well: it isn't asked again."""
    OPEN = 2
    """Ended in an error, or without a score, and will be asked again."""


def outcomes_of(header: LogHeader, records: Iterable[SampleRecord]) -> dict[SampleKey, Outcome]:
    """Outcome of each case of a log, from what it keeps of it."""
    outcomes: dict[SampleKey, Outcome] = {}
    for record in records:
        if record.judged:
            outcome = Outcome.JUDGED
        elif header.ended and record.error is not None:
            outcome = Outcome.FINAL_ERROR
        elif record.in_flight:
            continue
        else:
            outcome = Outcome.OPEN
        key = record.case, record.epoch
        outcomes[key] = min(outcome, outcomes.get(key, outcome))
    return outcomes


def counted_attempts(logs: Sequence[Mapping[SampleKey, Outcome]]) -> list[dict[SampleKey, Outcome]]:
    """Attempts that count: one rule, for reading a run and for going on with it.

    The first judgement of a case counts. Where there is none, the first error that stays counts,
    else the first other error.

    Args:
        logs: Outcomes of all logs of a run, in the order in which they were made.

    Returns:
        What counts of each log; no case is in two of them.
    """
    best: dict[SampleKey, tuple[Outcome, int]] = {}
    for place, log in enumerate(logs):
        for key, outcome in log.items():
            best[key] = min((outcome, place), best.get(key, (outcome, place)))
    return [
        {key: outcome for key, outcome in log.items() if best[key] == (outcome, place)}
        for place, log in enumerate(logs)
    ]


@dataclass(frozen=True)
class LoggedRun:
    """The logs of one model under one condition that count together."""

    logs: tuple[LogHeader, ...]
    """Logs in the order in which they were made; at least one."""

    @property
    def first(self) -> LogHeader:
        """The log that was made first."""
        return self.logs[0]

    @property
    def alone(self) -> bool:
        """Tell whether its one log is whole by itself."""
        return len(self.logs) == 1 and self.first.part is None

    @property
    def run_id(self) -> str:
        """Id of one execution of one task; Inspect's own run id is shared by a run's tasks."""
        return self.first.eval.eval_id if self.alone else self.first.run

    @property
    def planned(self) -> int | None:
        """Samples that it was to judge, over all epochs; None where the logs don't say."""
        return max((log.planned or 0 for log in self.logs), default=0) or None

    @cached_property
    def complete(self) -> bool:
        """Tell whether it ended well, or no case needs a further request."""
        if self.alone and self.first.ended:
            return True
        logs = [outcomes_of(header, read_records(header)) for header in self.logs]
        settled = {key for log in logs for key in log if log[key] is not Outcome.OPEN}
        return self.planned is not None and len(settled) >= self.planned

    @property
    def stopped(self) -> str | None:
        """Reason why it did not end, without a provider's own words; None where it did."""
        if self.complete:
            return None
        ended = [log.status for log in self.logs if not log.ended]
        return _STOPS[ended[-1]] if ended else "its logs don't hold every case"

    @property
    def condition(self) -> RunCondition:
        """Columns of the judgement table that are the same in every row."""
        return replace(self.first.condition, run_id=self.run_id)


_STOPS = {
    "cancelled": "stopped by hand, or by a cap such as --max-cost",
    "error": "requests failed",
    "started": "killed, or still running",
}
"""Reasons why a run did not end, by its log's status."""


def runs_of(headers: Iterable[LogHeader]) -> list[LoggedRun]:
    """Put the logs of each run together.

    Where attempts at a run are whole by themselves, the one that ended well counts alone: it holds
    what those before it held.

    Returns:
        The runs, in the order in which the first log of each comes.
    """
    groups: dict[tuple[str, str], list[LogHeader]] = {}
    for header in headers:
        groups.setdefault((header.run, header.model), []).append(header)
    return [LoggedRun(tuple(_counted_logs(attempts))) for attempts in groups.values()]


def _counted_logs(attempts: Sequence[LogHeader]) -> Sequence[LogHeader]:
    by_age = sorted(attempts, key=lambda attempt: attempt.age)
    ended = [attempt for attempt in by_age if attempt.ended]
    return ended[-1:] if ended and not any(attempt.part for attempt in by_age) else by_age


def recorded_line(headers: Iterable[LogHeader], log_dir: Path) -> str | None:
    """Command line that goes on in a folder, as its latest log has it; None if unknown."""
    for header in sorted(headers, key=lambda log: log.age, reverse=True):
        with suppress(ValueError):
            arguments = shlex.split(str(header.metadata.get(COMMAND, "")))[1:]
            # Whoever runs models from Python has another command line.
            if arguments[:1] == ["run"]:
                return resume_line(arguments, log_dir)
    return None


def resume_line(arguments: Sequence[str], log_dir: Path) -> str:
    """Command line of ``casewise`` that goes on in a folder.

    Args:
        arguments: Those that the run was started with, without the program's name.
        log_dir: The folder of its logs, which may not have been named.
    """
    command = ["casewise", *without_option("--log-dir", arguments)]
    return shlex.join([*command, "--log-dir", address_of(log_dir)])


def without_option(option: str, arguments: Sequence[str]) -> list[str]:
    """Arguments without an option and its value."""
    remaining = list(arguments)
    while option in remaining:
        at = remaining.index(option)
        del remaining[at : at + 2]
    return [argument for argument in remaining if not argument.startswith(f"{option}=")]
