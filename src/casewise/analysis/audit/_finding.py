"""What an audit finds: codes that stay, and how much each matters."""

import math
from dataclasses import dataclass
from enum import StrEnum


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
