"""Material of the checks of a data set, and the one kind of finding that they make."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from casewise.cases import Case, Context, find_twins
from casewise.contexts import context_text, words_of
from casewise.errors import some
from casewise.sheets import json_interval, json_number


def plural(n: int, noun: str) -> str:
    """A count with its noun: ``1 case``, ``2 cases``, ``2 queries``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("ry") else f"{n} {noun}s"


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
    """Meaning of a code."""

    severity: Severity
    unit: str
    """Things counted, in the plural; of a measured check, name of the figure."""
    measured: bool = False
    """True if a threshold is held against a figure; else it is against the count."""


_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

CHECKS: dict[str, Check] = {
    "identical-twins": Check(_E, "cases"),
    "empty-context": Check(_E, "cases"),
    "placeholder": Check(_E, "cases"),
    "context-both-sides": Check(_W, "texts"),
    "misplaced-context": Check(_W, "cases"),
    "shortcut-leakage": Check(_W, "accuracy", measured=True),
    "query-leakage": Check(_W, "accuracy", measured=True),
    "length-leakage": Check(_W, "accuracy", measured=True),
    "parameter-leakage": Check(_W, "accuracy of the most telling parameter", measured=True),
    "verdict-words": Check(_W, "cases"),
    "pleading": Check(_W, "cases"),
    "one-sided-value": Check(_W, "values"),
    "shared-context": Check(_W, "texts"),
    "near-copy-context": Check(_W, "pairs of texts"),
    "near-copy-query": Check(_W, "pairs of queries"),
    "missing-twin": Check(_W, "cases"),
    "repeated-side": Check(_W, "cases"),
    "repeated-context": Check(_W, "cases"),
    "label-imbalance": Check(_W, "share of the larger side", measured=True),
    "category-imbalance": Check(_W, "largest category over smallest, in cases", measured=True),
    "one-sided-category": Check(_W, "categories"),
    "length-difference": Check(_W, "Cohen's d of pairs, without its sign", measured=True),
    "readability-difference": Check(_W, "Cohen's d of pairs, without its sign", measured=True),
    "mixed-languages": Check(_W, "queries"),
    "language-mismatch": Check(_W, "cases"),
    "personal-data": Check(_W, "cases"),
    "cut-off-text": Check(_W, "cases"),
    "empty-value": Check(_W, "cases"),
    "missing-parameter": Check(_W, "cases"),
    "tied-votes": Check(_W, "cases"),
    "constant-ratings": Check(_W, "cases"),
    "missing-label": Check(_W, "cases"),
    "single-value-parameter": Check(_W, "parameters"),
    "unused-parameter": Check(_N, "parameters"),
    "never-differs": Check(_N, "parameters"),
    "always-differs": Check(_N, "parameters"),
    "missing-intended": Check(_N, "cases"),
    "single-context": Check(_N, "queries"),
    "missing-none-arm": Check(_N, "queries"),
    "missing-votes": Check(_N, "cases"),
    "missing-category": Check(_N, "cases"),
    "missing-source": Check(_N, "cases"),
    "missing-licence": Check(_N, "cases"),
    "missing-language": Check(_N, "cases"),
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
    """Count, in the unit of the check; of a measured check, the cases that it rests on."""
    of: int | None = None
    """Out of how many, in the same unit; None where that means nothing."""
    value: float = math.nan
    """The figure of a measured check."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """Its 95 % interval."""
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
        """The text with its first few cases, unless it is about all of so many."""
        if len(self.cases) in (0, total):
            return self.text
        return f"{self.text} [{some(self.cases, SHOWN)}]"

    def description_record(self) -> dict[str, Any]:
        """The finding in the JSON of a description."""
        return {
            "level": self.level,
            "check": self.name,
            "text": self.text,
            "cases": list(self.cases),
        }

    def audit_record(self, *, reveal: bool) -> dict[str, Any]:
        """The finding in the JSON of an audit; ``reveal`` gives pieces of texts."""
        record = {
            "code": self.code,
            "severity": str(self.severity),
            "unit": CHECKS[self.code].unit,
            "n": self.n,
            "of": self.of,
            "value": json_number(self.value),
            "value_ci": json_interval(self.interval),
            "text": self.text,
            "cases": list(self.cases),
        }
        return record | ({"shown": list(self.shown)} if reveal else {})


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


USUAL_PARAMETERS = (
    "sender.platform_type",
    "sender.nature_of_the_interaction",
    "recipient.type",
    "recipient.background",
    "transmission_principle.urgency",
    "transmission_principle.sender_purpose",
    "transmission_principle.confidentiality",
    "transmission_principle.source_accountability",
)
"""The parameters of the paper's contexts."""


@dataclass(frozen=True, slots=True)
class Material:
    """A set of cases and their texts, by place."""

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
        return tuple(self.cases[place].id for place in places)

    @property
    def with_context(self) -> int:
        """Number of cases that have a context."""
        return sum(case.context is not None for case in self.cases)


def to_material(cases: Sequence[Case]) -> Material:
    """Take the texts out of the cases."""
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
    """The text of each parameter, nested ones with what stands in them."""
    texts = {}
    for group, inner in (context.root if context is not None else {}).items():
        if isinstance(inner, dict):
            for name, value in inner.items():
                texts[f"{group}.{name}"] = context_text(Context({group: {name: value}}))
        else:
            texts[group] = context_text(Context({group: inner}))
    return texts
