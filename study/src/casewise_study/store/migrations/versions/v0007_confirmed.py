"""People whom the platform's export confirms."""

from casewise_study.store.migrations import add_missing

revision, down_revision = "v0007", "v0006"
upgrade = add_missing
