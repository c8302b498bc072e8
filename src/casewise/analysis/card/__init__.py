"""What an evaluation card says besides the scores: runs, data, limits, how to repeat it."""

from casewise.analysis.card._facts import EvaluationFacts, evaluation_facts
from casewise.analysis.card._left_out import LeftOut, Reason
from casewise.analysis.card._limits import Limit, LimitKind
from casewise.analysis.card._record import RunRecord
from casewise.analysis.card._runs import DataFacts, RunFacts, Voters

__all__ = [
    "DataFacts",
    "EvaluationFacts",
    "LeftOut",
    "Limit",
    "LimitKind",
    "Reason",
    "RunFacts",
    "RunRecord",
    "Voters",
    "evaluation_facts",
]
