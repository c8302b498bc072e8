"""Findings: what a check of a data set gives, the table of checks, and what they look at."""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, TypeVar

from casewise.cases import Case, find_twins
from casewise.contexts import Words, context_text, facts, number_words
from casewise.dataset.leakage import Leakage, leakage
from casewise.dataset.people import People, to_people
from casewise.sheets import json_interval, json_number
from casewise.statistics import Estimate

Key = TypeVar("Key", bound=Hashable)


class Level(StrEnum):
    """Weight of a finding."""

    ERROR = "error"
    """Cases, or figures computed from them, are wrong as they stand: mend or drop the cases, or
    allow for it."""
    WARNING = "warning"
    """Figures can mislead."""
    NOTE = "note"
    """Worth knowing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one check of a data set."""

    code: str = ""
    """Key of ``CHECKS``."""
    level: Level = Level.NOTE
    unit: str = ""
    """Things counted, in the plural; of a measured check, name of the figure."""
    n: int
    """Number of things; of a measured check, cases that the figure rests on."""
    of: int | None = None
    """Number of all such things; None where that means nothing."""
    figure: float
    """The number, or what was measured; NaN: unknown."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of a measured figure."""
    text: str
    """Finding, and advice on it; quotes no query and no context. Empty: nothing to tell."""
    cases: tuple[str, ...] = ()
    """Ids of the cases that it is about; empty where it is about the whole set."""
    shown: tuple[str, ...] = ()
    """Pieces of texts that a person may ask to see; personal data stays masked."""

    @property
    def is_reported(self) -> bool:
        """Whether it is worth telling."""
        return bool(self.n and self.text)


@dataclass(frozen=True)
class AuditInput:
    """Cases and what is taken out of them for checks, each in the order of the file."""

    cases: tuple[Case, ...]
    """Seed of folds."""

    @cached_property
    def people(self) -> People:
        """Votes as columns."""
        return to_people(self.cases)

    @cached_property
    def with_context(self) -> tuple[Case, ...]:
        """Cases with a context."""
        return tuple(case for case in self.cases if case.context is not None)

    @cached_property
    def with_side(self) -> tuple[Case, ...]:
        """Cases with a context that is intended safe or unsafe."""
        return tuple(case for case in self.with_context if case.intended is not None)

    @cached_property
    def queries(self) -> dict[str, str]:
        """The query of each query id."""
        return {case.query_id: case.query for case in self.cases}

    @cached_property
    def contexts(self) -> dict[str, str]:
        """Plain text of each context, by case."""
        return {case.id: context_text(case.context) for case in self.with_context}

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """Case ids of each context text that is not blank."""
        texts = defaultdict(list)
        for id, text in self.contexts.items():
            if text.strip():
                texts[text].append(id)
        return texts

    @cached_property
    def words(self) -> Words:
        """Words of ``texts``."""
        return number_words(self.texts)

    @cached_property
    def parameters(self) -> dict[str, dict[str, str]]:
        """Plain text of each parameter, by case and ``group.parameter``; a nested one is one."""
        by_case = {}
        for case in self.with_context:
            lines = defaultdict[str, list[str]](list)
            for fact in facts(case.context):
                lines[".".join((fact.group, *fact.path[:1]))].append(fact.text)
            by_case[case.id] = {name: "\n".join(texts) for name, texts in lines.items()}
        return by_case

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The case intended safe and its twin, by id, one pair a query."""
        twins = find_twins(self.cases)
        pairs: dict[str, tuple[str, str]] = {}
        for case in self.with_side:
            if case.intended == "safe" and case.id in twins:
                pairs.setdefault(case.query_id, (case.id, twins[case.id].id))
        return tuple(pairs.values())

    @cached_property
    def leakage(self) -> Leakage:
        """Accuracy of guessing the intended side from the surface."""
        return leakage(self.with_side, self.contexts, self.parameters)


@dataclass(frozen=True, slots=True)
class Check:
    """One check of the table."""

    level: Level
    unit: str
    measured: bool
    """True of a check whose unit names a figure; others count."""
    people: bool
    """True of a check of votes, which a description shows."""
    find: Callable[[AuditInput], Finding]


CHECKS: dict[str, Check] = {}
"""Checks by code. Codes stay; new ones may come."""


def check(
    code: str, level: Level, unit: str = "cases", *, measured: bool = False, people: bool = False
) -> Callable[[Callable[[AuditInput], Finding]], Callable[[AuditInput], Finding]]:
    """Put a function into the table of checks."""

    def add(find: Callable[[AuditInput], Finding]) -> Callable[[AuditInput], Finding]:
        CHECKS[code] = Check(level, unit, measured, people, find)
        return find

    return add


def counted(
    cases: Iterable[Case],
    of: int | None,
    text: str,
    *,
    n: int | None = None,
    shown: Iterable[str] = (),
) -> Finding:
    """Result of a check that counts cases, or ``n`` other things in them."""
    ids = tuple(case.id for case in cases)
    n = len(ids) if n is None else n
    return Finding(n=n, of=of, figure=float(n), text=text, cases=ids, shown=tuple(shown))


def grouped(cases: Iterable[Case], key: Callable[[Case], Key]) -> dict[Key, list[Case]]:
    """Cases by a key, in their order."""
    groups = defaultdict(list)
    for case in cases:
        groups[key(case)].append(case)
    return groups


def as_record(value: Any) -> Any:
    """JSON values of a result: its fields by name.

    An estimate stands under its name, its interval under the name with ``_ci``, and the reason why
    there is none under the name with ``_reason``. What is undefined is None.
    """
    if is_dataclass(value):
        record: dict[str, Any] = {}
        for name in (field.name for field in fields(value)):
            inner = getattr(value, name)
            if isinstance(inner, Estimate):
                record |= {name: json_number(inner.value), f"{name}_ci": as_record(inner.interval)}
                record |= {f"{name}_reason": inner.reason} if inner.reason else {}
            else:
                record[name] = as_record(inner)
        return record
    if isinstance(value, Mapping):
        return {str(name): as_record(inner) for name, inner in value.items()}
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], float):
        return json_interval(value)
    if isinstance(value, list | tuple):
        return list(map(as_record, value))
    return json_number(value) if isinstance(value, float) else value
