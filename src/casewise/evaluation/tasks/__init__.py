"""Inspect's tasks, each with its solver and its scorer, and what they share (``_samples``)."""
