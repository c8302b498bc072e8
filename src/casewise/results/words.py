"""Words and numbers of every sentence: whose labels they are, shares of 100, mistakes, notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from casewise.cases import LabelRule, least_share
from casewise.protocols import LOW_MASS, RunCondition
from casewise.replies import rules_note
from casewise.sheets import count, number, plural, rounded
from casewise.statistics import BY_DESIGN, Estimate

if TYPE_CHECKING:
    from casewise.results.score import Score


@dataclass(frozen=True, slots=True)
class Wording:
    """Phrases for one kind of label."""

    grounds: str
    """The labels in full: "people's votes, where at least 75 % agree"."""
    against: str
    """Object of "measured against": "people's judgement"."""
    whom: str
    """Object of "follow" and "correlate with": "people"."""
    line: str
    """Object of "answers and refusals against": "what people allow"."""
    safe: str
    """The cases labelled safe: "what people call safe"."""
    unsafe: str
    """The cases labelled unsafe."""

    @property
    def of_people(self) -> bool:
        """Tell whether people's votes are behind the labels."""
        return self.whom in ("people", "the published rates")


_VOTES = Wording(
    grounds="people's votes",
    against="people's judgement",
    whom="people",
    line="what people allow",
    safe="what people call safe",
    unsafe="what people call unsafe",
)
_INTENDED = Wording(
    grounds="what the authors meant; no votes",
    against="the authors' intention",
    whom="the authors' intention",
    line="what the authors meant",
    safe="what was meant to be safe",
    unsafe="what was meant to be unsafe",
)
_LINES = Wording(
    grounds="what the deployment's lines allow; no votes",
    against="the deployment's lines",
    whom="the deployment's lines",
    line="the deployment's lines",
    safe="what the deployment allows",
    unsafe="what the deployment disallows",
)
_SEVERAL = Wording(
    grounds="labels of several kinds",
    against="the labels",
    whom="the labels",
    line="the labels",
    safe="what is labelled safe",
    unsafe="what is labelled unsafe",
)
_BY_RULE: Mapping[LabelRule, Wording] = {
    LabelRule.PUBLISHED: Wording(
        grounds="the published share of safe votes, a vote of the author among them",
        against="the published rates",
        whom="the published rates",
        line="what the published rates allow",
        safe="what the published rate calls safe",
        unsafe="what the published rate calls unsafe",
    ),
    LabelRule.VOTES: _VOTES,
    LabelRule.CONSENSUS: replace(_VOTES, grounds="people's votes, where at least 75 % agree"),
    LabelRule.INTENDED: _INTENDED,
}


def rule_wording(rule: LabelRule) -> Wording:
    """Phrases for a label rule; those for deployments' lines come by ``wording`` alone."""
    if (share := least_share(rule)) is not None:
        grounds = f"people's votes, safe where at least {number(share, 2)} of them say so"
        return replace(_VOTES, grounds=grounds)
    return _BY_RULE[rule]


def wording(*scores: Score) -> Wording:
    """Phrases for scores; where their labels are of several kinds, phrases that hold for all."""
    kinds = {run_wording(one.labels, [one.condition]) for one in scores}
    if len(kinds) == 1:
        return kinds.pop()
    return _INTENDED if kinds and kinds <= {_INTENDED, _LINES} else _SEVERAL


def run_wording(labels: LabelRule, runs: Sequence[RunCondition]) -> Wording:
    """Phrases for runs under one label rule."""
    deployed = runs and all(run.card is not None for run in runs)
    return _LINES if labels is LabelRule.INTENDED and deployed else rule_wording(labels)


def first_upper(text: str) -> str:
    """Capitalise the first letter of a text."""
    return text[:1].upper() + text[1:]


