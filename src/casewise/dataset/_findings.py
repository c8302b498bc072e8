"""Material of the checks of a data set, and the one kind of finding that they make."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from casewise.cases import Case, Context, find_twins
from casewise.contexts import context_text, words_of
from casewise.errors import some
from casewise.sheets import json_fields, json_interval, plural


def ids_of(cases: Iterable[Case]) -> tuple[str, ...]:
    """Ids of cases."""
    return tuple(case.id for case in cases)


def grouped(cases: Iterable[Case], key: Callable[[Case], str]) -> dict[str, list[Case]]:
    """Cases by a key, in their order."""
    groups = defaultdict(list)
    for case in cases:
        groups[key(case)].append(case)
    return groups


class Severity(StrEnum):
    """Weight of a finding."""

    ERROR = "error"
    """Cases, or figures computed from them, are wrong as they stand: mend or drop the cases, or
    allow for it. A description calls it a problem."""
    WARNING = "warning"
    """Figures can mislead."""
    NOTE = "note"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class Check:
    """Severity and unit of a check's finding."""

    severity: Severity
    unit: str
    """Things counted, in the plural; of a measured check, name of the figure."""
    measured: bool
    """True where a limit is held against a figure; else against the count."""


_UNITS = {
    Severity.ERROR: {
        "identical-twins": "cases",
        "empty-context": "cases",
        "placeholder": "cases",
    },
    Severity.WARNING: {
        "context-both-sides": "texts",
        "shortcut-leakage": "accuracy",
        "query-leakage": "accuracy",
        "length-leakage": "accuracy",
        "parameter-leakage": "accuracy of the most telling parameter",
        "verdict-words": "cases",
        "one-sided-value": "values",
        "shared-context": "texts",
        "near-copy-context": "pairs of texts",
        "near-copy-query": "pairs of queries",
        "missing-twin": "cases",
        "repeated-side": "cases",
        "repeated-context": "cases",
        "label-imbalance": "share of the larger side",
        "one-sided-category": "categories",
        "length-difference": "Cohen's d of pairs, without its sign",
        "mixed-languages": "queries",
        "language-mismatch": "cases",
        "personal-data": "cases",
        "empty-value": "cases",
        "missing-parameter": "cases",
        "tied-votes": "cases",
        "missing-label": "cases",
    },
    Severity.NOTE: {
        "unused-parameter": "parameters",
        "missing-intended": "cases",
        "single-context": "queries",
        "missing-none-arm": "queries",
        "missing-votes": "cases",
        "missing-category": "cases",
        "missing-source": "cases",
        "missing-licence": "cases",
        "missing-language": "cases",
    },
}

_MEASURED = {
    "shortcut-leakage",
    "query-leakage",
    "length-leakage",
    "parameter-leakage",
    "label-imbalance",
    "length-difference",
}

CHECKS = {
    code: Check(severity, unit, code in _MEASURED)
    for severity, units in _UNITS.items()
    for code, unit in units.items()
}
"""Every code, the worst first. Codes stay; new ones may come."""


NAMES = {
    "published-rate": "published rate",
    "author-vote": "author's vote",
    "tied-votes": "ties",
    "raters-like-intention": "raters",
    "unlike-columns": "columns",
    "context-both-sides": "contexts",
    "shared-context": "contexts",
    "identical-twins": "pairs",
    "missing-twin": "pairs",
    "repeated-side": "pairs",
    "near-copy-query": "queries",
}
"""Names of a description's checks, by code; those that an audit makes too are in ``CHECKS``."""

