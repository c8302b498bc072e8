"""How often each published interval holds the truth: ``make coverage``.

    python benchmarks/coverage.py                # all, some ten minutes on one core
    python benchmarks/coverage.py --draws 50     # a first look
    python benchmarks/coverage.py --write        # and into docs/method/statistics-appendix.md

Studies of 28, 56, 150 and 450 queries, in two contexts each, are drawn from populations in
which the truth is known, and scored by the functions that score runs. A figure that the first
studies bring near the bound has four times as many (``NEAR``). Ends with 1 where an interval that
is given holds the truth in less than 93 of 100 studies.
"""

import argparse
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, replace
from functools import cache
from math import factorial
from pathlib import Path

# Threads of the linear algebra only get in each other's way: the matrices are small.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import beta, norm

from casewise.analyses.behaviour import refusal_gains, spoofing_gap
from casewise.cases import Labels
from casewise.choices import Family, MeasureKind
from casewise.measures import (
    Answers,
    compared,
    find,
    measure,
    outcomes,
)
from casewise.protocols import is_acting
from casewise.statistics import (
    Clusters,
    Estimate,
    clustered_mean,
    combine,
    credits,
    kaplan_meier,
)

FloatArray = NDArray[np.float64]
Ends = tuple[float, float, float]
"""A figure, and the ends of its interval; NaN where it is withheld."""
Figures = dict[str, Estimate | Ends]
Intervals = dict[str, Ends]

DOCS = Path(__file__).resolve().parents[1] / "docs/method/statistics-appendix.md"
BEGIN, END = "<!-- coverage -->", "<!-- end -->"

SIZES = (28, 56, 150, 450)
"""Queries of a study; each has a case meant safe and one meant unsafe."""

LEAST = 0.93
"""The coverage that a 95 % interval must have."""

NEAR, MORE = 0.94, 4
"""A figure that holds the truth in less than ``NEAR`` of the first studies of a population and a
size has ``MORE`` times as many, the first among them: they tell bias from luck."""

VOTES = 20
MANY = 200_000
"""Queries that stand for a population."""


@dataclass(frozen=True)
class Population:
    """Two models, before and after, over cases shaped as CASE-Bench's are."""

    name: str
    lean: float
    """What the models add to the logit of safe: below 0 they are over-cautious."""
    arm: float
    """How far the two types of context are apart for them."""
    follow: float
    """How far they follow people within a type of context."""
    noise: float
    sure: float
    """What logits are multiplied by: above 1 probabilities lie near 0 and 1."""
    change: float = 0.5
    """What the model after adds to the logit of safe."""


POPULATIONS = (
    Population("cautious", lean=-1.2, arm=1.3, follow=0.25, noise=0.8, sure=0.8),
    Population("sure", lean=-0.2, arm=2.2, follow=0.2, noise=1.2, sure=5.0, change=0.4),
    Population("calibrated", lean=-0.3, arm=0.85, follow=0.35, noise=0.3, sure=0.99, change=0.15),
)

_GRID = np.linspace(-6, 6, 2001)
_RATES = [beta.ppf(norm.cdf(_GRID), a, b) for a, b in ((10.5, 6.1), (7.0, 21.7))]
"""The rate at which people call a case safe, by arm: beta, as fitted to CASE-Bench's votes."""


@dataclass(frozen=True)
class Study:
    """A drawn study: what people voted, and what two models said."""

    population: Population
    truth: FloatArray
    """Whether most of all people call the case safe. Shape ``(2 queries,)``."""
    before: Answers
    after: Answers
    replied_before: Answers
    replied_after: Answers


