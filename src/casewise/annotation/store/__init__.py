"""A study's database: every transaction is one function of ``Store``.

It imports the libraries of the extra ``annotate``, so import it where it is used.
"""

from casewise.annotation.store._backup import Backup, back_up
from casewise.annotation.store._database import Clock, StoreUnavailableError, steady_clock, utc_now
from casewise.annotation.store._records import Person, Places, Progress, Step, Taken, Visitor
from casewise.annotation.store._secrets import (
    ADMIN_VARIABLE,
    SECRET_VARIABLE,
    Secrets,
    load_secrets,
)
from casewise.annotation.store._store import Store

__all__ = [
    "ADMIN_VARIABLE",
    "Backup",
    "Clock",
    "Person",
    "Places",
    "Progress",
    "SECRET_VARIABLE",
    "Secrets",
    "Step",
    "Store",
    "StoreUnavailableError",
    "Taken",
    "Visitor",
    "back_up",
    "load_secrets",
    "steady_clock",
    "utc_now",
]
