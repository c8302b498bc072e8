"""Audit a set of cases: every check, the findings worst first."""

import math
from dataclasses import dataclass

from casewise.analysis.audit._copies import Copies, copies
from casewise.analysis.audit._finding import CHECKS, AuditFinding
from casewise.analysis.audit._languages import Languages, languages
from casewise.analysis.audit._leakage import Leakage, leakage
from casewise.analysis.audit._material import to_material
from casewise.analysis.audit._parameters import Coverage, coverage
from casewise.analysis.audit._personal import PersonalData, personal_data
from casewise.analysis.audit._provenance import provenance
from casewise.analysis.audit._structure import structure
from casewise.analysis.audit._texts import texts
from casewise.analysis.audit._twins import Twins, twins
from casewise.cases import CaseSet


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found in a set of cases. Texts are in ``AuditFinding.shown`` alone."""

    name: str
    hash: str
    cases: int
    queries: int
    pairs: int
    """Queries with a context of either side."""
    categories: int
    copies: Copies
    leakage: Leakage
    twins: Twins
    languages: Languages
    coverage: Coverage
    personal: tuple[PersonalData, ...]
    measures: dict[str, float]
    """The figure of each measured check, whether it was worth a finding or not; NaN: undefined."""
    findings: tuple[AuditFinding, ...]
    """The worst first, in the order of ``CHECKS``."""

    def figure(self, code: str) -> float:
        """What a limit on a check is held against: its figure, or its count."""
        if CHECKS[code].measured:
            return self.measures[code]
        return float(sum(one.n for one in self.findings if one.code == code))


def audit_cases(loaded: CaseSet, *, seed: int = 0) -> Audit:
    """Audit a set of cases.

    Args:
        loaded: The cases.
        seed: Of the folds and of the hashing.
    """
    material = to_material(loaded.cases)
    balance, found = structure(material)
    copied, copy_findings = copies(material, seed)
    leaked, leak_findings = leakage(material, seed)
    twinned, twin_findings = twins(material)
    spoken, language_findings = languages(material)
    covered, parameter_findings = coverage(material)
    personal, personal_findings = personal_data(material)
    findings = [
        *found,
        *copy_findings,
        *leak_findings,
        *twin_findings,
        *language_findings,
        *parameter_findings,
        *personal_findings,
        *texts(material),
        *provenance(material),
    ]
    order = {code: place for place, code in enumerate(CHECKS)}
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
        measures=balance | _measures(leaked, twinned),
        findings=tuple(sorted(findings, key=lambda one: order[one.code])),
    )


def _measures(leaked: Leakage, twinned: Twins) -> dict[str, float]:
    alone = [one.guess.accuracy.value for one in leaked.parameters]
    return {
        "shortcut-leakage": leaked.context.accuracy.value,
        "query-leakage": leaked.query.accuracy.value,
        "length-leakage": leaked.lengths.accuracy.value,
        "parameter-leakage": max((one for one in alone if not math.isnan(one)), default=math.nan),
        "length-difference": abs(twinned.words.effect),
        "readability-difference": abs(twinned.lix.effect),
    }
