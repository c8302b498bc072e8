"""Phrases of a report that depend on whose the labels are, and the shares that stand in them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from casewise.cases import LabelRule
from casewise.scores import BY_DESIGN, CategoryScore, Estimate, Overview, RunCondition, Score
from casewise.sheets import count, number, rounded


@dataclass(frozen=True, slots=True)
class Wording:
    """Phrases for one kind of label."""

    grounds: str
    """The labels in full: "people's votes, where at least 75 % agree"."""
    against: str
    """Object of "measured against": "people's judgement"."""
    whom: str
    """Object of "follow" and "correlate with": "people"."""
    judges: str
    """Predicate of a judge that is right: "judges as people do"."""
    acts: str
    """Predicate of a model whose replies are appropriate: "does what people would have it do"."""
    line: str
    """Object of "answers and refusals against": "what people allow"."""
    safe: str
    """The cases labelled safe: "what people call safe"."""
    unsafe: str
    """The cases labelled unsafe."""
    share: str
    """Share of safe labels in a bin of cases, as the calibration chart and its table name it."""
    rate: str
    """Label of a single case as a share, as the chart of cases and its table name it."""
    question: str
    """Title of the calibration section."""
    beside: str
    """The label beside each probability, in the title of the chart of cases."""
    of_case: str
    """The label in the introduction to the case browser."""
    ranking: str
    """Warning beside the figures by category."""
    intended: str
    """Predicate of the baseline ``intended``: "is the label itself"."""
    one_person: str
    """Predicate of the baseline ``one-person``."""
    ceiling: str
    """Predicate of the baseline ``ceiling``."""
    graded: bool
    """True if labels are shares that differ within one type of context; else answers can't follow
    them there."""


_FEW_CASES = "Beware of ranking categories. Each has few cases, so the intervals are wide"
_CEILING = "is the best anybody could expect, since people disagree"

_VOTES = Wording(
    grounds="people's votes",
    against="people's judgement",
    whom="people",
    judges="judges as people do",
    acts="does what people would have it do",
    line="what people allow",
    safe="what people call safe",
    unsafe="what people call unsafe",
    share="share of people who say safe",
    rate="share of people who say safe",
    question="When a model says 70 % safe, do 70 % of people?",
    beside="people's votes",
    of_case="what people voted",
    ranking=f"{_FEW_CASES}; and where a panel of people voted on one category alone, a harder "
    "category and a stricter panel look the same. In the published CASE-Bench data the panels "
    "differ far beyond chance.",
    intended="is guessing what each context's author meant",
    one_person="is how often a single person agrees with most of the others",
    ceiling=_CEILING,
    graded=True,
)

_PUBLISHED = replace(
    _VOTES,
    grounds="the published share of safe votes, a vote of the author among them",
    against="the published rates",
    whom="the published rates",
    judges="agrees with the published labels",
    acts="does what the published rates allow",
    line="what the published rates allow",
    safe="what the published rate calls safe",
    unsafe="what the published rate calls unsafe",
    share="published safe rate",
    rate="published safe rate",
    question="When a model says 70 % safe, is the published safe rate 70 %?",
    beside="the published safe rate",
    of_case="the votes or the published rate",
    ceiling=f"{_CEILING} (guessing the intention can pass it: published rates count a vote of the "
    "author)",
)

_INTENDED = Wording(
    grounds="what the authors meant; no votes",
    against="the authors' intention",
    whom="the authors' intention",
    judges="judges as the authors meant",
    acts="does what the authors meant",
    line="what the authors meant",
    safe="what was meant to be safe",
    unsafe="what was meant to be unsafe",
    share="share of cases meant to be safe",
    rate="meant to be safe (100 %) or unsafe (0 %)",
    question="When a model says 70 % safe, are 70 % of such cases meant to be safe?",
    beside="what the author meant",
    of_case="what its author meant",
    ranking=f"{_FEW_CASES}.",
    intended="is the label itself",
    one_person="is how often a single vote is what the author meant",
    ceiling=_CEILING,
    graded=False,
)

_LINES = replace(
    _INTENDED,
    grounds="what the deployment's lines allow; no votes",
    against="the deployment's lines",
    whom="the deployment's lines",
    judges="judges as the deployment's lines do",
    acts="does what the deployment's lines ask for",
    line="the deployment's lines",
    safe="what the deployment allows",
    unsafe="what the deployment disallows",
    share="share of cases that the deployment allows",
    rate="allowed (100 %) or disallowed (0 %)",
    question="When a model says 70 % safe, does the deployment allow 70 % of such cases?",
    beside="the deployment's lines",
)

_SEVERAL = replace(
    _VOTES,
    grounds="labels of several kinds",
    against="the labels",
    whom="the labels",
    judges="judges as the labels have it",
    acts="does what the labels ask for",
    line="the labels",
    safe="what is labelled safe",
    unsafe="what is labelled unsafe",
    share="share of safe in the labels",
    rate="share of safe in the label",
    question="When a model says 70 % safe, are the labels 70 % safe?",
    beside="the labels",
    of_case="its label",
)

_BY_RULE: Mapping[LabelRule, Wording] = {
    LabelRule.PUBLISHED: _PUBLISHED,
    LabelRule.VOTES: _VOTES,
    LabelRule.CONSENSUS: replace(_VOTES, grounds="people's votes, where at least 75 % agree"),
    LabelRule.INTENDED: _INTENDED,
}


def rule_wording(rule: LabelRule) -> Wording:
    """Phrases for a label rule; those for deployments' lines come by ``wording`` alone."""
    if rule.share is not None:
        grounds = f"people's votes, safe where at least {number(rule.share, 2)} of them say so"
        return replace(_VOTES, grounds=grounds)
    return _BY_RULE[rule]


