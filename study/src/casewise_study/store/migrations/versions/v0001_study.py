"""The tables of a study, as they are by now."""

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0001", None
upgrade = add_missing
