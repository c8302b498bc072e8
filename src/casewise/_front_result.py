"""The front door: its results, each a table that shows itself, and what its functions take."""

import asyncio
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from casewise.cases import Case, CaseSet, Form, open_cases
from casewise.errors import UsageError, choose_from
from casewise.sheets import Shown, plain_rows

if TYPE_CHECKING:
    from casewise import dataset
    from casewise.dataset import Answer

PathText = str | os.PathLike[str]
"""A path, or an address such as ``s3://bucket/folder``."""

Cases = PathText | Sequence[Case]
"""``starter``, ``casebench``, a file of cases, or cases."""

Choice = TypeVar("Choice", bound=StrEnum)
Made = TypeVar("Made")


@dataclass(frozen=True, repr=False)
class Description(Shown):
    """The human side of a data set."""

    details: "dataset.Description"
    """All that was computed."""

    def records(self) -> list[dict[str, Any]]:
        """One row: the figures of ``casewise describe --format json``, names joined by dots."""
        from casewise.dataset import as_record

        (record,) = plain_rows([as_record(self.details)])
        return [dict(_flat(record))]

    def to_markdown(self) -> str:
        """The tables of ``casewise describe --format markdown``."""
        from casewise.reporting import description_sheet

        return description_sheet(self.details).markdown()


@dataclass(frozen=True, repr=False)
class Audit(Shown):
    """Findings on a set of cases; no text of theirs is shown."""

    details: "dataset.Audit"
    """All that was computed."""

    def records(self) -> list[dict[str, Any]]:
        """A row for each finding, worst first."""
        from casewise.dataset import audit_record

        return plain_rows(audit_record(self.details, reveal=False)["findings"])

    def to_markdown(self) -> str:
        """The page of ``casewise cases audit --format markdown``."""
        from casewise.reporting import audit_sheet

        return audit_sheet(self.details, reveal=False).markdown()


@dataclass(frozen=True, repr=False)
class Power(Shown):
    """Size that a study needs, or power that it has."""

    details: "dataset.Plan"
    """Inputs, the defaults filled in, and the answers."""

    @property
    def answers(self) -> "tuple[Answer, ...]":
        """Answers, each with its quantity and value."""
        return self.details.answers

    def records(self) -> list[dict[str, Any]]:
        """A row for each answer; what was given is in columns that begin with ``given_``."""
        from casewise.dataset import as_plan_record

        (found,) = plain_rows([as_plan_record(self.details)])
        given = {f"given_{name}": value for name, value in found["inputs"].items()}
        return [answer | given for answer in found["answers"]]

    def to_markdown(self) -> str:
        """The table of ``casewise power --format markdown``."""
        from casewise.reporting import plan_sheet

        return plan_sheet(self.details).markdown()


def case_set(cases: Cases) -> CaseSet:
    """Load cases by name or path; cases that are loaded stay as they are.

    Raises:
        InputError: The file can't be used.
        AssetError: CASE-Bench was not fetched yet.
    """
    if isinstance(cases, CaseSet):
        return cases
    if isinstance(cases, str | os.PathLike):
        loaded = open_cases(os.fspath(cases))
        warn(loaded.notes)
        return loaded
    return CaseSet(tuple(cases), "cases", Form.JSONL)


LOOK_UP_S = 0.2
"""Seconds that Ctrl-C may go unnoticed while a thread is waited for."""


def beside_loop(work: Callable[[], Made], stop: Callable[[], object] = lambda: None) -> Made:
    """Do what needs an event loop of its own: in a thread, where one is running already.

    Args:
        work: What to do; the caller waits for it.
        stop: Called if the wait is interrupted; the work is waited for all the same.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, thread_name_prefix="casewise") as thread:
        done = thread.submit(work)
        try:
            # Looking up now and then: a library's handler of Ctrl-C, such as Polars' own, may let a
            # wait without end go on.
            while not done.done():
                wait([done], LOOK_UP_S)
        except BaseException:
            stop()
            raise
        return done.result()


def choose(kind: type[Choice], value: str, name: str) -> Choice:
    """A member of an enumeration by its text.

    Raises:
        UsageError: There is none.
    """
    try:
        return kind(value)
    except ValueError:
        raise UsageError(f"{name}={value!r}: {choose_from(value, kind)}") from None


def warn(notes: Iterable[str]) -> None:
    """Warn of what a command would note beside its result."""
    for line in dict.fromkeys(notes):
        warnings.warn(line, stacklevel=4)


def _flat(record: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value
