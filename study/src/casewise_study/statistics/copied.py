"""People whose answers are those of a language model."""

import numpy as np

from casewise.statistics import FloatArray
from casewise_study.statistics.unread import Answers

COPIES = 0.05
"""Share of people who copy a model, before their votes are looked at."""

ODD = 0.05
"""Share of a copier's answers that aren't the model's: asked again, it answers otherwise."""


def copied(answers: Answers, own: FloatArray, models: FloatArray) -> FloatArray:
    """Weigh, for each person, answers copied from a model against answers by reading.

    Who copies says what one of the models says, but for ``ODD``; who reads says each with the
    chance ``own``. Cases that a model hasn't judged say nothing of it.

    Args:
        answers: Votes.
        own: Chance that each vote is safe if its person reads, as of ``unread``. Shape
            ``(votes,)``, in 0..1.
        models: Verdicts of models: 1 safe, 0 unsafe, NaN none. Shape ``(models, cells)``.

    Returns:
        Probability of having copied each model, in 0..1, as are the sums over models. Shape
        ``(raters, models)``.
    """
    verdicts = models[:, answers.cell]
    reads = np.where(answers.safe > 0, own, 1 - own)
    copies = np.where(verdicts == answers.safe, 1 - ODD, ODD)
    ratio = answers.sums(np.log(np.where(np.isnan(verdicts), 1, copies / reads)).T)
    odds = np.log(COPIES / (1 - COPIES) / len(models)) + ratio
    whole = np.logaddexp(0, np.logaddexp.reduce(odds, axis=1, keepdims=True))
    return np.asarray(np.exp(odds - whole))
