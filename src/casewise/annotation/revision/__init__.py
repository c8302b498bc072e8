"""Revising cases: the journal, the rules of editions, and the desk. No web framework."""

from casewise.annotation.revision._desk import RECORD_OUTSIDE, Desk, progress
from casewise.annotation.revision._edition import EDITABLE, Change, changes_between, is_voted
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
from casewise.annotation.revision._state import Pair, Status, replay
from casewise.annotation.revision._tree import Kind, Node, from_tree, to_tree

__all__ = [
    "Accepted",
    "Action",
    "Change",
    "Desk",
    "EDITABLE",
    "Entry",
    "Kind",
    "Node",
    "OutsideError",
    "Pair",
    "RECORD_OUTSIDE",
    "Revision",
    "RevisionError",
    "SNAPSHOTS",
    "StaleError",
    "Status",
    "UnfitError",
    "UnknownPairError",
    "UnwrittenError",
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
