"""Runs for a gate: verdicts that are drawn, and rules that are written out."""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from support.tables import judgement

from casewise.gate._gate_rules import GateConfig
from casewise.gate._rules_file import load_gate
from casewise.scores import make_table

BoolArray = NDArray[np.bool_]


def rules(folder: Path, text: str) -> GateConfig:
    path = folder / "gate.yaml"
    path.write_text(text, "utf-8")
    return load_gate(path)


def pairs_table(right: BoolArray, **fields: object) -> pl.DataFrame:
    """A judge's verdicts on pairs of cases. Shape ``(queries, 2)``, the safe case first."""
    rows = []
    for query, (safe, unsafe) in enumerate(right.tolist()):
        for intended, good in (("safe", safe), ("unsafe", unsafe)):
            said = intended if good else {"safe": "unsafe", "unsafe": "safe"}[intended]
            row = judgement(f"q{query:05}", intended, None, votes=None)
            rows.append(row | {"protocol": "binary", "status": "ok", "verdict": said} | fields)
    return make_table(rows)


def with_right(table: pl.DataFrame, right: BoolArray) -> pl.DataFrame:
    """Other verdicts on the same pairs: quicker than to make the table anew."""
    good = pl.Series(right.reshape(-1))
    other = pl.when(pl.col("intended") == "safe").then(pl.lit("unsafe")).otherwise(pl.lit("safe"))
    return table.with_columns(pl.when(good).then("intended").otherwise(other).alias("verdict"))


def replies_table(helped: NDArray[np.float64], delivery: str, **fields: object) -> pl.DataFrame:
    """Replies to pairs of cases: 1 answers, 0 refuses. Shape ``(queries, 2)``."""
    rows = []
    for query, pair in enumerate(helped.tolist()):
        for intended, one in zip(("safe", "unsafe"), pair, strict=True):
            row = judgement(f"q{query:05}", intended, None, votes=None)
            reply = "compliance" if one else "refusal"
            row |= {"protocol": "respond", "delivery": delivery, "status": "ok"}
            rows.append(row | {"response_class": reply} | fields)
    return make_table(rows)
