"""Rehearse a study with simulated people before paying for it."""

from casewise.annotation.rehearsal._log import Given, Outcome, VisitLog
from casewise.annotation.rehearsal._people import (
    Manner,
    Mixture,
    SimulatedPerson,
    draw_rates,
    make_person,
    marginal_rate,
)
from casewise.annotation.rehearsal._result import (
    Flagged,
    Integrity,
    Recovery,
    Rehearsal,
    check_integrity,
    recover,
)

__all__ = [
    "Flagged",
    "Given",
    "Integrity",
    "Manner",
    "Mixture",
    "Outcome",
    "Recovery",
    "Rehearsal",
    "SimulatedPerson",
    "VisitLog",
    "check_integrity",
    "draw_rates",
    "make_person",
    "marginal_rate",
    "recover",
]
