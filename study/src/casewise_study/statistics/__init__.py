"""Measures on arrays of votes: pure functions, frozen results, no knowledge of studies."""
