"""Several conditions over the same cases, so that their scores can be subtracted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from casewise.analysis._measures import UnreadPolicy
from casewise.analysis._score import Score, Scoring, score_rows
from casewise.analysis._table import OF_CASE
from casewise.cases import LabelRule
from casewise.protocols import Protocol
from casewise.statistics import Estimate, combine, paired_change

KEYS = ["case_id", "epoch"]


def shared_rows(parts: Sequence[pl.DataFrame], unparsed: UnreadPolicy) -> tuple[pl.DataFrame, ...]:
    """The rows of each part whose case and epoch every part has, in the same order.

    Under ``honest`` only what every part has read; under ``reference`` unread verdicts stay, but
    no replies: the published script has none, so there is no reference to fill them by.
    """
    counted = pl.col("status") == "ok"
    if unparsed is UnreadPolicy.REFERENCE:
        counted |= pl.col("protocol") != Protocol.RESPOND
    parts = [part.filter(counted) for part in parts]
    keys = parts[0].select(KEYS)
    for part in parts[1:]:
        keys = keys.join(part.select(KEYS), on=KEYS, how="semi")
    return tuple(keys.join(part, on=KEYS, how="left", maintain_order="left") for part in parts)


def score_together(
    parts: Sequence[tuple[dict[str, Any], pl.DataFrame]], rule: LabelRule, scoring: Scoring
) -> list[Score]:
    """Score conditions over the cases that they share.

    Each case is labelled as the first part labels it, so that the truth is the same for all.
    """
    rows = shared_rows([part for _, part in parts], scoring.unparsed)
    truth = rows[0].select(OF_CASE)
    # A read answer without a probability leaves its case out of the numbers of every part.
    numberless = pl.Series(np.zeros(len(truth), bool))
    for part in rows:
        numberless |= part["p_safe"].is_null() & (part["status"] == "ok")
    number = pl.when(~numberless).then("p_safe").alias("p_safe")
    return [
        score_rows(part.with_columns(truth).with_columns(number), condition, rule, scoring)
        for (condition, _), part in zip(parts, rows, strict=True)
    ]


def differences(before: Score, after: Score) -> dict[str, Estimate]:
    """``after - before`` in every measure, with its paired error.

    Both must be scored together.
    """
    return {name: paired_change(one, after.measures[name]) for name, one in before.measures.items()}


def weighted_sum(terms: Sequence[tuple[float, Score]]) -> dict[str, Estimate]:
    """A weighted sum of scores in every measure; undefined where one of them is."""
    return {
        name: combine([(weight, score.measures[name]) for weight, score in terms])
        for name in terms[0][1].measures
    }
