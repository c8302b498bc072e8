"""Rehearse a study with simulated people before paying for it."""

from casewise.annotation.rehearsal._clock import fast_clock
from casewise.annotation.rehearsal._log import Given, Outcome, VisitLog
from casewise.annotation.rehearsal._pages import known_pages
from casewise.annotation.rehearsal._people import (
    Manner,
    Mixture,
    SimulatedPerson,
    draw_rates,
    make_person,
    marginal_rate,
)
from casewise.annotation.rehearsal._rehearse import send_people
from casewise.annotation.rehearsal._result import (
    Flagged,
    Integrity,
    Recovery,
    Rehearsal,
    check_integrity,
    recover,
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
    "SimulatedPerson",
    "VisitLog",
    "check_integrity",
    "draw_rates",
    "fast_clock",
    "known_pages",
    "make_person",
    "marginal_rate",
    "recover",
    "send_people",
]
