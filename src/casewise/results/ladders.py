"""Replies of one model to the same cases, rung by rung of an evidence ladder."""

from collections.abc import Sequence

import polars as pl

from casewise.cases import LabelRule
from casewise.choices import UnreadPolicy
from casewise.judgements import conditions, shared_rows
from casewise.measures import Climbed, Scoring, labelled_rows, make_answers
from casewise.protocols import BARE_RUNG, RunCondition

Ladder = dict[str, tuple[RunCondition, pl.DataFrame]]
"""Runs of a model by rung."""


def find_ladders(table: pl.DataFrame) -> list[Ladder]:
    """Runs on rungs, by what else they have in common; those without rung 0 are left out."""
    families: dict[RunCondition, Ladder] = {}
    evident = table.filter(pl.col("variant").fill_null("").str.contains("evidence="))
    for condition, part in conditions(evident):
        if condition.evidence is not None:
            family = families.setdefault(condition.same_but("evidence", "delivery"), {})
            family.setdefault(condition.evidence, (condition, part))
    return [
        {rung: family[rung] for rung in sorted(family, key=lambda one: (len(one), one))}
        for family in families.values()
        if BARE_RUNG in family and len(family) > 1
    ]


def climb(
    parts: Sequence[pl.DataFrame], rungs: Sequence[str], rule: LabelRule, scoring: Scoring
) -> Climbed:
    """Replies to the cases that were graded at every rung, by rung.

    Args:
        parts: Rows of each rung, those of the query alone first.
        rungs: Names of the rungs.
        rule: Rule that makes the labels.
        scoring: Rules of scoring.
    """
    rows = shared_rows(parts, UnreadPolicy.HONEST)
    kept, truth = labelled_rows(rows[0], rule, scoring.ties)
    keys = kept.select("case_id", "epoch")
    found = [keys.join(one, on=["case_id", "epoch"], maintain_order="left") for one in rows]
    answers = [make_answers(one, truth) for one in found]
    return Climbed(dict(zip(rungs, answers, strict=True)))
