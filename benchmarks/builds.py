"""What a gate says of builds, with a history and without; a table of docs/how-to/gate.md.

    python benchmarks/builds.py               # print it (ten minutes on one core)
    python benchmarks/builds.py --write       # and put it into docs/how-to/gate.md

Simulated: two kinds of cases, each in every query, with a margin of .05 on the recall of either.
In a share of the queries, twice the discordance, the verdict is a coin that every run throws anew,
the baseline too; in the rest it stands. A worse model loses steady cases of the one kind, the same
in all its builds, from one build on. All builds of a series are held against one baseline, as in a
repository. The verdicts are those of the gate's own ``judge`` and ``find_fall``.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import numpy as np

from casewise.cases import LabelRule
from casewise.gate import BUILDS, LOOKS, Build, GateVerdict
from casewise.gate._history import PastBuild, find_fall
from casewise.gate._rule_figures import Figures
from casewise.gate._rules_file import default_gate
from casewise.gate._verdicts import judge
from casewise.sheets import Column, Row, Table, number, setting, to_markdown
from casewise.statistics import Clusters, clustered_mean

DOCS = Path(__file__).parent.parent / "docs/how-to/gate.md"
BEGIN, END = "<!-- builds: begin -->", "<!-- builds: end -->"

QUERIES = (150, 300, 450)
DISCORDANCES = (0.02, 0.05, 0.1)
MARGIN = 0.05
SERIES, UNCHANGED = 600, 200
"""Series with a loss, and without one."""
EARLIER = (0, 3, 10)
"""Unchanged builds before the first that is worse."""
WITHIN = 3
"""Builds from the loss on."""

RULE = next(rule for rule in default_gate().rules if rule.compares)
KINDS = ("lost", "kept")
SURE = {"today": 0.0, "history": 1 - Build(1, rules=len(KINDS)).error / LOOKS}
AT = datetime(2026, 1, 1, tzinfo=UTC)

Moves = dict[str, float]
"""Change of each query that moved against the baseline."""


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


def verdict_of(moves: Moves, queries: int, sure: float) -> GateVerdict:
    """Verdict of the bounds alone."""
    down = sum(one < 0 for one in moves.values())
    return verdict(queries, down, len(moves) - down, sure)


@dataclass(frozen=True, slots=True)
class Setting:
    """A population of models and their queries."""

    queries: int
    discordance: float
    loss: float
    """Share of the cases of one kind that a worse model loses."""


def draw(at: Setting, builds: int, loss_at: int, random: np.random.Generator) -> list[list[Moves]]:
    """Moves of each kind in each build; the loss comes with the build of that number, from 0."""
    found = [[] for _ in range(builds)]
    for kind in KINDS:
        coins = random.binomial(at.queries, 2 * at.discordance)
        right = random.random(coins) < 0.5
        loss = at.loss / (1 - 2 * at.discordance) if kind == "lost" else 0.0
        steady = random.binomial(at.queries - coins, loss)
        for place, build in enumerate(found):
            now = random.random(coins) < 0.5
            moved = now.astype(float) - right
            moves = {f"coin {query}": moved[query] for query in np.flatnonzero(moved)}
            if place >= loss_at:
                moves |= {f"steady {query}": -1.0 for query in range(steady)}
            build.append(moves)
    return found


def judge_series(builds: Sequence[Sequence[Moves]], queries: int) -> list[GateVerdict]:
    """Verdict of each build of a history: a fail of either kind, else undecided, else pass."""
    before: list[PastBuild] = []
    found = []
    for place, build in enumerate(builds, start=1):
        now = Build(place, len(KINDS), tuple(before))
        verdicts = []
        for kind, moves in zip(KINDS, build, strict=True):
            one = verdict_of(moves, queries, SURE["history"])
            is_open = one is GateVerdict.UNDECIDED
            shown = is_open and find_fall(now, kind, moves, RULE.good).shown
            verdicts.append(GateVerdict.FAIL if shown else one)
        found.append(worst(verdicts))
        before.append(
            PastBuild(
                build=place,
                key="",
                at=AT,
                models=[],
                verdict=found[-1],
                failed=["one"] if found[-1] is GateVerdict.FAIL else [],
                moves=dict(zip(KINDS, build, strict=True)),
            )
        )
    return found


def worst(verdicts: Sequence[GateVerdict]) -> GateVerdict:
    order = (GateVerdict.FAIL, GateVerdict.UNDECIDED, GateVerdict.PASS)
    return min(verdicts, key=order.index)


@dataclass(frozen=True, slots=True)
class Found:
    """Shares of series in which a loss is found."""

    alone: float
    """By the first build that has it, without a history."""
    first: float
    """By that build, with a history."""
    within: float
    """By one of the first ``WITHIN`` builds that have it, with a history."""
    passed: float
    """Series whose first build with the loss passes."""


def find_loss(at: Setting, earlier: int, series: int, seed: int = 0) -> Found:
    """Series in which a loss comes after so many unchanged builds."""
    random = np.random.default_rng(seed)
    counts = np.zeros(4)
    for _ in range(series):
        builds = draw(at, earlier + WITHIN, earlier, random)
        fails = [one is GateVerdict.FAIL for one in judge_series(builds, at.queries)[earlier:]]
        alone = worst([verdict_of(one, at.queries, SURE["today"]) for one in builds[earlier]])
        counts += alone is GateVerdict.FAIL, fails[0], any(fails), alone is GateVerdict.PASS
    return Found(*(counts / series))


def fail_unchanged(at: Setting, series: int, seed: int = 0) -> tuple[float, float]:
    """Series of ``BUILDS`` unchanged builds in which one fails: without a history, and with."""
    random = np.random.default_rng(seed)
    counts = np.zeros(2)
    for _ in range(series):
        builds = draw(at, BUILDS, BUILDS, random)
        alone = (verdict_of(one, at.queries, SURE["today"]) for build in builds for one in build)
        with_history = judge_series(builds, at.queries)
        counts += GateVerdict.FAIL in set(alone), GateVerdict.FAIL in with_history
    return tuple((counts / series).tolist())


def rows(series: int, unchanged: int) -> Iterator[Row]:
    for queries in QUERIES:
        for discordance in DISCORDANCES:
            false = fail_unchanged(Setting(queries, discordance, 0.0), unchanged)
            found = [find_loss(Setting(queries, discordance, MARGIN), n, series) for n in EARLIER]
            cells = [setting(discordance), *map(share, false), share(found[0].alone)]
            for one in found:
                cells += [share(one.first), share(one.within)]
            yield Row([*cells, share(found[0].passed)], group=f"{queries} queries")


def share(value: float) -> str:
    return number(value, 2)


COLUMNS = [
    Column(name)
    for name in (
        *("discordance", "100 unchanged builds fail", "with history", "a loss of .05 is found"),
        *(name for n in EARLIER for name in (f"with history, {n} builds before", "within three")),
        "passes",
    )
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--series", type=int, default=SERIES, help="with a loss, of each setting")
    parser.add_argument("--unchanged", type=int, default=UNCHANGED, help="series of 100 builds")
    parser.add_argument("--write", action="store_true", help="put it into docs/how-to/gate.md")
    options = parser.parse_args()
    table = to_markdown(Table(COLUMNS, list(rows(options.series, options.unchanged))))
    print(table)
    if options.write:
        page = DOCS.read_text("utf-8")
        head, rest = page.split(BEGIN)
        DOCS.write_text(f"{head}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}", "utf-8")


if __name__ == "__main__":
    main()