def draw_study(population: Population, queries: int, rng: np.random.Generator) -> Study:
    """A study of some queries; each has a case meant safe, and one meant unsafe, in this order."""
    shape = (queries, 2)
    hard = rng.standard_normal((queries, 1))
    people = (0.5 * hard + np.sqrt(0.75) * rng.standard_normal(shape)).clip(-6, 6)
    rate = np.stack([np.interp(people[:, k], _GRID, _RATES[k]) for k in (0, 1)], axis=1)
    votes = rng.binomial(VOTES, rate).astype(np.float64)
    of_query = rng.standard_normal((queries, 1))
    own = 0.6 * of_query + 0.8 * rng.standard_normal(shape)
    arms = np.array([1.0, -1.0])
    logit = population.lean + population.arm * arms + population.follow * people
    before = logit + population.noise * own
    other = 0.6 * rng.standard_normal((queries, 1)) + 0.8 * rng.standard_normal(shape)
    after = logit + population.change + population.noise * (0.9 * own + np.sqrt(0.19) * other)
    clusters = Clusters(np.repeat(np.arange(queries), 2), queries)
    share = votes / VOTES
    labels = Labels(share.ravel(), np.where(share == 0.5, 0.5, share > 0.5).ravel())
    made = []
    for u in (before, after):
        p = expit(population.sure * u)
        # A score of 1 to 10, as its protocol reads it; a probability with the digits of a float.
        p = (np.clip(np.ceil(10 * p), 1, 10) - 0.5) / 10 if population.sure < 1 else p
        made.append(_answers("probability", labels, (p > 0.5).astype(float), p, votes, clusters))
    for u in (before, after):
        helped = np.where(np.abs(u) < 0.2, 0.5, u > 0)
        made.append(_answers("respond", labels, helped, np.full(shape, np.nan), votes, clusters))
    return Study(population, (rate > 0.5).ravel().astype(float), *made)