SHOWN = 3
"""Case ids of a finding that people are shown; JSON lists all."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check of a data set found."""

    code: str
    """A key of ``CHECKS``, or of ``NAMES``."""
    severity: Severity
    text: str
    """Finding, and advice on it. Quotes no query and no context."""
    cases: tuple[str, ...] = ()
    """Ids of the cases it is about; empty where it is about the whole set."""
    n: int = 0
    """Count in the unit of the check; of a measured check, cases that the figure rests on."""
    of: int | None = None
    """Count of all, in the same unit; None where that means nothing."""
    value: float = math.nan
    """The figure of a measured check."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """95 % interval of the figure."""
    shown: tuple[str, ...] = ()
    """Pieces of texts that a person may ask to see; personal data stays masked."""

    @property
    def name(self) -> str:
        """Name of the check in a description."""
        return NAMES[self.code]

    @property
    def level(self) -> str:
        """The severity in a description's words."""
        return "problem" if self.severity is Severity.ERROR else str(self.severity)

    def sentence(self, total: int) -> str:
        """The text with its first few cases, unless it is about all ``total`` cases."""
        if len(self.cases) in (0, total):
            return self.text
        return f"{self.text} [{some(self.cases, SHOWN)}]"

    def description_record(self) -> dict[str, Any]:
        """The finding in the JSON of a description."""
        return {
            "level": self.level,
            "check": self.name,
            **json_fields(self, "text", "cases"),
        }

    def audit_record(self, *, reveal: bool) -> dict[str, Any]:
        """The finding in the JSON of an audit; ``reveal`` gives pieces of texts."""
        return {
            **json_fields(self, "code", "severity"),
            "unit": CHECKS[self.code].unit,
            **json_fields(self, "n", "of", "value"),
            "value_ci": json_interval(self.interval),
            **json_fields(self, "text", "cases", *(["shown"] if reveal else [])),
        }


def counted(
    code: str,
    text: str,
    cases: Sequence[str],
    of: int | None,
    *,
    n: int | None = None,
    shown: Sequence[str] = (),
) -> list[Finding]:
    """A finding about some cases, or none where there are none; ``n`` defaults to their number."""
    number = len(cases) if n is None else n
    if not number:
        return []
    severity = CHECKS[code].severity
    return [Finding(code, severity, text, tuple(cases), number, of, shown=tuple(shown))]


def counted_cases(
    code: str,
    cases: Sequence[str],
    of: int | None,
    what: str,
    *,
    noun: str = "case",
    shown: Sequence[str] = (),
) -> list[Finding]:
    """As ``counted``, of a text that begins with the number: ``3 cases without a source``."""
    return counted(code, f"{plural(len(cases), noun)} {what}", cases, of, shown=shown)


def measured(
    code: str,
    text: str,
    value: float,
    n: int,
    of: int | None,
    *,
    cases: Sequence[str] = (),
    interval: tuple[float, float] = (math.nan, math.nan),
) -> Finding:
    """A finding of a measured check."""
    return Finding(code, CHECKS[code].severity, text, tuple(cases), n, of, value, interval)


@dataclass(frozen=True, slots=True)
class Material:
    """Cases and their texts, each in the order of the file."""

    cases: tuple[Case, ...]
    contexts: tuple[str, ...]
    """Plain texts of the contexts; empty without one."""
    parameters: tuple[dict[str, str], ...]
    """Plain text of each parameter of each context, by ``group.parameter``."""
    words: tuple[tuple[str, ...], ...]
    """Words of each context."""
    queries: dict[str, str]
    """The query of each query id."""
    pairs: tuple[tuple[int, int], ...]
    """Places of the case intended safe and of its twin, one pair a query."""

    def ids(self, places: Sequence[int]) -> tuple[str, ...]:
        """The ids of cases by their places."""
        return ids_of(self.cases[place] for place in places)

    @property
    def with_context(self) -> int:
        """Number of cases that have a context."""
        return sum(case.context is not None for case in self.cases)


def to_material(cases: Sequence[Case]) -> Material:
    """Take the texts out of the cases, once for all checks."""
    twins = find_twins(cases)
    places = {case.id: place for place, case in enumerate(cases)}
    pairs: dict[str, tuple[int, int]] = {}
    for place, case in enumerate(cases):
        if case.intended == "safe" and case.id in twins:
            pairs.setdefault(case.query_id, (place, places[twins[case.id].id]))
    contexts = tuple(context_text(case.context) for case in cases)
    return Material(
        tuple(cases),
        contexts,
        tuple(_parameters(case.context) for case in cases),
        tuple(tuple(words_of(text)) for text in contexts),
        {case.query_id: case.query for case in cases},
        tuple(pairs.values()),
    )


def _parameters(context: Context | None) -> dict[str, str]:
    """Text of each parameter, by ``group.parameter``; a nested one is one text."""
    texts = {}
    for group, inner in (context.root if context is not None else {}).items():
        if isinstance(inner, dict):
            for name, value in inner.items():
                texts[f"{group}.{name}"] = context_text(Context({group: {name: value}}))
        else:
            texts[group] = context_text(Context({group: inner}))
    return texts
