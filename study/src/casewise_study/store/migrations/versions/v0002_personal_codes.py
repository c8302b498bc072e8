"""Personal codes: each person's own, kept as a keyed hash."""

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0002", "v0001"
upgrade = add_missing
