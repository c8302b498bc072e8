"""Quality of a set of cases and its votes: describe, audit, and power.

``describe_cases`` is about people's votes, ``audit_cases`` about all that can be wrong with a set,
and ``plan_power`` about how large a study must be.
"""

from casewise.choices import PowerInputs, PowerTest
from casewise.dataset.audit import (
    Audit,
    audit_cases,
    audit_record,
    check_pairs,
    parse_demands,
    unmet_demands,
)
from casewise.dataset.description import (
    ContextEffect,
    Description,
    describe_cases,
    vote_figures,
)
from casewise.dataset.findings import CHECKS, Finding, Level, as_record
from casewise.dataset.leakage import Guess
from casewise.dataset.people import People, to_people
from casewise.dataset.power import Answer, Plan, Quantity, as_plan_record, plan_power

__all__ = [
    "Answer",
    "Audit",
    "CHECKS",
    "ContextEffect",
    "Description",
    "Finding",
    "Guess",
    "Level",
    "People",
    "Plan",
    "PowerInputs",
    "PowerTest",
    "Quantity",
    "as_plan_record",
    "as_record",
    "audit_cases",
    "audit_record",
    "check_pairs",
    "describe_cases",
    "parse_demands",
    "plan_power",
    "to_people",
    "unmet_demands",
    "vote_figures",
]
