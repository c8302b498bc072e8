"""Annotation: cases are revised here. The web apps (``app_*``) are imported by their own names."""

from casewise.annotation.revision import (
    Accepted,
    Desk,
    Pair,
    PairStatus,
    Revision,
    RevisionError,
    accepted_cases,
    journal_path,
    progress,
    read_history,
)

__all__ = [
    "Accepted",
    "Desk",
    "Pair",
    "PairStatus",
    "Revision",
    "RevisionError",
    "accepted_cases",
    "journal_path",
    "progress",
    "read_history",
]
