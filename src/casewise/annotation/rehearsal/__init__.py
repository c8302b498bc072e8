"""Rehearse a study with simulated people before paying for it."""

from casewise.annotation.rehearsal._pages import known_pages
from casewise.annotation.rehearsal._people import (
    Given,
    Manner,
    Mixture,
    Outcome,
    SimulatedPerson,
    VisitLog,
    make_person,
    marginal_rate,
    true_rates,
)
from casewise.annotation.rehearsal._rehearse import (
    Served,
    fast_clock,
    read_back,
    send_people,
    served,
)
from casewise.annotation.rehearsal._result import (
    Flagged,
    Integrity,
    Recovery,
    Rehearsal,
    check_integrity,
    recover,
    sum_up,
)
from casewise.annotation.rehearsal._visit import Mishaps, Scene

__all__ = [
    "Flagged",
    "Given",
    "Integrity",
    "Manner",
    "Mishaps",
    "Mixture",
    "Outcome",
    "Recovery",
    "Rehearsal",
    "Scene",
    "Served",
    "SimulatedPerson",
    "VisitLog",
    "check_integrity",
    "fast_clock",
    "known_pages",
    "make_person",
    "marginal_rate",
    "read_back",
    "recover",
    "send_people",
    "served",
    "sum_up",
    "true_rates",
]
