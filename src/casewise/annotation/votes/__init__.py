"""Votes of people: screened, summarised, and given back to the cases."""

from casewise.annotation.votes._csv import read_collected, write_collected
from casewise.annotation.votes._records import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)

__all__ = [
    "CheckRecord",
    "Collected",
    "PersonRecord",
    "PersonStatus",
    "VoteRecord",
    "read_collected",
    "write_collected",
]
