"""Exclusions: whom whoever runs the study excluded, and why."""

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0004", "v0003"
upgrade = add_missing
