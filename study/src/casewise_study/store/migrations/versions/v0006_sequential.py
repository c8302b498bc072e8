"""Blocks that are drawn as people come."""

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0006", "v0005"
upgrade = add_missing
