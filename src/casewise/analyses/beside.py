"""Runs beside those that differ from them in one field alone."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from casewise.judgements import ANSWER_KEYS
from casewise.protocols import RunCondition
from casewise.results import Scores

Run = tuple[RunCondition, pl.DataFrame]


def beside(scores: Scores, field: str) -> Iterator[tuple[Run, list[Run]]]:
    """Yield each run beside those that differ from it in one field alone.

    A changed run stands beside the one with which it shares most judgements, if any.

    Args:
        scores: Scores of a table.
        field: Of the condition: ``ablation``, ``swap`` or ``variation``.
    """
    families: dict[RunCondition, list[Run]] = {}
    for run in scores.runs:
        families.setdefault(run[0].same_but(field), []).append(run)
    for family in families.values():
        whole = [run for run in family if not getattr(run[0], field)]
        found: list[list[Run]] = [[] for _ in whole]
        for run in family if whole else ():
            shared = [len(one[1].join(run[1], on=ANSWER_KEYS, how="semi")) for one in whole]
            if getattr(run[0], field) and any(shared):
                found[int(np.argmax(shared))].append(run)
        yield from (both for both in zip(whole, found, strict=True) if both[1])
