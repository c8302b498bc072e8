"""Rehearse a study with simulated people before paying for it."""

from casewise.annotation.rehearsal._pages import known_pages
from casewise.annotation.rehearsal._people import (
    Manner,
    Mixture,
    SimulatedPerson,
    TakenAnswer,
    VisitLog,
    VisitOutcome,
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
    "Integrity",
    "Manner",
    "Mishaps",
    "Mixture",
    "Recovery",
    "Rehearsal",
    "Scene",
    "Served",
    "SimulatedPerson",
    "TakenAnswer",
    "VisitLog",
    "VisitOutcome",
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
