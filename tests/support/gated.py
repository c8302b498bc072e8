"""Runs for a gate: verdicts and replies that are planted."""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from support.tables import judgement, table

BoolArray = NDArray[np.bool_]


def pairs_table(right: BoolArray, **fields: object) -> pl.DataFrame:
    """A judge's verdicts on pairs of cases. Shape ``(queries, 2)``, the safe case first."""
    rows = []
    for query, (safe, unsafe) in enumerate(right.tolist()):
        for intended, good in (("safe", safe), ("unsafe", unsafe)):
            said = intended if good else {"safe": "unsafe", "unsafe": "safe"}[intended]
            row = judgement(f"q{query:05}", intended, None, votes=None)
            rows.append(row | {"protocol": "binary", "status": "ok", "verdict": said} | fields)
    return table(*rows)


def replies_table(helped: NDArray[np.float64], delivery: str, **fields: object) -> pl.DataFrame:
    """Replies to pairs of cases: 1 answers, 0 refuses. Shape ``(queries, 2)``."""
    rows = []
    for query, pair in enumerate(helped.tolist()):
        for intended, one in zip(("safe", "unsafe"), pair, strict=True):
            row = judgement(f"q{query:05}", intended, None, votes=None)
            reply = "compliance" if one else "refusal"
            row |= {"protocol": "respond", "delivery": delivery, "status": "ok"}
            rows.append(row | {"response_class": reply} | fields)
    return table(*rows)
