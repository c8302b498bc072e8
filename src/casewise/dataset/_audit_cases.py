"""Audit a set of cases: every check, the findings worst first, and which of them fail a build."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from casewise.cases import CaseSet
from casewise.dataset._findings import CHECKS, Finding, Severity, to_material
from casewise.dataset._leakage import Leakage, leakage
from casewise.dataset._pair_checks import (
    Copies,
    TwinDifference,
    copies,
    provenance,
    structure,
    twins,
)
from casewise.dataset._parameters import Coverage, coverage
from casewise.dataset._text_checks import Languages, PersonalData, languages, personal_data, texts
from casewise.errors import UsageError, install_hint

LANGUAGE_CHECKS = ("mixed-languages", "language-mismatch")
"""Checks that need the extra ``audit``."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Findings in a set of cases. Texts are in ``Finding.shown`` alone."""

    name: str
    hash: str
    cases: int
    queries: int
    pairs: int
    """Queries with a context of each intended side."""
    categories: int
    copies: Copies
    leakage: Leakage
    twins: TwinDifference
    """Lengths of twins in words."""
    languages: Languages | None
    """None without the extra ``audit``."""
    coverage: Coverage
    personal: tuple[PersonalData, ...]
    measures: dict[str, float]
    """The figure of each measured check, whether it was worth a finding or not; NaN: undefined."""
    findings: tuple[Finding, ...]
    """The worst first, in the order of ``CHECKS``."""

    def figure(self, code: str) -> float:
        """Figure, or count of findings, that a limit is held against; NaN: not looked for."""
        if CHECKS[code].measured:
            return self.measures[code]
        if self.languages is None and code in LANGUAGE_CHECKS:
            return math.nan
        return float(sum(finding.n for finding in self.findings if finding.code == code))


def audit_cases(loaded: CaseSet, *, seed: int = 0) -> Audit:
    """Audit a set of cases.

    Args:
        loaded: The cases.
        seed: Of the folds.
    """
    material = to_material(loaded.cases)
    larger_side, structural = structure(material)
    copied, copy_findings = copies(material)
    leaked, leak_findings = leakage(material, seed)
    twinned, twin_findings = twins(material)
    spoken, language_findings = languages(material)
    covered, parameter_findings = coverage(material)
    personal, personal_findings = personal_data(material)
    findings = [
        *structural,
        *copy_findings,
        *leak_findings,
        *twin_findings,
        *language_findings,
        *parameter_findings,
        *personal_findings,
        *texts(material),
        *provenance(material),
    ]
    codes = list(CHECKS)
    return Audit(
        name=loaded.name,
        hash=loaded.hash,
        cases=len(material.cases),
        queries=len(material.queries),
        pairs=len(material.pairs),
        categories=len({case.category for case in material.cases} - {None}),
        copies=copied,
        leakage=leaked,
        twins=twinned,
        languages=spoken,
        coverage=covered,
        personal=personal,
        measures={"label-imbalance": larger_side} | _measures(leaked, twinned),
        findings=tuple(sorted(findings, key=lambda finding: codes.index(finding.code))),
    )


def _measures(leaked: Leakage, twinned: TwinDifference) -> dict[str, float]:
    alone = [one.guess.accuracy.value for one in leaked.parameters]
    return {
        "shortcut-leakage": leaked.context.accuracy.value,
        "query-leakage": leaked.query.accuracy.value,
        "length-leakage": leaked.lengths.accuracy.value,
        "parameter-leakage": max((one for one in alone if not math.isnan(one)), default=math.nan),
        "length-difference": abs(twinned.effect),
    }


_DEMAND = re.compile(r"([a-z-]+)\s*(?:(>=|>)\s*(\d*\.?\d+))?")


@dataclass(frozen=True, slots=True)
class AuditDemand:
    """A check or a severity that fails the audit, with its limit where it has one."""

    text: str
    """As written."""
    name: str
    """A code, or a severity."""
    exceeds: Callable[[float], bool] | None = None
    """Test of a figure against the limit; None: any finding of the name fails."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A demand that was not met."""

    text: str
    found: str
    """Figure that was found, or the codes of the findings."""


def parse_demands(text: str) -> tuple[AuditDemand, ...]:
    """Read ``error``, ``personal-data,placeholder`` or ``shortcut-leakage>.9,tied-votes>=10``.

    ``warning`` stands for errors too. A limit is held against the figure of a measured check, and
    against the count of any other.

    Raises:
        UsageError: A name is unknown, or the form is another.
    """
    return tuple(_parse(part.strip()) for part in text.split(","))


def unmet_demands(audit: Audit, demands: tuple[AuditDemand, ...]) -> tuple[Failed, ...]:
    """The demands that an audit fails on.

    Raises:
        UsageError: A demand is about languages, which only the extra ``audit`` tells apart.
    """
    failed = []
    for demand in demands:
        if audit.languages is None and demand.name in LANGUAGE_CHECKS:
            raise UsageError(f"--fail-on {demand.text} needs an extra: {install_hint('audit')}")
        if demand.exceeds is None:
            found = ", ".join(one.code for one in audit.findings if demand.name in _names(one.code))
        else:
            value = audit.figure(demand.name)
            found = f"{value:.4g}" if demand.exceeds(value) else ""
        if found:
            failed.append(Failed(demand.text, found))
    return tuple(failed)


def undefined_demands(audit: Audit, demands: tuple[AuditDemand, ...]) -> tuple[str, ...]:
    """Demands on a figure that this set does not have; they can't fail."""
    return tuple(
        demand.text
        for demand in demands
        if demand.exceeds is not None and math.isnan(audit.figure(demand.name))
    )


def _parse(part: str) -> AuditDemand:
    match = _DEMAND.fullmatch(part)
    if match is None:
        raise UsageError(
            f"--fail-on has {part!r}: write error, warning, a code, or a code with a limit "
            "(shortcut-leakage>.9)"
        )
    name, sign, limit = match.groups()
    is_severity = name in (Severity.ERROR, Severity.WARNING) and sign is None
    if name not in CHECKS and not is_severity:
        raise UsageError(f"--fail-on: there is no check {name!r}; there are {', '.join(CHECKS)}")
    if sign is None:
        return AuditDemand(part, name)
    compare, bound = operator.ge if sign == ">=" else operator.gt, float(limit)
    return AuditDemand(part, name, lambda value: compare(value, bound))


def _names(code: str) -> tuple[str, ...]:
    """Names of a finding: its code, its severity, and for an error, warning too."""
    severity = CHECKS[code].severity
    return (code, severity, *((Severity.WARNING,) if severity is Severity.ERROR else ()))
