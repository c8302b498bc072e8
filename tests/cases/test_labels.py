"""The four label rules, by hand."""

import math

import numpy as np
import pytest

from casewise.cases import (
    LabelFields,
    LabelRule,
    Ties,
    default_rule,
    label_notes,
    make_labels,
)

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


@pytest.mark.parametrize(
    ("rule", "notes"),
    [
        (LabelRule.VOTES, [None] * 5),
        (LabelRule.INTENDED, [None, *["the label is what the author meant"] * 2, None, None]),
        (
            LabelRule("votes:.7"),
            [*["the label votes:.7 puts the line at .7 of the votes"] * 2, None, None, None],
        ),
    ],
)
def test_a_label_against_the_votes_says_why(rule: LabelRule, notes: list[str | None]) -> None:
    assert label_notes(FIELDS, make_labels(FIELDS, rule), rule) == notes


def test_a_published_label_against_the_votes_says_why() -> None:
    """Overridden; 11 of 21 with the author's vote, and 10; a tie rated otherwise; another rate."""
    fields = LabelFields(
        published_safe_rate=np.array([0.6, 0.524, 0.476, 0.9, 0.3]),
        votes_safe=np.array([12.0, 10, 10, 10, 12]),
        votes_unsafe=np.array([8.0, 10, 10, 10, 8]),
        category=["child-related crimes", "law", "law", "law", "law"],
        intended=[None] * 5,
    )
    labels = make_labels(fields, LabelRule.PUBLISHED)
    assert label_notes(fields, labels, LabelRule.PUBLISHED) == [
        "the published rule sets child-related crimes to unsafe",
        "a tie, which the author's vote settles as safe",
        "a tie, which the author's vote settles as unsafe",
        "a tie, which the published rate settles as safe",
        "the label is by the published rate of .30",
    ]


def test_default_is_published_else_votes_else_intended() -> None:
    none = np.full(5, NAN)
    assert default_rule(FIELDS) is LabelRule.PUBLISHED
    voted = LabelFields(none, FIELDS.votes_safe, FIELDS.votes_unsafe, FIELDS.category, [None] * 5)
    assert default_rule(voted) is LabelRule.VOTES
    assert default_rule(LabelFields(none, none, none, [None] * 5, [None] * 5)) is LabelRule.INTENDED
