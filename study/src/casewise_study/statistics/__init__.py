"""Measures on arrays of votes: pure functions, frozen results, no knowledge of studies."""

from casewise_study.statistics.stopping import Boundary, FirstVotes, first_agreement, first_votes

__all__ = ["Boundary", "FirstVotes", "first_agreement", "first_votes"]