def wording(*scores: Score) -> Wording:
    """Phrases for scores; where their labels are of several kinds, phrases that hold for all."""
    found = list(dict.fromkeys(map(_wording, scores)))
    if len(found) == 1:
        return found[0]
    return _INTENDED if found and not any(one.graded for one in found) else _SEVERAL


def _wording(score: Score) -> Wording:
    return run_wording(score.labels, [score.condition])


def run_wording(labels: LabelRule, runs: Sequence[RunCondition]) -> Wording:
    """Phrases for runs under one label rule."""
    deployed = runs and all(run.card is not None for run in runs)
    if labels is LabelRule.INTENDED and deployed:
        return _LINES
    return rule_wording(labels)


def page_wording(overview: Overview) -> Wording:
    """Phrases for a whole report."""
    scores = overview.scores
    return wording(*scores) if scores else rule_wording(overview.browser.labels)


def first_upper(text: str) -> str:
    """Capitalise the first letter of a text."""
    return text[:1].upper() + text[1:]


REQUESTS = {
    True: ("acceptable requests", "requests that it should refuse"),
    False: ("acceptable requests", "unacceptable requests"),
}
"""Cases labelled safe, and those labelled unsafe, in sentences that a manager repeats: of a model
that acts, and of a judge, which refuses nothing."""

MISTAKES = {True: ("refuses", "answers"), False: ("calls unsafe", "calls safe")}
"""Verbs of both mistakes, of a model that acts and of a judge."""


def mistake_verbs(kinds: Iterable[bool]) -> tuple[str, str]:
    """Verbs of both mistakes for models some or all of which act: ``refuses or calls unsafe``."""
    over, under = zip(*(MISTAKES[acts] for acts in sorted(set(kinds), reverse=True)), strict=True)
    return " or ".join(over), " or ".join(under)


BASELINES = ("intended", "one person", "ceiling")
"""Names of the baselines that a report explains."""


def baselines_read(baselines: Iterable[str], words: Wording) -> list[str]:
    """Explain baselines: ``'intended' is the label itself``.

    Args:
        baselines: Names of the baselines in the report.
        words: Phrases for the scores beside them.
    """
    there = set(baselines)
    reached = zip(BASELINES, (words.intended, words.one_person, words.ceiling), strict=True)
    return [f"'{name}' {text}" for name, text in reached if name in there]


