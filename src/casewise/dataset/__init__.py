"""Quality of a set of cases and its votes.

``describe_cases`` is about people's votes, ``audit_cases`` about all that can be wrong with a set.
"""

from casewise.dataset.audit import (
    Audit,
    audit_cases,
    audit_record,
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
from casewise.dataset.leakage import LEAST_SIDE
from casewise.dataset.people import People, to_people