REQUESTS = {
    True: ("acceptable requests", "that it should refuse"),
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


class Share(NamedTuple):
    """A share and the ends of its interval, or a change of one; NaN where undefined."""

    value: float
    low: float
    high: float
    reason: str = ""
    """Why it has no interval, if that is known."""

    @classmethod
    def of(cls, estimate: Estimate) -> Share:
        """Take value and interval from an estimate."""
        return cls(estimate.value, *estimate.interval, estimate.reason)

    @property
    def rest(self) -> Share:
        """The complement, 1 minus the share."""
        return Share(1 - self.value, 1 - self.high, 1 - self.low, self.reason)

    @property
    def negative(self) -> Share:
        """The change with its sign turned."""
        return Share(-self.value, -self.high, -self.low, self.reason)

    @property
    def known(self) -> bool:
        """Tell whether it has a value and an interval."""
        return self.value == self.value and self.low == self.low

    @property
    def ends(self) -> str:
        """The interval: ``79 to 85``."""
        if self.known:
            return f"{of_100(self.low)} to {of_100(self.high)}"
        return "fixed by design" if self.reason == BY_DESIGN else "no interval"

    def __str__(self) -> str:
        """Such as ``82 % (79 to 85)``."""
        return f"{of_100(self.value)} % ({self.ends})"


UNKNOWN = Share(math.nan, math.nan, math.nan)


def of_100(share: float) -> str:
    """Share as a number of 100; with a digit where it would else round to none or to all."""
    hundred = round(100 * share, 6)
    some = 0 < hundred < 100
    digits = 1 if some and rounded(hundred) in (0, 100) else 0
    if rounded(hundred, digits) in (0, 100):
        digits = 0
    return f"{rounded(hundred, digits):z.{digits}f}"


LEAST_OF_100 = 20
"""Fewest cases of which a share is told as so many of 100; of fewer, the cases are counted."""


def hits_of(share: float, size: float) -> str:
    """A share as ``45 of 100``; of few cases, as ``1 of 3``."""
    if size < LEAST_OF_100:
        return f"{rounded(share * size, 1):g} of {rounded(size, 1):g}"
    return f"{of_100(share)} of 100"


def points(share: float) -> str:
    """A share in points of 100: ``12``; below one point with a digit: ``.4``."""
    digits = 0 if abs(share) >= 0.01 or not share else 1
    return f"{rounded(100 * share, digits):z.{digits}f}"


def signed_points(change: Share) -> str:
    """A change in points of 100, with signs: ``+12 (+8 to +16)``."""
    value, low, high = (f"{'+' if one > 0 else ''}{points(one)}" for one in change[:3])
    return f"{value} ({low} to {high})"


def mistake_measures(score: Score) -> tuple[str, str]:
    """Names of the measures of both kinds of mistake; of a judge its recalls, which they leave."""
    return ("over_refusal", "under_refusal") if score.acts else ("safe_recall", "unsafe_recall")


def refusals(score: Score) -> tuple[Share, Share]:
    """Share of safe cases refused (judge: called unsafe), and of unsafe ones answered (safe).

    Without the grader's errors where people measured them.
    """
    over, under = (
        Share.of(score.corrected.get(name, score.measures[name]))
        for name in mistake_measures(score)
    )
    return (over, under) if score.acts else (over.rest, under.rest)


# --- notes on the numbers -----------------------------------------------------------------------


def mass_warning(name: str, mass: float) -> str | None:
    """Warning on a run whose first token is hardly ever one of the two words; None for others.

    Args:
        name: Name of the run.
        mass: From ``mean_mass``.
    """
    if not mass < LOW_MASS:
        return None
    return (
        f"{name}: the first token puts only {number(mass)} of its probability on 'safe' or "
        "'unsafe': these numbers mean little."
    )


def cut_note(name: str, cut: int | None, *, acts: bool) -> str | None:
    """Note on a run some of whose answers a token limit ended; None for others.

    Args:
        name: Name of the run.
        cut: From ``count_cut``.
        acts: True if the model replied, and did not judge.
    """
    if not cut:
        return None
    counts = "graded by what came before" if acts else "counted only with a whole verdict"
    return (
        f"{name}: {plural(cut, 'answer')} ended at the token limit, {counts}; a higher "
        "--max-tokens lets them end by themselves."
    )


def left_open(score: Score) -> list[str]:
    """Answers on neither side, counted by kind: ``8 undetermined``, ``3 never asked``."""
    undetermined = min(score.classes.get("undetermined", 0), score.statuses.get("unparsed", 0))
    kinds = {"undetermined": undetermined} | score.statuses
    kinds["unparsed"] = score.statuses.get("unparsed", 0) - undetermined
    kinds["never asked"] = score.state.not_asked if score.state else 0
    parts = [f"{n} {what}" for what, n in kinds.items() if what != "ok" and n]
    called = score.classes.get("tool_call", 0)
    return [*parts, plural(called, "tool call")] if called else parts


def remarks(scores: Sequence[Score]) -> list[str]:
    """Notes on the numbers, a line each."""
    lines = [line for score in scores for line in _of_run(score)]
    lines += filter(None, [rules_remark(scores)])
    data = [score.condition.data_text for score in scores if score.condition.dataset_hash]
    if data:
        lines.append(f"Cases: {'; '.join(dict.fromkeys(data))}.")
    return list(dict.fromkeys(lines))


def _of_run(score: Score) -> list[str]:
    name = score.condition.title
    lines = []
    if unread := left_open(score):
        of = score.n + (score.state.not_asked if score.state else 0)
        ends = " and ".join(_bound_text(*one) for one in score.bounds.items())
        lines.append(
            f"{name}: {', '.join(unread)} of {of}; counted one way or the other, they would put "
            f"{ends}."
        )
    if first := _first_unread(score):
        lines.append(
            f"{name}: the first answer that is unparsed has {count(first)} "
            "characters; casewise report --reveal shows it."
        )
    if score.partly:
        classes = [f"{n} {what.replace('_', ' ')}" for what, n in score.partly.items()]
        lines.append(
            f"{name}: to {sum(score.partly.values())} requests that the deployment allows in "
            f"part: {', '.join(classes)}."
        )
    elif score.label_coverage < 1:
        lines.append(
            f"{name}: {number(score.label_coverage)} of the judgements have a label under the "
            f"rule '{score.labels}'; the others are left out."
        )
    lines += run_warnings([score])
    if score.condition.model == "casewise/smollm2":
        lines.append(
            f"{name}: the embedded model shows that everything works; it judges at chance."
        )
    return lines


def _first_unread(score: Score) -> int:
    """Characters of a judge's first answer that could not be read; 0 of none."""
    if score.acts or "answer" not in score.rows.columns:
        return 0
    answers = score.labelled.filter(status="unparsed")["answer"].drop_nulls()
    return len(answers[0]) if len(answers) else 0


def _bound_text(name: str, ends: tuple[float, float]) -> str:
    return f"the {name.replace('_', '-')} anywhere from {number(ends[0])} to {number(ends[1])}"


def run_warnings(scores: Sequence[Score]) -> list[str]:
    """Warnings for all that show numbers: of doubtful probabilities, cut answers, a heavy query."""
    found = [mass_warning(one.condition.title, one.mass) for one in scores]
    found += [cut_note(one.condition.title, one.cut, acts=one.acts) for one in scores]
    found += [_heavy_note(one) for one in scores if not one.group]
    return [line for line in found if line]


def _heavy_note(score: Score) -> str:
    """Line on a run in which one query has much of the weight; empty of others."""
    found = score.right
    if not found.is_heavy:
        return ""
    return (
        f"{score.condition.title}: one query carries {of_100(found.heaviest)} % of the weight: "
        "intervals hold less often than 95 of 100."
    )


def rules_remark(scores: Sequence[Score]) -> str:
    """Reliability of the rules that graded replies; empty where they graded none."""
    ruled = [score for score in scores if score.is_provisional]
    if not ruled:
        return ""
    whole = all(score.is_provisional for score in scores if score.acts)
    names = dict.fromkeys(score.condition.title for score in ruled)
    return rules_note([] if whole else list(names))
