"""What a build is to fail on: severities, codes, and codes with a limit."""

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from casewise.analysis.audit._audit import Audit
from casewise.analysis.audit._finding import CHECKS, Severity
from casewise.errors import UsageError

_OPERATORS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, ">": operator.gt}
_DEMAND = re.compile(r"([a-z-]+)\s*(?:(>=|>)\s*(\d*\.?\d+))?")


@dataclass(frozen=True, slots=True)
class AuditDemand:
    """One thing to fail on."""

    text: str
    """As written."""
    name: str
    """A code, or a severity."""
    exceeds: Callable[[float], bool] | None = None
    """Whether a figure is over the limit; None fails on any finding of the name."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A demand that was not met."""

    text: str
    found: str
    """What was found instead."""


def parse_demands(text: str) -> tuple[AuditDemand, ...]:
    """Read ``error``, ``personal-data,placeholder`` or ``shortcut-leakage>.9,tied-votes>=10``.

    ``warning`` stands for errors too. A limit is held against the figure of a measured check, and
    against the count of any other.

    Raises:
        UsageError: A name is unknown, or the form is another.
    """
    return tuple(_parse(part.strip()) for part in text.split(","))


def unmet_demands(audit: Audit, demands: tuple[AuditDemand, ...]) -> tuple[Failed, ...]:
    """The demands that an audit fails on."""
    failed = []
    for one in demands:
        if one.exceeds is not None:
            value = audit.figure(one.name)
            if one.exceeds(value):
                failed.append(Failed(one.text, f"{value:.4g}"))
            continue
        codes = [found.code for found in audit.findings if one.name in _names(found.code)]
        if codes:
            failed.append(Failed(one.text, ", ".join(codes)))
    return tuple(failed)


def undefined_demands(audit: Audit, demands: tuple[AuditDemand, ...]) -> tuple[str, ...]:
    """Demands on a figure that this set does not have, and that can't fail therefore."""
    return tuple(
        one.text
        for one in demands
        if one.exceeds is not None and math.isnan(audit.figure(one.name))
    )


def _parse(part: str) -> AuditDemand:
    match = _DEMAND.fullmatch(part)
    if match is None:
        raise UsageError(
            f"--fail-on has {part!r}: write error, warning, a code, or a code with a limit "
            "(shortcut-leakage>.9)"
        )
    name, sign, limit = match.groups()
    if name in (Severity.ERROR, Severity.WARNING) and sign is None:
        return AuditDemand(part, name)
    if name not in CHECKS:
        raise UsageError(f"--fail-on: there is no check {name!r}; there are {', '.join(CHECKS)}")
    if sign is None:
        return AuditDemand(part, name)
    compare, bound = _OPERATORS[sign], float(limit)
    return AuditDemand(part, name, lambda value: compare(value, bound))


def _names(code: str) -> tuple[str, ...]:
    """What stands for a finding: its code, its severity, and for an error, warning too."""
    severity = CHECKS[code].severity
    return (code, severity, *((Severity.WARNING,) if severity is Severity.ERROR else ()))
