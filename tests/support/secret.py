"""The key of every run in the tests: planted, and searched for in all that they leave."""

KEY = "sk-planted-5c1e7b9d30f64a28b7e2"
"""Stands in no file that a test writes."""
