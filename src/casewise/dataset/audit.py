"""Audit of a set of cases: every check, the findings worst first, and which fail a build."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from casewise.cases import CaseSet
from casewise.dataset.checks import results
from casewise.dataset.findings import CHECKS, AuditInput, Finding, Level, as_record
from casewise.dataset.leakage import Leakage
from casewise.errors import UsageError, choose_from


@dataclass(frozen=True, slots=True)
class Audit:
    """Findings in a set of cases; its fields are the keys of its JSON."""

    name: str
    dataset_hash: str
    cases: int
    queries: int
    pairs: int
    """Queries with a context of each intended side."""
    categories: int
    findings: tuple[Finding, ...]
    """The worst first. Texts are in ``Finding.shown`` alone."""
    figures: dict[str, float]
    """Figure of every check by its code, worth a finding or not; NaN: undefined."""
    leakage: Leakage


def audit_cases(loaded: CaseSet) -> Audit:
    """Audit a set of cases."""
    data = AuditInput(loaded.cases)
    findings = results(data)
    return Audit(
        name=loaded.name,
        dataset_hash=loaded.hash,
        cases=len(data.cases),
        queries=len(data.queries),
        pairs=len(data.pairs),
        categories=len({case.category for case in data.cases} - {None}),
        findings=tuple(result for result in findings if result.is_reported),
        figures={result.code: result.figure for result in findings},
        leakage=data.leakage,
    )


def audit_record(audit: Audit, *, reveal: bool) -> dict[str, Any]:
    """The audit as JSON values; ``reveal`` gives pieces of texts."""
    record: dict[str, Any] = as_record(audit)
    for finding in () if reveal else record["findings"]:
        del finding["shown"]
    return record


def parse_demands(text: str) -> tuple[str, ...]:
    """Read levels and codes: ``error,personal-data``.

    Raises:
        UsageError: A name is unknown.
    """
    names = tuple(part.strip() for part in text.split(","))
    known = (Level.ERROR, Level.WARNING, *CHECKS)
    for name in names:
        if name not in known:
            raise UsageError(f"--fail-on {name!r}: {choose_from(name, known)}")
    return names


def unmet_demands(audit: Audit, demands: Sequence[str]) -> dict[str, list[str]]:
    """Demands that an audit fails on, and the codes of the findings; an error is a warning too."""
    failed: dict[str, list[str]] = {}
    for finding in audit.findings:
        levels = (finding.code, finding.level, *[Level.WARNING] * (finding.level is Level.ERROR))
        for demand in set(demands).intersection(levels):
            failed.setdefault(demand, []).append(finding.code)
    return failed
