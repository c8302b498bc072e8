"""What the checks of a data set read, and what they find.

A description finds problems and warnings in words; an audit has codes that stay.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from casewise.cases import Case, Context, find_twins
from casewise.contexts import context_text, words_of


class FindingLevel(StrEnum):
    """How much a finding matters."""

    PROBLEM = "problem"
    """Figures computed from the data are wrong unless it is mended or allowed for."""
    WARNING = "warning"
    """Figures can mislead."""
    NOTE = "note"
    """Worth knowing."""


def plural(n: int, noun: str) -> str:
    """A count with its noun: ``1 case``, ``2 cases``, ``2 queries``."""
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("ry") else f"{n} {noun}s"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    level: FindingLevel
    check: str
    """The name of the check, such as ``published rate``."""
    text: str
    """What was found, and what to do about it. Names ids, and quotes no query."""
    cases: tuple[str, ...] = ()
    """Ids of the cases it is about; empty where it is about all of them."""


class Severity(StrEnum):
    """How much a finding matters."""

    ERROR = "error"
    """Some cases are wrong as they stand: mend or drop them."""
    WARNING = "warning"
    """Scores on this set can mislead."""
    NOTE = "note"
    """Worth knowing."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a code stands for."""

    severity: Severity
    unit: str
    """What is counted, in the plural; of a measured check, what the figure is."""
    measured: bool = False
    """Whether a threshold is held against a figure; else it is against the count."""


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
    "single-value-parameter": Check(_W, "parameters"),
    "unused-parameter": Check(_N, "parameters"),
    "never-differs": Check(_N, "parameters"),
    "always-differs": Check(_N, "parameters"),
    "missing-intended": Check(_N, "cases"),
    "missing-votes": Check(_N, "cases"),
    "missing-category": Check(_N, "cases"),
    "missing-source": Check(_N, "cases"),
    "missing-licence": Check(_N, "cases"),
    "missing-language": Check(_N, "cases"),
}
"""Every code, the worst first. Codes stay; new ones may come."""


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One thing that was found."""

    code: str
    """A key of ``CHECKS``."""
    text: str
    """What was found, and what to do about it. Quotes no query and no context."""
    n: int
    """How many, in the unit of the check; of a measured check, the cases that it rests on."""
    of: int | None = None
    """Out of how many, in the same unit; None where that means nothing."""
    cases: tuple[str, ...] = ()
    """Ids of the cases it is about; empty where it is about the whole set."""
    value: float = math.nan
    """The figure of a measured check."""
    interval: tuple[float, float] = (math.nan, math.nan)
    """Its 95 % interval."""
    shown: tuple[str, ...] = ()
    """Pieces of texts that a person may ask to see; personal data stays masked."""

    @property
    def severity(self) -> Severity:
        """That of its code."""
        return CHECKS[self.code].severity


def counted(
    code: str,
    text: str,
    cases: tuple[str, ...] | list[str],
    of: int | None,
    *,
    n: int | None = None,
    shown: tuple[str, ...] | list[str] = (),
) -> list[AuditFinding]:
    """A finding about some cases, or none where there are none; ``n`` defaults to their number."""
    number = len(cases) if n is None else n
    if not number:
        return []
    return [AuditFinding(code, text, number, of, tuple(cases), shown=tuple(shown))]


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
    """Of each context, the plain text of each parameter, by ``group.parameter``."""
    words: tuple[tuple[str, ...], ...]
    """Of each context."""
    queries: dict[str, str]
    """The query of each query id."""
    pairs: tuple[tuple[int, int], ...]
    """Places of the case intended safe and of its twin, one pair a query."""

    def ids(self, places: Sequence[int]) -> tuple[str, ...]:
        """The ids of cases by their places."""
        return tuple(self.cases[place].id for place in places)

    @property
    def with_context(self) -> int:
        """How many cases have a context."""
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
    found = {}
    for group, inner in (context.root if context is not None else {}).items():
        if isinstance(inner, dict):
            for name, value in inner.items():
                found[f"{group}.{name}"] = context_text(Context({group: {name: value}}))
        else:
            found[group] = context_text(Context({group: inner}))
    return found
