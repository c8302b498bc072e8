"""The front door: its results, each a table that shows itself, and what its functions take."""

import asyncio
import json
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar, overload

from casewise.cases import Case, CaseSet, Form, open_cases
from casewise.errors import UsageError, choose_from
from casewise.sheets import markdown_to_html, to_json

if TYPE_CHECKING:
    import polars as pl

    from casewise import dataset
    from casewise.dataset import Answer
    from casewise.gate import GateReport, GateVerdict
    from casewise.scores import Comparison, Score, ScoreReport

PathText = str | os.PathLike[str]
"""A path, or an address such as ``s3://bucket/folder``."""

Cases = PathText | Sequence[Case]
"""``starter``, ``casebench``, a file of cases, or cases."""

Choice = TypeVar("Choice", bound=StrEnum)
Made = TypeVar("Made")


class Result(ABC):
    """A result that shows itself: as a data frame, as Markdown, and in a notebook."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """The rows as JSON values; what is undefined is None."""

    @abstractmethod
    def to_markdown(self) -> str:
        """The result as Markdown, as the command prints it with ``--format markdown``."""

    def to_polars(self) -> "pl.DataFrame":
        """The rows as a data frame, with a column for each name that any of them has.

        An interval is a list of its two ends; what has named parts is JSON.
        """
        import polars as pl

        rows = [{name: _cell(value) for name, value in row.items()} for row in self.records()]
        names = dict.fromkeys(name for row in rows for name in row)
        # A first row that lacks a column must not decide which there are.
        whole = [{name: row.get(name) for name in names} for row in rows]
        return pl.DataFrame(whole, infer_schema_length=None, strict=False)

    def __repr__(self) -> str:
        return self.to_markdown().rstrip()

    def _repr_html_(self) -> str:
        return markdown_to_html(self.to_markdown())


@dataclass(frozen=True, repr=False)
class Scores(Result, Sequence["Score"]):
    """A score for each model under each condition (and group); baselines apart."""

    details: "ScoreReport"
    """The rows, with what else is known of their conditions, and the baselines."""

    @property
    def baselines(self) -> "tuple[Score, ...]":
        """Baselines that need no model, on the same cases."""
        return self.details.baselines

    def __len__(self) -> int:
        return len(self.details.rows)

    @overload
    def __getitem__(self, place: int) -> "Score": ...
    @overload
    def __getitem__(self, place: slice) -> "list[Score]": ...
    def __getitem__(self, place: int | slice) -> "Score | list[Score]":
        return [row.score for row in self.details.rows][place]

    def records(self) -> list[dict[str, Any]]:
        """The rows of ``casewise score --format json``, the baselines last."""
        from casewise.scores import as_report_records

        return _rows(as_report_records(self.details))

    def to_markdown(self) -> str:
        """The tables of ``casewise score --format markdown``."""
        from casewise.reporting import to_markdown

        return to_markdown([self.details])


@dataclass(frozen=True, repr=False)
class Comparisons(Result, Sequence["Comparison"]):
    """Every two runs that were subtracted: after minus before."""

    details: "tuple[Comparison, ...]"
    """One for each two runs."""

    def __len__(self) -> int:
        return len(self.details)

    @overload
    def __getitem__(self, place: int) -> "Comparison": ...
    @overload
    def __getitem__(self, place: slice) -> "tuple[Comparison, ...]": ...
    def __getitem__(self, place: int | slice) -> "Comparison | tuple[Comparison, ...]":
        return self.details[place]

    def records(self) -> list[dict[str, Any]]:
        """``pairs`` of ``casewise compare --format json``: a row for each two runs and measure."""
        from casewise.scores import comparison_records

        return _rows(comparison_records(self.details)["pairs"])

    def to_markdown(self) -> str:
        """The tables of ``casewise compare --format markdown``."""
        from casewise.reporting import comparison_sheet

        return comparison_sheet(self.details).markdown()


@dataclass(frozen=True, repr=False)
class Description(Result):
    """The human side of a data set."""

    details: "dataset.Description"
    """All that was computed."""

    def records(self) -> list[dict[str, Any]]:
        """One row: the figures of ``casewise describe --format json``, names joined by dots."""
        from casewise.dataset import as_description_record

        return [dict(_flat(one)) for one in _rows([as_description_record(self.details)])]

    def to_markdown(self) -> str:
        """The tables of ``casewise describe --format markdown``."""
        from casewise.reporting import description_sheet

        return description_sheet(self.details).markdown()


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """Findings on a set of cases; no text of theirs is shown."""

    details: "dataset.Audit"
    """All that was computed."""

    def records(self) -> list[dict[str, Any]]:
        """A row for each finding, worst first."""
        from casewise.dataset import as_audit_record

        return _rows(as_audit_record(self.details)["findings"])

    def to_markdown(self) -> str:
        """The page of ``casewise cases audit --format markdown``."""
        from casewise.reporting import audit_sheet

        return audit_sheet(self.details, reveal=False).markdown()


@dataclass(frozen=True, repr=False)
class Power(Result):
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

        (found,) = _rows([as_plan_record(self.details)])
        given = {f"given_{name}": value for name, value in found["inputs"].items()}
        return [answer | given for answer in found["answers"]]

    def to_markdown(self) -> str:
        """The table of ``casewise power --format markdown``."""
        from casewise.reporting import plan_sheet

        return plan_sheet(self.details).markdown()


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """A run held to rules."""

    details: "GateReport"
    """Every rule's verdict, and what is missing."""

    @property
    def verdict(self) -> "GateVerdict":
        """``pass``, ``fail`` or ``undecided``."""
        return self.details.verdict

    @property
    def passed(self) -> bool:
        """Tell whether it passes; neither a failure nor too few cases to tell does."""
        return str(self.verdict) == "pass"

    def records(self) -> list[dict[str, Any]]:
        """A row for each rule and condition: ``rules`` of ``casewise gate --json``."""
        from casewise.gate import as_gate_record

        return _rows(as_gate_record(self.details)["rules"])

    def to_markdown(self) -> str:
        """The table that ``casewise gate --markdown`` writes."""
        from casewise.reporting import gate_markdown

        return gate_markdown(self.details)


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


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value


def _rows(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records as they would be read back from the JSON that a command prints."""
    rows: list[dict[str, Any]] = json.loads(to_json(records))
    return rows


def _flat(record: Mapping[str, Any], place: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in record.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value
