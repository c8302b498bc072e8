"""Parts that casewise needs, as this machine has them, and advice on those it lacks."""

from casewise.machine._facts import MachineFact, State, Topic, examine, is_ready

__all__ = ["MachineFact", "Topic", "State", "examine", "is_ready"]
