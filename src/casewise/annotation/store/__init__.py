"""A study's database: every transaction is one function of ``Store``.

It imports the libraries of the extra ``annotate``, so import it where it is used.
"""

from casewise.annotation.store._backup import Backup, back_up
from casewise.annotation.store._database import Clock, StoreUnavailableError, steady_clock, utc_now
from casewise.annotation.store._records import AnswerStep, Person, Progress, Taken, Vacancy, Visitor
from casewise.annotation.store._secrets import (
    ADMIN_VARIABLE,
    SECRET_VARIABLE,
    Secrets,
    load_secrets,
)
from casewise.annotation.store._store import Store

__all__ = [
    "ADMIN_VARIABLE",
    "AnswerStep",
    "Backup",
    "Clock",
    "Person",
    "Progress",
    "SECRET_VARIABLE",
    "Secrets",
    "Store",
    "StoreUnavailableError",
    "Taken",
    "Vacancy",
    "Visitor",
    "back_up",
    "load_secrets",
    "steady_clock",
    "utc_now",
]
