"""Rehearse a study with simulated people before paying for it."""