def _answers(
    protocol: str,
    labels: Labels,
    verdict: FloatArray,
    p: FloatArray,
    votes: FloatArray,
    clusters: Clusters,
) -> Answers:
    n = verdict.size
    return Answers(
        protocol=protocol,
        truth=labels,
        verdict=verdict.ravel(),
        partial=verdict.ravel() == 0.5,
        tool_call=None,
        p_safe=p.ravel(),
        read=np.ones(n, bool),
        clusters=clusters,
        intended=np.tile(np.array(["safe", "unsafe"]), n // 2),
        pairs=np.arange(n).reshape(-1, 2),
        all_pairs=np.arange(n).reshape(-1, 2),
        epoch=np.zeros(n, np.int64),
        votes_safe=votes.ravel(),
        votes_unsafe=VOTES - votes.ravel(),
    )


def judging(study: Study, _: np.random.Generator) -> Figures:
    """Every measure of the verdicts after, and its change from those before."""
    return _with_changes(study.before, study.after)


def replying(study: Study, _: np.random.Generator) -> Figures:
    """Every measure of the replies after, and its change from those before."""
    found = _with_changes(study.replied_before, study.replied_after)
    called = [_call_tools(one) for one in (study.replied_before, study.replied_after)]
    return found | {"tool_call_rate": called[1], "change of tool_call_rate": called[1] - called[0]}


SHARED = (*outcomes(Family.JUDGEMENTS), "follows", "false_changes")
"""Measures of judgements that replies may have, too."""


def _with_changes(before: Answers, after: Answers) -> Figures:
    first, second = (measure(one) for one in (before, after))
    acts = is_acting(after.protocol)
    found: Figures = {}
    for name, value in second.items():
        key = f"{name} (replies)" if acts and name in SHARED else name
        found[key] = value
        if name in compared() or find(name).kind is MeasureKind.OUTCOME:
            found[f"change of {key}"] = value - first[name]
    return found


def _call_tools(replies: Answers) -> Estimate:
    """The rate of tool calls, were each partial reply one."""
    verdict = np.where(replies.partial, np.nan, replies.verdict)
    calling = replace(
        replies, verdict=verdict, partial=np.zeros_like(replies.partial), tool_call=replies.partial
    )
    return measure(calling, ["tool_call_rate"])["tool_call_rate"]


def gains(study: Study, _: np.random.Generator) -> Figures:
    """What a description by the deployer gains; a claim's gains are the same figures."""
    gains = refusal_gains(study.replied_before, study.replied_after)
    return {f"context_gain.{side}": gain for side, gain in gains.items()} | {
        "spoofing_gap": spoofing_gap(study.replied_before, study.replied_after)
    }


def shapley(study: Study, rng: np.random.Generator) -> Figures:
    """The share of one of three parts of the context in the accuracy, from eight runs."""
    truth, clusters = study.after.truth.safe, study.after.clusters
    told = study.after.verdict
    # With each part that is missing, three verdicts of ten are made by a coin.
    lost = rng.random((3, len(told))) < 0.3
    coin = (rng.random(len(told)) < 0.5).astype(float)
    terms = []
    for parts in range(8):
        there = [bool(parts >> part & 1) for part in range(3)]
        blind = lost[[not one for one in there]].any(axis=0)
        right = credits(truth, np.where(blind, coin, told))
        others = sum(there[1:])
        weight = factorial(others) * factorial(2 - others) / 6 * (1 if there[0] else -1)
        terms.append((weight, clustered_mean(right, clusters, share=True)))
    return {"shapley": combine(terms)}


TURNS, EPOCHS = 5, 5


def escalation(study: Study, rng: np.random.Generator) -> Figures:
    """The curve of conversations, five epochs a query; each turn is a figure."""
    queries = study.after.clusters.count
    give_way = expit(-2.5 + 1.5 * rng.standard_normal((queries, 1)))
    turn = rng.geometric(np.repeat(give_way, EPOCHS, axis=1)).ravel()
    clusters = Clusters(np.repeat(np.arange(queries), EPOCHS), queries)
    curve = kaplan_meier(np.minimum(turn, TURNS), turn <= TURNS, clusters)
    places = np.searchsorted(curve.turns, np.arange(1, TURNS + 1), side="right") - 1
    return {
        f"escalation, turn {at + 1}": (
            (float(curve.survival[place]), float(curve.low[place]), float(curve.high[place]))
            if place >= 0
            else (1.0, np.nan, np.nan)
        )
        for at, place in enumerate(places)
    }


Part = Callable[[Study, np.random.Generator], Figures]
PARTS: tuple[Part, ...] = (judging, replying, gains, shapley, escalation)


def intervals(
    population: Population,
    queries: int,
    rng: np.random.Generator,
    parts: Sequence[Part] = PARTS,
    wanted: Collection[str] = (),
) -> Intervals:
    """The figures of a study, by name, each with its interval; all, or those that are wanted."""
    study = draw_study(population, queries, rng)
    found = [one for part in parts for one in part(study, rng).items()]
    return {
        name: one if isinstance(one, tuple) else (one.value, *one.interval)
        for name, one in found
        if not wanted or name in wanted
    }


@dataclass(frozen=True)
class Cell:
    """How often a figure's interval held the truth in the studies of one size."""

    draws: int
    """Studies."""
    intervals: int
    """Those of them in which there was an interval."""
    holding: int
    """Those in which it held the truth."""

    @property
    def given(self) -> float:
        return self.intervals / self.draws

    @property
    def held(self) -> float:
        """NaN where there was no interval."""
        return self.holding / self.intervals if self.intervals else np.nan

    @property
    def is_shown(self) -> bool:
        return self.given >= USUAL

    def __add__(self, other: "Cell") -> "Cell":
        mine, more = astuple(self), astuple(other)
        return Cell(*(a + b for a, b in zip(mine, more, strict=True)))


@cache
def truths(population: Population) -> dict[str, float]:
    """What each figure is over so many queries that chance has no part in it."""
    rng = np.random.default_rng(0)
    return {name: value for name, (value, *_) in intervals(population, MANY, rng).items()}


def simulate(population: Population, queries: int, draws: int, seed: int) -> dict[str, Cell]:
    """Draw studies of one size, and count the intervals that hold the truth."""
    whole = truths(population)

    def count(
        times: int, rng: np.random.Generator, parts: Sequence[Part], wanted: set[str]
    ) -> dict[str, Cell]:
        found = {name: np.zeros(2, np.int64) for name in wanted or whole}
        for _ in range(times):
            for name, (_, low, high) in intervals(population, queries, rng, parts, wanted).items():
                found[name] += np.array([low <= high, low <= whole[name] <= high])
        return {name: Cell(times, *counts.tolist()) for name, counts in found.items()}

    cells = count(draws, np.random.default_rng([seed, queries]), PARTS, set())
    near = {name for name, cell in cells.items() if cell.is_shown and cell.held < NEAR}
    rng = np.random.default_rng([seed, queries, MORE])
    sample = draw_study(population, queries, rng)
    parts = [part for part in PARTS if near & part(sample, rng).keys()]
    more = count((MORE - 1) * draws, rng, parts, near) if near else {}
    return {name: cell + more[name] if name in more else cell for name, cell in cells.items()}


def lowest(cells: Sequence[Cell]) -> Cell:
    """Of several populations, the least coverage among those that mostly have an interval."""
    shown = [cell for cell in cells if cell.is_shown]
    if not shown:
        return max(cells, key=lambda cell: cell.given)
    return min(shown, key=lambda cell: cell.held)


USUAL = 0.5
"""Share of studies with an interval below which a figure's is called withheld."""


def tables(draws: int, seed: int, jobs: int) -> dict[str, list[Cell]]:
    """A row for each figure: the least coverage over the populations at each size."""
    work = [(one, size, draws, seed) for size in reversed(SIZES) for one in POPULATIONS]
    with ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(simulate, *zip(*work, strict=True)))
    by_size: dict[int, list[dict[str, Cell]]] = {size: [] for size in SIZES}
    for (_, size, *_), cells in zip(work, found, strict=True):
        by_size[size].append(cells)
    rows: dict[str, list[Cell]] = {}
    for name in found[0]:
        row = re.sub(r", turn \d", "", name)
        rows.setdefault(row, [])
    for row, cells in rows.items():
        for size in SIZES:
            names = [name for name in found[0] if re.sub(r", turn \d", "", name) == row]
            cells.append(lowest([one[name] for one in by_size[size] for name in names]))
    return rows


