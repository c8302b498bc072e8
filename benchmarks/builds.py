"""What a gate says of a hundred builds, with a history and without; a table of docs/how-to/gate.md.

    python benchmarks/builds.py               # print it (two minutes)
    python benchmarks/builds.py --write       # and put it into docs/how-to/gate.md

Simulated: two kinds of cases, each in every query, with a margin of .05 on the recall of either.
In a share of the queries, twice the discordance, the verdict is a coin that every run throws anew,
the baseline too; in the rest it stands. A worse model loses steady cases of the one kind, drawn
anew for each series of builds and the same in all its builds. All builds of a series are held
against one baseline, as in a repository. The verdicts are those of the gate's own ``judge``.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from casewise.cases import LabelRule
from casewise.gate import BUILDS, Build, GateVerdict
from casewise.gate._rule_figures import Figures
from casewise.gate._rules_file import default_gate
from casewise.gate._verdicts import judge
from casewise.sheets import Column, Row, Table, number, setting, to_markdown
from casewise.statistics import Clusters, clustered_mean

DOCS = Path(__file__).parent.parent / "docs/how-to/gate.md"
BEGIN, END = "<!-- builds: begin -->", "<!-- builds: end -->"

SERIES = 4000
QUERIES = (150, 300)
DISCORDANCES = (0.02, 0.1)
MARGIN = 0.05
WORSE = (0.0, 0.02, MARGIN, 0.15)
NAMES = {0.0: "unchanged", 0.02: "worse by .02", MARGIN: "worse by .05", 0.15: "worse by .15"}

RULE = next(rule for rule in default_gate().rules if rule.compares)
SURE = {"today": 0.0, "history": Build(1, rules=2).confidence}

Array = NDArray[np.int64]


@cache
def verdict(queries: int, down: int, up: int, sure: float) -> GateVerdict:
    """Of a margin, where so many queries lost their case of the kind, and so many gained it."""
    before, after = np.ones(queries), np.ones(queries)
    after[:down] = 0
    before[down : down + up] = 0
    clusters = Clusters(np.arange(queries), queries)
    value, baseline = (clustered_mean(one, clusters, share=True) for one in (after, before))
    figures = Figures(value, baseline, LabelRule.INTENDED, queries, 1.0, 0)
    return judge(RULE, figures, sure).verdict


def draw(queries: int, discordance: float, worse: float, random: np.random.Generator) -> Array:
    """Queries that went down, and up, in each build of a series. Shape ``(2 kinds, BUILDS, 2)``."""
    found = np.empty((2, BUILDS, 2), np.int64)
    for kind, lost in enumerate((worse, 0.0)):
        coins = random.binomial(queries, 2 * discordance)
        # A steady case that is lost must have been right; one in ten was wrong before.
        steady = random.binomial(queries - coins, lost / (1 - 2 * discordance))
        heads = random.binomial(coins, 0.5)
        found[kind, :, 0] = random.binomial(heads, 0.5, BUILDS) + steady
        found[kind, :, 1] = random.binomial(coins - heads, 0.5, BUILDS)
    return found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a gate says of series of builds."""

    passed: float
    """Share of builds."""
    failed: float
    fails_at_all: float
    """Share of series in which some build fails."""
    first_fail: float
    """Median number of the first build that fails; infinite where half of the series have none."""


def simulate(
    queries: int, discordance: float, worse: float, sure: float, series: int, seed: int = 0
) -> Outcome:
    """Judge every build of some series; the same seed gives the same builds, however judged."""
    random = np.random.default_rng(seed)
    passed, failed, first = 0, 0, []
    for _ in range(series):
        builds = draw(queries, discordance, worse, random).transpose(1, 0, 2).tolist()
        found = [[verdict(queries, *kind, sure) for kind in build] for build in builds]
        fails = [GateVerdict.FAIL in both for both in found]
        passed += sum(set(both) == {GateVerdict.PASS} for both in found)
        failed += sum(fails)
        first.append(fails.index(True) + 1 if any(fails) else np.inf)
    tries = series * BUILDS
    at_all = float(np.isfinite(first).mean())
    return Outcome(passed / tries, failed / tries, at_all, float(np.median(first)))


def rows(series: int) -> Iterator[Row]:
    for queries in QUERIES:
        for discordance in DISCORDANCES:
            for worse in WORSE:
                today, history = (
                    simulate(queries, discordance, worse, SURE[kind], series)
                    for kind in ("today", "history")
                )
                both = (today, history)
                cells = [NAMES[worse], *(share(one.fails_at_all) for one in both)]
                cells += [builds(one.first_fail) for one in both]
                cells += [*(share(one.failed) for one in both), share(history.passed)]
                yield Row(cells, group=f"{queries} queries, discordance {setting(discordance)}")


def share(value: float) -> str:
    return number(value, 2)


def builds(count: float) -> str:
    return "none" if np.isinf(count) else f"{count:.0f}"


COLUMNS = [Column("the model is")] + [
    Column(name)
    for name in (
        *("fails at all", "with history", "first fail", "with history"),
        *("a build fails", "with history", "a build passes"),
    )
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=SERIES, help="of each setting")
    parser.add_argument("--write", action="store_true", help="put it into docs/how-to/gate.md")
    options = parser.parse_args()
    table = to_markdown(Table(COLUMNS, list(rows(options.series))))
    print(table)
    if options.write:
        page = DOCS.read_text("utf-8")
        head, rest = page.split(BEGIN)
        DOCS.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
