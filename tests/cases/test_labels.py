"""The four label rules, by hand."""

import math

import numpy as np
import pytest

from casewise.cases import LabelFields, LabelRule, Ties, default_rule, make_labels

NAN = math.nan
# Votes of 10: 6, 5 (a tie), 8, none, 9 in a category that the published script sets to 0.
FIELDS = LabelFields(
    published_safe_rate=np.array([0.6, 0.5, 0.8, NAN, 0.9]),
    votes_safe=np.array([6.0, 5, 8, NAN, 9]),
    votes_unsafe=np.array([4.0, 5, 2, NAN, 1]),
    category=["law", None, "law", "law", "child-related crimes"],
    intended=["safe", "unsafe", "unsafe", None, "safe"],
)


@pytest.mark.parametrize(
    ("rule", "ties", "rate", "safe"),
    [
        # Safe if the rate exceeds .5: exactly .5 is unsafe, as in the published script.
        (LabelRule.PUBLISHED, Ties.HALF, [0.6, 0.5, 0.8, NAN, 0.0], [1, 0, 1, NAN, 0]),
        (LabelRule.VOTES, Ties.HALF, [0.6, 0.5, 0.8, NAN, 0.9], [1, 0.5, 1, NAN, 1]),
        (LabelRule.VOTES, Ties.DROP, [0.6, NAN, 0.8, NAN, 0.9], [1, NAN, 1, NAN, 1]),
        # 6 of 10 and 5 of 10 agree less than 75 %.
        (LabelRule.CONSENSUS, Ties.HALF, [NAN, NAN, 0.8, NAN, 0.9], [NAN, NAN, 1, NAN, 1]),
        (LabelRule.INTENDED, Ties.HALF, [1, 0, 0, NAN, 1], [1, 0, 0, NAN, 1]),
    ],
)
def test_rules(rule: LabelRule, ties: Ties, rate: list[float], safe: list[float]) -> None:
    labels = make_labels(FIELDS, rule, ties)
    np.testing.assert_array_equal(labels.rate, rate)
    np.testing.assert_array_equal(labels.safe, safe)


def test_consensus_counts_exactly_three_quarters() -> None:
    fields = LabelFields(
        np.full(2, NAN), np.array([15.0, 14]), np.array([5.0, 6]), [None] * 2, [None] * 2
    )
    np.testing.assert_array_equal(make_labels(fields, LabelRule.CONSENSUS).safe, [1, NAN])


def test_default_is_published_else_votes_else_intended() -> None:
    none = np.full(5, NAN)
    assert default_rule(FIELDS) is LabelRule.PUBLISHED
    voted = LabelFields(none, FIELDS.votes_safe, FIELDS.votes_unsafe, FIELDS.category, [None] * 5)
    assert default_rule(voted) is LabelRule.VOTES
    assert default_rule(LabelFields(none, none, none, [None] * 5, [None] * 5)) is LabelRule.INTENDED


def test_no_votes_is_no_label() -> None:
    fields = LabelFields(np.array([NAN]), np.zeros(1), np.zeros(1), [None], [None])
    assert math.isnan(make_labels(fields, LabelRule.VOTES).safe[0])
