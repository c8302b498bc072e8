"""Quality of a set of cases and its votes: describe, audit, and power.

``describe_cases`` is about people's votes, ``audit_cases`` about texts, pairs and leaks, and
``plan_power`` about how large a study must be.
"""

from casewise.choices import PowerInputs, PowerTest, WeighBy
from casewise.dataset._audit_cases import (
    Audit,
    audit_cases,
    parse_demands,
    undefined_demands,
    unmet_demands,
)
from casewise.dataset._context_effect import ContextEffect
from casewise.dataset._dataset_records import as_audit_record, as_description_record
from casewise.dataset._description import Description, describe_cases
from casewise.dataset._findings import CHECKS, Finding, Severity
from casewise.dataset._leakage import Guess
from casewise.dataset._power import Answer, Plan, Quantity, as_plan_record, plan_power
from casewise.dataset._text_checks import Languages

__all__ = [
    "Answer",
    "Audit",
    "CHECKS",
    "ContextEffect",
    "Description",
    "Finding",
    "Guess",
    "Languages",
    "Plan",
    "PowerInputs",
    "PowerTest",
    "Quantity",
    "Severity",
    "WeighBy",
    "as_audit_record",
    "as_description_record",
    "as_plan_record",
    "audit_cases",
    "describe_cases",
    "parse_demands",
    "plan_power",
    "undefined_demands",
    "unmet_demands",
]
