"""Annotation: studies of people's votes, and cases revised.

The doors here, of ``study`` and of ``votes`` show what the documentation does. All else is imported
by its module's name, as much of it needs libraries that few commands load.
"""

from casewise.annotation.revision.desk import Desk
from casewise.annotation.revision.revised_file import accepted_cases, read_history

__all__ = ["Desk", "accepted_cases", "read_history"]
