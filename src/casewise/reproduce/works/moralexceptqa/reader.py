"""Predictions of MoralExceptQA: a probability of "yes, this rule may be broken" for each case."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from casewise.cases import read_table
from casewise.scores import make_table

FLOOR = 2e-7
"""The authors' cross-entropy is Keras's, which cuts p at 1e-7 and then adds 1e-7."""
STUDIES = {"lines": "Line", "blue.house": "Prop", "cannonball": "Cann."}


def read(files: Mapping[str, Path]) -> pl.DataFrame:
    """A judgement for each case and run; a run is one prompt or seed of a model."""
    return make_table(one for path in files.values() for one in _rows(path))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_table(path).rows:
        assert isinstance(row, dict)
        p = float(row["proba_1"])
        yield {
            "run_id": row["model"],
            "model": row["model_type"],
            "protocol": "probability",
            "case_id": "/".join(row[name] for name in ("study", "context", "condition")),
            "query_id": f"{row['study']}/{row['context']}",
            "category": STUDIES[row["study"]],
            "published_safe_rate": float(row["human.response"]),
            "status": "ok",
            "verdict": "safe" if p > 0.5 else "unsafe",
            "p_safe": min(max(p, FLOOR), 1 - FLOOR),
        }
