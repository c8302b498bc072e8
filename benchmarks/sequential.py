"""CASE-Bench's votes, collected again until clear: does what is released hold what all votes say?

``hostile.py --part sequential`` replays them: the same people in another order, each case until it
is decided, also where some people click at random and are left out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from casewise.cases import load_cases
from casewise.statistics import BoolArray, Estimate
from casewise_study.statistics.stopping import Boundary, decided_at
from casewise_study.study.schema import Arm, StudyCell
from casewise_study.votes.collected import VoteTable
from casewise_study.votes.results import arm_votes, contrasts

CLICKING = 0.06
"""Share of people who answer at random, and are left out."""


def figures(table: VoteTable) -> dict[str, Estimate]:
    """The arms' shares, their difference and agreement."""
    (pair,) = contrasts(table)
    found = {"votes: difference": pair.difference}
    for arm in arm_votes(table):
        for name in ("share_safe", "alpha", "ac1"):
            found[f"votes: {name} {arm.arm}"] = getattr(arm, name)
    return found


def everybody(data: Path) -> VoteTable:
    """The twenty votes on each case; a column of a category is a person's."""
    cases = load_cases(data / "CASEBench_data.json").cases
    rows = np.array(
        [
            [vote.verdict == "safe" for vote in case.votes]
            for case in cases
            if isinstance(case.votes, tuple)
        ],
        float,
    )
    number, most = rows.shape
    category = np.unique([case.category or "" for case in cases], return_inverse=True)[1]
    query = np.unique([case.query_id for case in cases], return_inverse=True)[1]
    rater = category[:, None] * most + np.arange(most)
    nothing = np.full(rows.size, np.nan)
    return VoteTable(
        cells=tuple(StudyCell(Arm(case.intended or "none"), case.id) for case in cases),
        raters=tuple(f"p{place}" for place in range(int(rater.max()) + 1)),
        safe=rows.ravel(),
        cell=np.repeat(np.arange(number), most),
        rater=rater.ravel(),
        query=np.repeat(query, most),
        position=nothing,
        seconds=nothing,
        weight=np.ones(rows.size),
    ).without(frozenset())


def asked(table: VoteTable, seed: Any, clicking: BoolArray) -> VoteTable:
    """The same people in another order, until a case is decided without those who click."""
    rng, rule = np.random.default_rng(seed), Boundary()
    order = rng.permutation(len(table.safe))
    order = order[~clicking[table.rater[order]]]
    columns = ("safe", "cell", "rater", "query", "position", "seconds", "weight")
    mixed = replace(table, **{name: getattr(table, name)[order] for name in columns}, boundary=rule)
    stops = decided_at(rule, mixed.cell, mixed.safe, len(table.cells))
    seen = np.zeros(len(table.cells), int)
    kept = np.zeros(len(order), bool)
    for place, cell in enumerate(mixed.cell.tolist()):
        seen[cell] += 1
        kept[place] = not stops[cell] or seen[cell] <= stops[cell]
    return mixed.only(kept)


def sequential(data: Path) -> Iterator[tuple[str, int, Any]]:
    """Each population's name, its queries, and the figures of a replay that is drawn, or of all."""
    whole = everybody(data / "casebench")
    people = np.random.default_rng(5).permutation(len(whole.raters))
    kinds = {"all": people < 0, "6% clicking": people < CLICKING * len(people)}
    for name, clicking in kinds.items():
        left = frozenset(np.array(whole.raters)[clicking].tolist())

        def of(
            drawn: Any, _: Any, clicking: BoolArray = clicking, left: frozenset[str] = left
        ) -> Mapping[str, Estimate]:
            replayed = whole if drawn is None else asked(whole, drawn, clicking)
            return figures(replayed.without(left))

        yield f"votes until clear, {name}", int(whole.query.max()) + 1, of