def kind_of(figure: str) -> str:
    """Kind of a figure, or of its change."""
    name = figure.removeprefix("change of ").removesuffix(" (replies)").partition(".")[0]
    if name in ("shapley", "escalation"):
        return name
    kind = str(find(name).kind)
    return f"{kind}, its change" if figure.startswith("change of ") else kind


def table_text(rows: dict[str, list[Cell]], draws: int) -> str:
    """The table of docs/method/statistics-appendix.md: of each kind the least coverage."""
    kinds: dict[str, list[str]] = {}
    for name in rows:
        kinds.setdefault(kind_of(name), []).append(name)
    lines = [
        f"Least coverage of 95 % intervals over {len(POPULATIONS)} populations, {draws} studies "
        "each, or as many as stand in brackets, and the figure that has it (`make coverage`):",
        "",
        "| kind | figures | " + " | ".join(f"{size} queries" for size in SIZES) + " |",
        "|---|---:|" + "---|" * len(SIZES),
    ]
    for kind, names in kinds.items():
        cells = [
            least_text({name: rows[name][at] for name in names}, draws) for at in range(len(SIZES))
        ]
        lines += [f"| {kind} | {len(names)} | {' | '.join(cells)} |"]
    return "\n".join(lines)


def least_text(cells: dict[str, Cell], draws: int) -> str:
    """The least coverage, and its figure."""
    shown = [(cell.held, name) for name, cell in cells.items() if cell.is_shown]
    if not shown:
        return "withheld"
    held, name = min(shown)
    drawn = cells[name].draws
    more = f" ({drawn})" if drawn > draws else ""
    return f"{held:.3f}{more} `{name}`".removeprefix("0")


def too_low(rows: dict[str, list[Cell]]) -> list[str]:
    """Figures with an interval whose coverage is below ``LEAST``."""
    return [
        name
        for name, cells in rows.items()
        if any(cell.is_shown and cell.held < LEAST for cell in cells)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="first studies of each size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--write", action="store_true", help="put the table into the document")
    chosen = parser.parse_args()
    rows = tables(chosen.draws, chosen.seed, chosen.jobs)
    text = table_text(rows, chosen.draws)
    print(text)
    if chosen.write:
        document = DOCS.read_text("utf-8")
        start, end = document.index(BEGIN) + len(BEGIN), document.index(END)
        DOCS.write_text(f"{document[:start]}\n{text}\n{document[end:]}", "utf-8")
    low = too_low(rows)
    print(f"below {LEAST}: {', '.join(low)}" if low else f"none is below {LEAST}", file=sys.stderr)
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
