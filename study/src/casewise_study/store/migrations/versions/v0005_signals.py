"""Signals of a page: whether its hidden text was followed, how often it was left and copied."""

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0005", "v0004"
upgrade = add_missing
