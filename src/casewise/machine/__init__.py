"""What this machine has of all that casewise needs, and what to do about what it lacks."""

from casewise.machine._facts import MachineFact, State, Topic, examine, is_ready

__all__ = ["MachineFact", "Topic", "State", "examine", "is_ready"]
