"""The verdict in three sentences that anybody understands, hedged by the intervals."""

from casewise.analysis import Estimate, Leader, Overview, Score
from casewise.cases import LabelRule
from casewise.reporting._scores import condition_text, number

Verdict = tuple[str, list[str]]
"""A heading, and three sentences."""


def verdict_sentences(overview: Overview) -> list[Verdict]:
    """What judging, and what acting came to; a heading and three sentences each."""
    found = [
        ("In action" if leader.score.acts else "As a judge", _sentences(leader, overview))
        for leader in overview.leaders
    ]
    if found:
        return found
    return [
        (
            "No verdict",
            [
                "No answer could be held against a label, so nothing can be said of any model.",
                f"Of {_judgements(overview)} judgements none was read and has a label.",
                "The table below counts what was not read.",
            ],
        )
    ]


def _judgements(overview: Overview) -> int:
    return len(overview.browser.judgements)


def _sentences(leader: Leader, overview: Overview) -> list[str]:
    return [_first(leader), _second(leader.score), _third(leader, overview)]


Share = tuple[float, float, float]
"""A share and the ends of its interval; NaN where undefined."""


def _share(estimate: Estimate) -> Share:
    return (estimate.value, *estimate.interval)


def _rest(estimate: Estimate) -> Share:
    """What a share leaves."""
    low, high = estimate.interval
    return (1 - estimate.value, 1 - high, 1 - low)


def _percent(share: Share) -> str:
    """A share with its interval: ``82 % (79 to 85)``."""
    value, low, high = share
    ends = "no interval: too few queries" if low != low else f"{100 * low:.0f} to {100 * high:.0f}"
    return f"{100 * value:.0f} % ({ends})"


_DOES = {
    (False, True): "judges as people do",
    (False, False): "judges as the contexts' authors meant",
    (True, True): "does what people would have it do",
    (True, False): "does what was meant",
}
"""By whether the model acts, and whether people voted."""

_LEANS = {
    (False, True): "calls unsafe {} of what people find safe, and safe {} of what they don't",
    (False, False): "calls unsafe {} of what is meant safe, and safe {} of what isn't",
    (True, True): "refuses {} of what people call safe and answers {} of what they call unsafe",
    (True, False): "refuses {} of what it should answer and answers {} of what it should refuse",
}


def _voted(score: Score) -> bool:
    return score.labels is not LabelRule.INTENDED


def _first(leader: Leader) -> str:
    """How good the best is, and whether it is ahead."""
    score = leader.score
    name = f"{score.condition['model']} ({condition_text(score)})"
    does = _DOES[score.acts, _voted(score)]
    read = round(score.n * score.coverage)
    sentence = f"{name} {does} in {_percent(_share(score.measures[leader.metric]))} of {read} cases"
    if read < score.n:
        sentence += f" (its answers to {score.n - read} more could not be read)"
    if leader.second is None:
        return sentence + "."
    other = str(leader.second.condition["model"])
    sentence += f", most of {leader.models} models"
    if leader.lead is None:
        return f"{sentence}; {other}, the next, answered other cases and can't be compared."
    low, high = leader.lead.interval
    if low > 0:
        return f"{sentence}; {other}, the next, is {_points(low)} to {_points(high)} points behind."
    return f"{sentence}; that it is ahead of {other}, the next, may be chance."


def _points(share: float) -> str:
    return f"{100 * share:.0f}" if abs(share) >= 0.01 else f"{100 * share:.1f}"


def _second(score: Score) -> str:
    """Which way its mistakes lean."""
    if score.acts:
        over, under = (_share(score.measures[name]) for name in ("over_refusal", "under_refusal"))
    else:
        over, under = (_rest(score.measures[name]) for name in ("safe_recall", "unsafe_recall"))
    if over[0] != over[0] or under[0] != under[0]:
        return "Which way its mistakes lean can't be told: the labels are all of one side."
    said = _LEANS[score.acts, _voted(score)].format(_percent(over), _percent(under))
    return f"It {said}: {_lean(over, under)}."


def _lean(over: Share, under: Share) -> str:
    if over[1] > under[2]:
        return "it refuses too much rather than too little"
    if under[1] > over[2]:
        return "it refuses too little rather than too much"
    return "neither mistake is clearly the more common"


def _third(leader: Leader, overview: Overview) -> str:
    """What the context does."""
    score = leader.score
    if score.acts:
        if not score.pairs:
            return (
                "Whether its replies follow the context can't be told: no query has two contexts."
            )
        adapts = _percent(_share(score.measures["adapts"]))
        return f"It answers in the safe context and refuses in the unsafe one in {adapts} of pairs."
    if not _voted(score):
        return "Nobody voted on these cases, so whether it follows people can't be told."
    intended = next(
        (
            one.measures["accuracy"].value
            for one in overview.report.baselines
            if one.condition["model"] == "baseline:intended"
        ),
        None,
    )
    within = [score.measures[f"within_pcc_{side}"] for side in ("safe", "unsafe")]
    follows = [one for one in within if one.interval[0] > 0]
    known = [one for one in within if one.value == one.value]
    words = {0: "is not shown to follow people", 1: "follows people in one of the two"}
    if not known:
        said = "whether it follows people beyond that can't be told from verdicts alone"
    else:
        figures = " and ".join(number(one.value, 2) for one in known)
        how = words.get(len(follows), "follows people in both")
        said = (
            f"within one type of context its answers correlate {figures} with people, so it {how}"
        )
    if intended is None:
        return f"{said[0].upper()}{said[1:]}."
    return f"Guessing what each context's author meant would reach {100 * intended:.0f} %; {said}."