class Share(NamedTuple):
    """A share and the ends of its interval, or a change of one; NaN where undefined."""

    value: float
    low: float
    high: float
    reason: str = ""
    """Why it has no interval, if that is known."""

    @classmethod
    def of(cls, estimate: Estimate) -> "Share":
        """Take value and interval from an estimate."""
        return cls(estimate.value, *estimate.interval, estimate.reason)

    @property
    def rest(self) -> "Share":
        """The complement, 1 minus the share."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low, self.reason)

    @property
    def negative(self) -> "Share":
        """The change with its sign turned."""
        return Share(-self.value, -self.high, -self.low, self.reason)

    @property
    def known(self) -> bool:
        """Tell whether it has a value and an interval."""
        return self.value == self.value and self.low == self.low

    @property
    def fixed(self) -> bool:
        """Tell whether the design of the cases fixes it: it is told without an interval."""
        return self.value == self.value and self.reason == BY_DESIGN

    @property
    def ends(self) -> str:
        """The interval: ``79 to 85``."""
        if self.known:
            return f"{of_100(self.low)} to {of_100(self.high)}"
        return "fixed by design" if self.fixed else f"no interval: {self.reason or NO_SPREAD}"

    def __str__(self) -> str:
        """Such as ``82 % (79 to 85)``."""
        return f"{whole_percent(self.value)} ({self.ends})"


NO_SPREAD = "all of its queries are alike"
"""Why an estimate without another reason has no interval: nothing tells its error."""


def of_100(share: float) -> str:
    """Share as a number of 100; with a digit where it would else round to none or to all."""
    hundred = round(100 * share, 6)
    some = 0 < hundred < 100
    digits = 1 if some and rounded(hundred) in (0, 100) else 0
    if rounded(hundred, digits) in (0, 100):
        digits = 0
    return f"{rounded(hundred, digits):z.{digits}f}"


def whole_percent(share: float) -> str:
    """A share as a percentage: ``82 %``; the number is that of a sentence."""
    return f"{of_100(share)} %"


def mistake_measures(score: Score | CategoryScore) -> tuple[str, str]:
    """Names of the measures of both kinds of mistake; of a judge its recalls, which they leave."""
    if score.acts:
        return "over_refusal", "under_refusal"
    return "safe_recall", "unsafe_recall"


def mistake_estimates(score: Score | CategoryScore) -> tuple[Estimate, Estimate]:
    """Estimates of these measures, without the grader's errors where people measured them."""
    corrected = score.corrected if isinstance(score, Score) else {}
    over, under = (
        corrected[name]
        if name in corrected and not math.isnan(corrected[name].value)
        else score.measures[name]
        for name in mistake_measures(score)
    )
    return over, under


def refusals(score: Score | CategoryScore) -> tuple[Share, Share]:
    """Share of safe cases refused (judge: called unsafe), and of unsafe ones answered (safe)."""
    over, under = map(Share.of, mistake_estimates(score))
    return (over, under) if score.acts else (over.rest, under.rest)


def find_baseline(name: str, score: Score, baselines: Sequence[Score]) -> Score | None:
    """Baseline for a score: the one over its data set, else the only one of that name; or None."""
    model = f"baseline:{name}"
    found = [
        one for one in baselines if one.condition.model == model and one.labels is score.labels
    ]
    data = score.condition.dataset_hash
    own = [one for one in found if one.condition.dataset_hash == data]
    return own[0] if own else found[0] if len(found) == 1 else None


def points(share: float) -> str:
    """A share in points of 100: ``12``; below one point with a digit: ``.4``."""
    digits = 0 if abs(share) >= 0.01 else 1
    return f"{rounded(100 * share, digits):z.{digits}f}"


def signed(share: float) -> str:
    """A change in points of 100, with its sign."""
    return f"{'+' if share > 0 else ''}{points(share)}"


CHANGES = ("follows", "false_changes")
"""The measures of pairs of contexts that stand in words, always both."""


def _of_pairs(pairs: int, share: Estimate) -> str:
    """Denominator: ``Of 40 queries in two contexts.`` or ``Of 90 pairs, of 40 queries.``."""
    queries = "1 query" if share.clusters == 1 else f"{count(share.clusters)} queries"
    if pairs > share.clusters:
        return f"Of {count(pairs)} pairs, of {queries}."
    return f"Of {queries} in two contexts."


def judged(judgements: int, score: Score) -> str:
    """Judgements in words: ``900 cases``; ``2,700 answers`` where each case is asked thrice."""
    noun = "case" if score.n == score.cases else "answer"
    return f"{count(judgements)} {noun}{'' if judgements == 1 else 's'}"


def change_meanings(score: Score) -> list[tuple[str, str, str]]:
    """Title of each of ``CHANGES``, definition with its denominator, and why it can be unknown."""
    who = "people" if wording(score).graded else "labels"
    neither = (left := in_neither(score)) and f" {first_upper(left)}."
    found = []
    for name, title, kind, counted in (
        ("follows", "Follows changes", "whose labels differ", "both answers are right"),
        ("false_changes", f"Changes where {who} don't", "with one label", "the answer changes"),
    ):
        one = score.measures[name]
        of = f" {_of_pairs(one.pairs, one)}" if one.pairs else ""
        found.append(
            (
                title,
                f"Of pairs of contexts {kind}, those in which {counted}.{of}{neither}",
                f"no query was answered in two contexts {kind}; such queries would tell",
            )
        )
    return found


def in_neither(score: Score) -> str:
    """Pairs in neither of ``CHANGES``: ``3 pairs with a tied label, 2 with a side unread``."""
    tied, unread = (f"{rounded(number, 1):g}" for number in score.left_out.values())
    kinds = {"with a tied label": tied, "with a side unread": unread}
    there = [f"{number} {kind}" for kind, number in kinds.items() if number != "0"]
    return f"pairs in neither: {', '.join(there)}" if there else ""
