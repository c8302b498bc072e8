"""Audit of a set of cases: every check, the findings worst first, and which fail a build."""

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from casewise.cases import Case, CaseSet
from casewise.contexts import words_of
from casewise.dataset.checks import PAIRS, results
from casewise.dataset.findings import CHECKS, Finding, Level, Material, as_record, listed
from casewise.dataset.leakage import Leakage
from casewise.errors import UsageError, install_hint


def check_pairs(cases: Sequence[Case]) -> tuple[Finding, ...]:
    """Check what edits of contexts can break: queries and contexts of each pair."""
    return listed(results(Material(tuple(cases), 0), PAIRS))


@dataclass(frozen=True, slots=True)
class Parameter:
    """Use of one parameter in a set."""

    present: int
    """Contexts that have it."""
    safe: int
    """Contexts with it that are intended safe."""
    unsafe: int
    distinct: int
    """Different values (case, spaces and punctuation don't count)."""
    pairs: int
    """Pairs that have it on both sides."""
    differs: int
    """Pairs in which it differs."""


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
    parameters: dict[str, Parameter]
    """Parameters in order of appearance."""
    languages: dict[str, dict[str, int]] | None
    """Queries and contexts by language; None without the extra ``audit``."""


def audit_cases(loaded: CaseSet, *, seed: int = 0) -> Audit:
    """Audit a set of cases.

    Args:
        loaded: The cases.
        seed: Of the folds.
    """
    data = Material(loaded.cases, seed)
    made = results(data)
    names = dict.fromkeys(name for own in data.parameters.values() for name in own)
    spoken = data.languages
    return Audit(
        name=loaded.name,
        dataset_hash=loaded.hash,
        cases=len(data.cases),
        queries=len(data.queries),
        pairs=len(data.pairs),
        categories=len({case.category for case in data.cases} - {None}),
        findings=listed(made),
        figures={one.code: one.figure for one in made},
        leakage=data.leakage,
        parameters={name: _parameter(data, name) for name in names},
        languages=None
        if spoken is None
        else {
            what: dict(Counter(found.values()).most_common())
            for what, found in (("queries", spoken.queries), ("contexts", spoken.contexts))
        },
    )


def _parameter(data: Material, name: str) -> Parameter:
    words = {id: words_of(own[name]) for id, own in data.parameters.items() if name in own}
    sides = Counter(case.intended for case in data.told if case.id in words)
    both = [(words[one], words[other]) for one, other in data.pairs if {one, other} <= words.keys()]
    return Parameter(
        present=len(words),
        safe=sides["safe"],
        unsafe=sides["unsafe"],
        distinct=len(set(map(tuple, words.values()))),
        pairs=len(both),
        differs=sum(one != other for one, other in both),
    )


def audit_record(audit: Audit, *, reveal: bool) -> dict[str, Any]:
    """The audit as JSON values; ``reveal`` gives pieces of texts."""
    record: dict[str, Any] = as_record(audit)
    for finding in () if reveal else record["findings"]:
        del finding["shown"]
    return record


LANGUAGE_CHECKS = ("mixed-languages", "language-mismatch")
"""Checks that need the extra ``audit``."""

_DEMAND = re.compile(r"([a-z-]+)\s*(?:(>=|>)\s*(\d*\.?\d+))?")


@dataclass(frozen=True, slots=True)
class AuditDemand:
    """A check or a level that fails the audit, with its limit where it has one."""

    text: str
    """As written."""
    name: str
    """A code, or a level."""
    exceeds: Callable[[float], bool] | None = None
    """Test of a figure against the limit; None: any finding of the name fails."""


def parse_demands(text: str) -> tuple[AuditDemand, ...]:
    """Read ``error``, ``personal-data,placeholder`` or ``shortcut-leakage>.9,tied-votes>=10``.

    ``warning`` stands for errors too. A limit is held against the figure of a measured check, and
    against the count of any other.

    Raises:
        UsageError: A name is unknown, or the form is another.
    """
    return tuple(_parse(part.strip()) for part in text.split(","))


def _parse(part: str) -> AuditDemand:
    match = _DEMAND.fullmatch(part)
    if match is None:
        raise UsageError(
            f"--fail-on has {part!r}: write error, warning, a code, or a code with a limit "
            "(shortcut-leakage>.9)"
        )
    name, sign, limit = match.groups()
    is_level = name in (Level.ERROR, Level.WARNING) and sign is None
    if name not in CHECKS and not is_level:
        raise UsageError(f"--fail-on: there is no check {name!r}; there are {', '.join(CHECKS)}")
    if sign is None:
        return AuditDemand(part, name)
    compare, bound = operator.ge if sign == ">=" else operator.gt, float(limit)
    return AuditDemand(part, name, lambda value: compare(value, bound))


def unmet_demands(audit: Audit, demands: tuple[AuditDemand, ...]) -> dict[str, str]:
    """The demands that an audit fails on, as written: the figure, or the codes of the findings.

    Raises:
        UsageError: A demand is about languages, which only the extra ``audit`` tells apart.
    """
    failed = {}
    for demand in demands:
        if audit.languages is None and demand.name in LANGUAGE_CHECKS:
            raise UsageError(f"--fail-on {demand.text} needs an extra: {install_hint('audit')}")
        if demand.exceeds is None:
            levels = {"error": ("error",), "warning": ("error", "warning")}.get(demand.name, ())
            found = [
                one.code for one in audit.findings if one.code == demand.name or one.level in levels
            ]
        else:
            value = audit.figures[demand.name]
            found = [f"{value:.4g}"] * demand.exceeds(value)
        if found:
            failed[demand.text] = ", ".join(found)
    return failed


def undefined_demands(audit: Audit, demands: tuple[AuditDemand, ...]) -> tuple[str, ...]:
    """Demands on a figure that this set does not have; they can't fail."""
    return tuple(
        demand.text
        for demand in demands
        if demand.exceeds is not None and math.isnan(audit.figures[demand.name])
    )
