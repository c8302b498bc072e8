"""Revising cases: the journal, the rules of editions, and the desk. No web framework."""

from casewise.annotation.revision._desk import RECORD_OUTSIDE, Desk, progress
from casewise.annotation.revision._edition import EDITABLE, RevisedField, changes_between, is_voted
from casewise.annotation.revision._file import (
    Accepted,
    Revision,
    accepted_cases,
    read_history,
    revision_of,
)
from casewise.annotation.revision._journal import (
    SNAPSHOTS,
    Action,
    Entry,
    OutsideError,
    RevisionError,
    StaleError,
    UnfitError,
    UnknownPairError,
    UnwrittenError,
    VotedError,
    journal_path,
    read_journal,
)
from casewise.annotation.revision._state import Pair, PairStatus, replay
from casewise.annotation.revision._tree import Node, ValueKind, from_tree, to_tree

__all__ = [
    "Accepted",
    "Action",
    "Desk",
    "EDITABLE",
    "Entry",
    "Node",
    "OutsideError",
    "Pair",
    "PairStatus",
    "RECORD_OUTSIDE",
    "RevisedField",
    "Revision",
    "RevisionError",
    "SNAPSHOTS",
    "StaleError",
    "UnfitError",
    "UnknownPairError",
    "UnwrittenError",
    "ValueKind",
    "VotedError",
    "accepted_cases",
    "changes_between",
    "from_tree",
    "is_voted",
    "journal_path",
    "progress",
    "read_history",
    "read_journal",
    "replay",
    "revision_of",
    "to_tree",
]
