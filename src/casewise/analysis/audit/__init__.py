"""What is wrong with a set of cases, before anybody judges them."""

from casewise.analysis.audit._audit import Audit, audit_cases
from casewise.analysis.audit._demands import AuditDemand, Failed, parse_demands, undefined, unmet
from casewise.analysis.audit._finding import CHECKS, AuditFinding, Check, Severity

__all__ = [
    "Audit",
    "AuditDemand",
    "AuditFinding",
    "CHECKS",
    "Check",
    "Failed",
    "Severity",
    "audit_cases",
    "parse_demands",
    "undefined",
    "unmet",
]
