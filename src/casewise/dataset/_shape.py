"""Shape of a data set: contexts of a query, kinds of labels, and what can be said of them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from casewise.cases import (
    REPLY_TAG,
    Case,
    LabelFields,
    LabelRule,
    default_rule,
    make_labels,
)
from casewise.dataset._findings import plural

_RULES = {
    LabelRule.PUBLISHED: "the published share of people",
    LabelRule.VOTES: "the majority of votes",
    LabelRule.INTENDED: "what the authors mean, as they designed it",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """Number of contexts of a query, of labels by kind, and how often a context changes one."""

    contexts: dict[int, int]
    """Queries by their number of contexts; a query without one has 0."""
    with_and_without: int
    """Queries that are asked in a context and without one."""
    labels: dict[str, int]
    """Cases by kind of label: ``votes``, ``shares`` (of people, without votes), ``ratings``
    (without a rule that makes labels of them), ``intended``, ``replies`` (labelled in place of the
    case), ``none``. A case may count in several."""
    several: int
    """Cases with both a label by people and one by their authors."""
    rule: LabelRule
    """Rule of the label that is looked at for changes: the default of a score."""
    compared: int
    """Queries with labels in several contexts, or in one and without; ties are none."""
    changed: int
    """Those among them whose cases have different labels: a count of these cases, and no estimate
    (``ContextVotes`` has that of people's votes)."""

    def sentences(self) -> list[str]:
        """How often the context changes the label, then contexts and labels, in words."""
        return [self._change(), f"Contexts: {self._contexts()}.", *self._labels()]

    def _change(self) -> str:
        if not self.compared:
            return (
                "How often the context changes the label can't be said: no query has labels in two "
                "contexts."
            )
        return (
            f"The context changes the label in {self.changed} of {self.compared} queries that have "
            f"labels in several contexts, by {_RULES[self.rule]}."
        )

    def _contexts(self) -> str:
        told = [
            f"{n or 'none'} in {plural(queries, 'query')}"
            for n, queries in sorted(self.contexts.items())
        ]
        shown = ", ".join(told) if len(told) <= 4 else self._range()
        both = f"; {plural(self.with_and_without, 'query')} also without" * bool(
            self.with_and_without
        )
        return f"{shown}{both}"

    def _range(self) -> str:
        return (
            f"{min(self.contexts)} to {max(self.contexts)} a query, in "
            f"{plural(sum(self.contexts.values()), 'query')}"
        )

    def _labels(self) -> list[str]:
        lines = [
            f"{_KINDS[kind][0]} {plural(self.labels[kind], 'case')}: {_KINDS[kind][1]}."
            for kind in _KINDS
            if self.labels.get(kind)
        ]
        if self.several:
            lines.append(
                f"{plural(self.several, 'case')} with labels by people and by the authors: scores "
                f"take {_RULES[self.rule].partition(',')[0]}, unless --labels names another."
            )
        return lines


_KINDS = {
    "votes": ("Votes on", "labels, agreement of people, and the best that anybody can expect"),
    "shares": (
        "A share of people, without votes, on",
        "labels, correlation and calibration; neither agreement nor a ceiling",
    ),
    "ratings": ("Ratings without a rule on", "no labels (rule: sides or position makes them)"),
    "intended": ("The authors' side of", "labels that nobody voted on"),
    "replies": (
        "Labels of replies, and not of what is asked, on",
        "what is asked has no label, so no score counts it",
    ),
    "none": ("No label of", "no score counts them"),
}
"""Opening of the line of each kind of label, and what can be said."""


def shape_of(cases: Sequence[Case]) -> Shape:
    """Shape of a set of cases."""
    by_query: dict[str, list[Case]] = defaultdict(list)
    for case in cases:
        by_query[case.query_id].append(case)
    fields = LabelFields(
        _numbers(case.published_safe_rate for case in cases),
        _numbers(case.votes_safe for case in cases),
        _numbers(case.votes_unsafe for case in cases),
        [case.category for case in cases],
        [case.intended for case in cases],
    )
    rule = default_rule(fields)
    safe = dict(zip(map(id, cases), make_labels(fields, rule).safe.tolist(), strict=True))
    sides = [
        [safe[id(case)] for case in own if safe[id(case)] in (0.0, 1.0)]
        for own in by_query.values()
    ]
    several = [own for own in sides if len(own) > 1]
    in_context = [
        (sum(case.context is not None for case in own), any(case.context is None for case in own))
        for own in by_query.values()
    ]
    return Shape(
        contexts=dict(sorted(Counter(n for n, _ in in_context).items())),
        with_and_without=sum(bool(n) and alone for n, alone in in_context),
        labels=dict(Counter(kind for case in cases for kind in _kinds(case))),
        several=sum(len({"votes", "shares", "intended"} & {*_kinds(case)}) > 1 for case in cases),
        rule=rule,
        compared=len(several),
        changed=sum(len(set(own)) > 1 for own in several),
    )


def _kinds(case: Case) -> list[str]:
    """Kinds of label that a case has."""
    voted = bool((case.votes_safe or 0) + (case.votes_unsafe or 0))
    replies = any(tag.startswith(REPLY_TAG) for tag in case.tags)
    found = {
        "votes": voted,
        "shares": case.published_safe_rate is not None and not voted,
        "ratings": case.ratings is not None and case.ratings.rule is None,
        "intended": case.intended is not None,
        "replies": replies,
    }
    kinds = [kind for kind, has in found.items() if has]
    return kinds or ["none"]


def _numbers(values: Iterable[float | None]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else value for value in values], np.float64)
