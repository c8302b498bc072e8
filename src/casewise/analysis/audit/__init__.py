"""What is wrong with a set of cases, before anybody judges them."""

from casewise.analysis.audit._audit import Audit, audit_cases
from casewise.analysis.audit._classifier import Guess, TellingWord
from casewise.analysis.audit._demands import (
    AuditDemand,
    Failed,
    parse_demands,
    undefined_demands,
    unmet_demands,
)
from casewise.analysis.audit._finding import CHECKS, AuditFinding, Check, Severity
from casewise.analysis.audit._personal import find_personal
from casewise.analysis.audit._record import as_audit_record
from casewise.analysis.audit._twins import TwinDifference, lix

__all__ = [
    "Audit",
    "AuditDemand",
    "AuditFinding",
    "CHECKS",
    "Check",
    "Failed",
    "Guess",
    "Severity",
    "TellingWord",
    "TwinDifference",
    "as_audit_record",
    "audit_cases",
    "find_personal",
    "lix",
    "parse_demands",
    "undefined_demands",
    "unmet_demands",
]
