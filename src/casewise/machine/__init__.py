"""What this machine has of all that casewise needs, and what to do about what it lacks."""

from casewise.machine._facts import Fact, Part, State, examine, is_ready

__all__ = ["Fact", "Part", "State", "examine", "is_ready"]
