"""Sentences beside a leaderboard: the lead over the next model, and what it follows within a type.

The verdict says both mistakes; these say what a table of many models is read for.
"""

import math
from collections.abc import Sequence

from casewise.results._wording import Wording, find_baseline, first_upper, points, wording
from casewise.scores import LOW_MASS, Estimate, Leader, Overview, Score
from casewise.sheets import number, plural

HARDLY, PARTLY = 1 / 2, 3 / 4
"""Shares of the ceiling: answers whose correlation with the labels, within one type of context, is
above 0 hardly follow them below the first share, and partly below the second. A half of the
correlation is a quarter of the variance that can be explained."""


def leaderboard_lines(overview: Overview, *, acts: bool) -> list[str]:
    """Sentences on the leader of a kind, judging or acting; none without verdicts to go by."""
    return [
        line
        for leader in overview.leaders
        if leader.score.acts is acts and not leader.score.mass < LOW_MASS
        for line in (
            lead_sentence(leader),
            following_sentence(leader.score, overview.report.baselines),
        )
        if line
    ]


def lead_sentence(leader: Leader) -> str:
    """Lead over the next model; empty where there is no other."""
    if leader.second is None:
        return ""
    name, other = leader.score.condition.model, leader.second.condition.model
    aside = f" ({plural(leader.set_aside, 'model')} set aside)" if leader.set_aside else ""
    sentence = f"Of {leader.models} models{aside} {name} is right most often"
    if leader.lead is None:
        return f"{sentence}; {other}, the next, answered other cases and can't be compared."
    low, high = leader.lead.interval
    if math.isnan(low):
        return f"{sentence}; how far {other}, the next, is behind can't be told."
    if low > 0:
        return f"{sentence}; {other}, the next, is {points(low)} to {points(high)} points behind."
    return f"{sentence}; its lead over {other}, the next, may be chance."


def following_sentence(score: Score, baselines: Sequence[Score]) -> str:
    """Correlation of a judge's answers with graded labels within one type of context, in words.

    Empty for labels that don't differ there, and for answers that are verdicts alone.
    """
    words = wording(score)
    if score.acts or not words.graded:
        return ""
    ceiling = find_baseline("ceiling", score, baselines)
    told = []
    for side in ("safe", "unsafe"):
        one = score.measures[f"within_pcc_{side}"]
        most = ceiling.measures[f"within_pcc_{side}"].value if ceiling is not None else math.nan
        if one.value == one.value:
            told.append((side, follows(one, most), _figure(one, most)))
    return f"{first_upper(_within(told, words, score))}." if told else ""


def _within(told: Sequence[tuple[str, str, str]], words: Wording, score: Score) -> str:
    answers = f"the answers of {score.condition.model}"
    if len(told) == 2 and told[0][1] == told[1][1]:
        return (
            f"within contexts meant to be safe, and within those meant to be unsafe, {answers} "
            f"{told[0][1]} {words.whom}: correlation {told[0][2]} and {told[1][2]}"
        )
    return "; ".join(
        f"within contexts meant to be {side} {answers} {how} {words.whom}: correlation {figure}"
        for side, how, figure in told
    )


def follows(correlation: Estimate, ceiling: float) -> str:
    """Verb for a correlation of answers with labels: ``partly follow``.

    Args:
        correlation: Of answers and labels, -1..1.
        ceiling: The largest correlation that the votes allow; 1 stands in where it is not known.
    """
    low, high = correlation.interval
    if high < 0:
        return "go against"
    if not low > 0:
        return "are not shown to follow"
    reached = correlation.value / (ceiling if ceiling > 0 else 1.0)
    if reached < HARDLY:
        return "hardly follow"
    return "partly follow" if reached < PARTLY else "follow"


def _figure(one: Estimate, ceiling: float) -> str:
    low, high = one.interval
    ends = "no interval" if low != low else f"{number(low, 2)} to {number(high, 2)}"
    most = f"; ceiling {number(ceiling, 2)}" if ceiling > 0 else ""
    return f"{number(one.value, 2)} ({ends}{most})"
