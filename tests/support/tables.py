"""Judgement tables made by hand or by dice."""

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import casewise as cw


@cache
def schema() -> pl.Schema:
    """Columns of every judgement table, from the smallest published output."""
    record = {"query": "q", "context": {}, "category": "c", "context_intended_to_be_safe": True}
    record |= {"scores": [1, 2], "safe_rate": 0.5, "m": "safe"}
    with TemporaryDirectory() as folder:
        path = Path(folder, "output_binary.json")
        path.write_text(json.dumps([record]))
        return cw.judgements(path).schema


def make_table(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Rows of any columns as a judgement table with all of them."""
    return pl.DataFrame(list(rows), schema())


def judgement(
    query: str = "q",
    intended: str | None = "safe",
    p_safe: float | None = 0.9,
    *,
    votes: tuple[int, int] | None = (15, 5),
    **fields: Any,
) -> dict[str, Any]:
    """A row; the verdict follows the probability, and None is an unread answer."""
    row: dict[str, Any] = {
        "run_id": "r",
        "model": "m",
        "protocol": "probability",
        "delivery": "judge",
        "dataset_hash": "d",
        "case_id": f"{query}-{intended}",
        "query_id": query,
        "category": "c",
        "intended": intended,
        "epoch": 1,
        "status": "unparsed" if p_safe is None else "ok",
        "p_safe": p_safe,
        "verdict": None if p_safe is None else "safe" if p_safe > 0.5 else "unsafe",
    }
    if votes is not None:
        row |= {"votes_safe": votes[0], "votes_unsafe": votes[1]}
    return row | fields


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    return make_table(rows)


def random_table(
    queries: int, seed: int, *, skill: float = 0.5, noise: float = 0.15, **fields: Any
) -> pl.DataFrame:
    """A model over pairs of cases with 20 votes; people are the same for every skill and name.

    ``skill`` is how far the probability follows the people's rate (0 not at all, 1 wholly).
    """
    people, model = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    rows = []
    for query in range(queries):
        for intended, a, b in (("safe", 4, 2), ("unsafe", 2, 5)):
            rate = people.beta(a, b)
            safe = int(people.binomial(20, rate))
            p = float(np.clip(0.5 + skill * (rate - 0.5) + model.normal(0, noise), 0, 1))
            row = judgement(f"q{query:05}", intended, p, votes=(safe, 20 - safe))
            rows.append(row | {"category": f"c{query % 5}"} | fields)
    return make_table(rows)


SAFE_VOTES = (10, 8, 6, 2, 0)
"""Of ten, in each of five contexts; majorities of three say safe."""

Model = Callable[[int, int], float]
"""The probability of safe, from the number of the query and the safe votes."""


def asked(model: Model, /, **fields: Any) -> pl.DataFrame:
    """Ten queries in the five contexts, none with an intended side."""
    return table(
        *(
            judgement(f"q{query}", None, model(query, safe), votes=(safe, 10 - safe))
            | {"case_id": f"q{query}-{safe}"}
            | fields
            for query in range(10)
            for safe in SAFE_VOTES
        )
    )


def asked_both_ways(model: Model, /, **fields: Any) -> pl.DataFrame:
    """Ten queries without a context, which six of ten call safe, and in two contexts."""
    return table(
        *(
            judgement(f"q{query}", None, model(query, safe), votes=(safe, 10 - safe))
            | {"case_id": f"q{query}-{safe}"}
            | ({"no_context": True} if safe == 6 else {})
            | fields
            for query in range(10)
            for safe in (6, 8, 2)
        )
    )


def follows(query: int, safe: int) -> float:
    return safe / 10


def ignores(query: int, safe: int) -> float:
    return (query + 0.5) / 10


def refuses(query: int, safe: int) -> float:
    return 0.0
