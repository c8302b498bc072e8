"""Cases revised pair by pair, by one person, on a page of this computer."""

from casewise_study.revision.desk import Desk
from casewise_study.revision.revised_file import accepted_cases, read_history

__all__ = ["Desk", "accepted_cases", "read_history"]
