"""Runs with those that differ from them in one field alone, and their answers to the same cases."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from casewise.choices import UnreadPolicy
from casewise.judgements import ANSWER_KEYS, OF_CASE, shared_rows
from casewise.measures import Answers, labelled_rows, make_answers
from casewise.protocols import RunCondition
from casewise.results import Scores

Run = tuple[RunCondition, pl.DataFrame]


def changed_runs(scores: Scores, field: str) -> Iterator[tuple[Run, list[Run]]]:
    """Yield each run with those that differ from it in one field alone.

    A changed run belongs to the one with which it shares most judgements, if any.

    Args:
        scores: Scores of a table.
        field: Of the condition: ``ablation``, ``swap`` or ``variation``.
    """
    families: dict[RunCondition, list[Run]] = {}
    for run in scores.runs:
        families.setdefault(run[0].same_but(field), []).append(run)
    for family in families.values():
        whole = [run for run in family if not getattr(run[0], field)]
        changed: list[list[Run]] = [[] for _ in whole]
        for run in family if whole else ():
            shared = [len(plain[1].join(run[1], on=ANSWER_KEYS, how="semi")) for plain in whole]
            if getattr(run[0], field) and any(shared):
                changed[int(np.argmax(shared))].append(run)
        yield from (pair for pair in zip(whole, changed, strict=True) if pair[1])


def common_answers(scores: Scores, runs: Sequence[Run]) -> list[Answers]:
    """Answers of runs to the labelled cases that were read under all of them, in one order.

    Each case is labelled as the first run labels it.
    """
    rule, ties = scores.scoring.rule(runs[0][1]), scores.scoring.ties
    rows = shared_rows([part for _, part in runs], UnreadPolicy.HONEST)
    truth = rows[0].select(OF_CASE)
    labelled = (labelled_rows(part.with_columns(truth), rule, ties) for part in rows)
    return [make_answers(*labelled_part) for labelled_part in labelled]
