"""Votes of people: screened, summarised, and given back to the cases."""

from casewise_study.votes.collected_csv import read_collected
from casewise_study.votes.export import voted_cases
from casewise_study.votes.results import summarise

__all__ = ["read_collected", "summarise", "voted_cases"]
