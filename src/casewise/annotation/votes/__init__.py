"""Votes of people: screened, summarised, and given back to the cases."""

from casewise.annotation.votes.collected_csv import read_collected
from casewise.annotation.votes.export import voted_cases
from casewise.annotation.votes.results import summarise

__all__ = ["read_collected", "summarise", "voted_cases"]
