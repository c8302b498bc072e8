"""Data that ship: the starter cases, deployment cards and their scripts."""
