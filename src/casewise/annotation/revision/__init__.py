"""Revising cases: the journal, the rules of editions, and the desk. No web framework."""
