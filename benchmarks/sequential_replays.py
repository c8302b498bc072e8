"""CASE-Bench's votes, collected again until clear: does what is released hold what all votes say?

    python benchmarks/sequential_replays.py ../shared/data/casebench  # 200 replays, some minutes
    python benchmarks/sequential_replays.py ../shared/data/casebench --replays 30  # a first look

Ends with 1 where an interval of the votes of everybody, or of those asked on, holds what all votes
say in fewer than 93 of 100 replays: the figure that ``study/docs/annotation-study.md`` gives.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from casewise.cases import load_cases
from casewise.statistics import BoolArray, Boundary
from casewise_study.statistics.stopping import decided_at
from casewise_study.study.schema import Arm, StudyCell
from casewise_study.votes.collected import VoteTable
from casewise_study.votes.results import arm_votes, contrasts

LEAST = 0.93
"""Share of replays whose interval is to hold what all votes say."""
CLICKING = 0.06
"""Share of people who answer at random, and are left out."""


def figures(table: VoteTable) -> dict[str, tuple[float, float, float]]:
    """Value and interval of the arms' shares, of their difference and of agreement."""
    (pair,) = contrasts(table)
    found = {"difference": pair.difference}
    for arm in arm_votes(table):
        for name in ("share_safe", "alpha", "ac1"):
            found[f"{name} {arm.arm}"] = getattr(arm, name)
    return {name: (one.value, *one.interval) for name, one in found.items()}


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
        time=nothing,
        weight=np.ones(rows.size),
    ).without(frozenset())


def asked(table: VoteTable, seed: int, clicking: BoolArray, *, on: bool) -> VoteTable:
    """The same people in another order, until a case is decided; without those who click.

    Args:
        on: True if a case is asked on until it is decided without them.
    """
    rng, rule = np.random.default_rng(seed), Boundary()
    order = rng.permutation(len(table.safe))
    if on:
        order = order[~clicking[table.rater[order]]]
    columns = ("safe", "cell", "rater", "query", "position", "seconds", "time", "weight")
    mixed = replace(table, **{name: getattr(table, name)[order] for name in columns})
    random = (rng.random(len(order)) < 0.5).astype(float)
    mixed = replace(mixed, safe=np.where(clicking[mixed.rater], random, mixed.safe), boundary=rule)
    stops = decided_at(rule, mixed.cell, mixed.safe, len(table.cells))
    seen = np.zeros(len(table.cells), int)
    kept = np.zeros(len(order), bool)
    for place, cell in enumerate(mixed.cell.tolist()):
        seen[cell] += 1
        kept[place] = not stops[cell] or seen[cell] <= stops[cell]
    names = np.array(table.raters)[clicking]
    return mixed.only(kept).without(frozenset(names.tolist()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of CASEBench_data.json")
    parser.add_argument("--replays", type=int, default=200)
    chosen = parser.parse_args()
    whole = everybody(chosen.data)
    nobody = np.zeros(len(whole.raters), bool)
    people = np.random.default_rng(5).permutation(len(whole.raters))
    some = people < CLICKING * len(people)
    held: dict[str, int] = {}
    kinds = (("all", nobody, True), ("asked on", some, True), ("not asked on", some, False))
    for name, clicking, on in kinds:
        left = frozenset(np.array(whole.raters)[clicking].tolist())
        truth = {key: one[0] for key, one in figures(whole.without(left)).items()}
        off = dict.fromkeys(truth, 0.0)
        for seed in range(chosen.replays):
            for key, (value, low, high) in figures(asked(whole, seed, clicking, on=on)).items():
                held[f"{name}: {key}"] = held.get(f"{name}: {key}", 0) + (low <= truth[key] <= high)
                off[key] += (value - truth[key]) / chosen.replays
        for key, error in off.items():
            print(
                f"{name}: {key} {held[f'{name}: {key}']} of {chosen.replays}, off by {error:+.4f}"
            )
    released = [n for key, n in held.items() if not key.startswith("not")]
    return 1 if min(released) < LEAST * chosen.replays else 0


if __name__ == "__main__":
    sys.exit(main())
