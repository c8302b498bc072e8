"""Bounds of a judge's accuracy against all people, from few votes a case: are they of use?

    python benchmarks/vote_noise.py                    # without CASE-Bench's votes
    python benchmarks/vote_noise.py ../shared/data --write

A case has a true rate, the share of all people who find it safe; its label is the side of 1/2 on
which that lies. Votes are drawn from the rate, and a judge's verdict may depend on the rate in any
way. Votes on cases of either verdict are then a mixture of binomials, whose mixing distribution has
no form: the likeliest one is that of Kiefer and Wolfowitz (1956, doi:10.1214/aoms/1177728066), on a
grid of rates. Bounds of the accuracy are its least and its most among the mixtures whose likelihood
ratio to the likeliest is within the quantile of chi-square; those of infinitely many cases are a
linear programme. Cases are taken as independent, which makes bounds too narrow if anything.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog, nnls
from scipy.stats import beta, binom, chi2

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DOCS = Path(__file__).resolve().parents[1] / "docs/method/statistics-appendix.md"
BEGIN, END = "<!-- vote noise -->", "<!-- end of vote noise -->"

USEFUL = 0.04
"""Widest bounds that would be printed as one number."""
CASES = 900
"""Cases of a study, as many as CASE-Bench has."""
TOLERANCE = 1e-3
"""Error of a bound."""
CLOSE = 1e-5
"""Error of the log likelihood of a case."""
HEAVY = 30.0
"""Weight of the rows that hold sums of weights, in least squares."""

KNOWN = 1e-6
"""Error of a cell's share that infinitely many cases leave, for the sake of the solver."""

ANGLES = np.sort(np.append((np.arange(60) + 0.5) / 60, [0.4995, 0.5005]))
RATES: Floats = np.sin(np.pi / 2 * ANGLES) ** 2
"""True rates, closer than votes can tell apart, none of them 1/2. Shape ``(rates,)``."""
SAFE = RATES > 0.5


# --- bounds ---------------------------------------------------------------------------------


@cache
def kernel(votes: int) -> Floats:
    """Chance of each cell by verdict and rate.

    Cells are 0 to ``votes`` safe votes of verdict unsafe, then of verdict safe; so are components.
    Shape ``(2 (votes + 1), 2 rates)``.
    """
    one = binom.pmf(np.arange(votes + 1)[:, None], votes, RATES[None])
    return np.kron(np.eye(2), one)


RIGHT: Floats = np.concatenate([~SAFE, SAFE]).astype(float)
"""1 where a verdict is right about a rate. Shape ``(2 rates,)``."""


def log_likelihood(counts: Floats, cells: Floats) -> float:
    """Logarithm of the likelihood of cells, without the constant."""
    seen = counts > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = float(counts[seen] @ np.log(cells[seen]))
    return found if math.isfinite(found) else -math.inf


def likeliest(counts: Floats, chances: Floats, accuracy: float | None = None) -> Floats:
    """Weights of the likeliest mixture, of one accuracy if it is named.

    By the constrained Newton method of Wang (2007, doi:10.1111/j.1467-9868.2007.00583.x). Shape
    ``(components,)``.
    """
    share = counts[counts > 0] / counts.sum()
    seen = chances[counts > 0]
    root = np.sqrt(share)
    wholes, sums = (
        (np.ones((1, chances.shape[1])), np.ones(1))
        if accuracy is None
        else (np.stack([RIGHT, 1 - RIGHT]), np.array([accuracy, 1 - accuracy]))
    )
    weights = (sums / wholes.sum(axis=1)) @ wholes
    for _ in range(100):
        ratios = seen / (seen @ weights)[:, None]
        slope = share @ ratios
        if sums @ (wholes * slope).max(axis=1) < 1 + CLOSE:
            break
        rows = np.vstack([root[:, None] * ratios, HEAVY * wholes])
        # Without the multiplier of each sum, least squares would overshoot it.
        pull = wholes @ (slope * weights) / np.maximum(sums, 1e-300)
        other, _ = nnls(rows, np.concatenate([2 * root, HEAVY * sums - pull / HEAVY]))
        found = wholes @ other
        kept = np.where(found > 0, sums / np.maximum(found, 1e-300), 0.0)
        other = np.where((found > 0) @ wholes, other * (kept @ wholes), weights)
        step, now = 1.0, log_likelihood(share, seen @ weights)
        while (
            step > 1e-9
            and log_likelihood(share, seen @ (weights + step * (other - weights))) <= now
        ):
            step /= 2
        weights = weights + step * (other - weights)
    return np.asarray(weights)


@dataclass(frozen=True)
class Bounds:
    """Accuracies against all people that the votes allow."""

    low: float
    high: float
    misfit: float
    """Twice the log likelihood ratio of the cells' own shares to the likeliest mixture."""

    @property
    def width(self) -> float:
        return self.high - self.low


def bounds(counts: Floats, votes: int, level: float = 0.95) -> Bounds:
    """Bounds from the counts of cells; shape ``(2 (votes + 1),)``."""
    chances = kernel(votes)
    best = likeliest(counts, chances)
    most = log_likelihood(counts, chances @ best)
    floor = most - chi2.ppf(level, 1) / 2

    def over(accuracy: float) -> float:
        mixture = likeliest(counts, chances, accuracy)
        return log_likelihood(counts, chances @ mixture) - float(floor)

    near = float(np.clip(RIGHT @ best, TOLERANCE, 1 - TOLERANCE))

    def end(far: float) -> float:
        return far if over(far) >= 0 else float(brentq(over, far, near, xtol=TOLERANCE))

    own = log_likelihood(counts, counts / counts.sum())
    return Bounds(end(0.0), end(1.0), 2 * (own - most))


def identified(mixture: Floats, votes: int) -> tuple[float, float]:
    """Bounds that infinitely many cases would leave. Shape of the mixture ``(2 rates,)``."""
    chances = kernel(votes)
    cells = chances @ mixture
    within = {
        "A_ub": np.vstack([chances, -chances]),
        "b_ub": np.concatenate([cells, -cells]) + KNOWN,
    }
    low, high = (linprog(side * RIGHT, **within) for side in (1, -1))
    return float(low.fun), float(-high.fun)


def misfits(mixture: Floats, votes: int, rng: np.random.Generator) -> Floats:
    """Misfits of studies that are drawn from a mixture, in order. Shape ``(DRAWS,)``."""
    chances = kernel(votes)
    cells = chances @ mixture
    found = []
    for counts in rng.multinomial(CASES, cells / cells.sum(), DRAWS).astype(float):
        own = log_likelihood(counts, counts / CASES)
        found.append(2 * (own - log_likelihood(counts, chances @ likeliest(counts, chances))))
    return np.sort(found)


# --- judges ---------------------------------------------------------------------------------

Judge = Callable[[Ints, int], Floats]
"""Chance of the verdict safe by safe votes (a column) of a number, and by rate."""


def wrong(errors: Floats) -> Judge:
    """Judge that errs with a chance of its own at each rate, whatever the votes."""
    return lambda safe, _: np.where(SAFE, 1 - errors, errors) + 0.0 * safe


def of_votes(safe: Ints, votes: int) -> Floats:
    """Judge fitted on the votes: it says in .95 what most of them say."""
    most = np.where(2 * safe == votes, 0.5, 2 * safe > votes)
    return 0.05 + 0.9 * most + 0.0 * RATES


JUDGES: dict[str, Judge] = {
    "always right": wrong(np.zeros(len(RATES))),
    "right in .9 of cases": wrong(np.full(len(RATES), 0.1)),
    "erring near the line": wrong(0.5 * np.exp(-(((RATES - 0.5) / 0.1) ** 2))),
    "fitted on the votes": of_votes,
}


@dataclass(frozen=True)
class World:
    """Chances of cells, and the accuracy against all people, of a judge among cases."""

    cells: Floats
    accuracy: float
    mixture: Floats | None
    """Weights by verdict and rate; none of a judge that follows the votes."""


def world(shares: Floats, judge: Judge, votes: int) -> World:
    """A judge of cases whose true rates have these shares. Shape of the shares ``(rates,)``."""
    safe = np.arange(votes + 1)[:, None]
    drawn = binom.pmf(safe, votes, RATES[None]) * shares
    says = judge(safe, votes)
    right = float((drawn * np.where(SAFE, says, 1 - says)).sum())
    cells = np.concatenate([(drawn * (1 - says)).sum(axis=1), (drawn * says).sum(axis=1)])
    mixture = np.concatenate([shares * (1 - says[0]), shares * says[0]])
    return World(cells / cells.sum(), right, mixture if np.ptp(says, axis=0).max() == 0 else None)


def beta_shares(a: float, b: float) -> Floats:
    """Shares of the true rates, of a beta distribution."""
    found = np.asarray(beta.pdf(RATES, a, b) * np.gradient(RATES))
    return np.asarray(found / found.sum())


def smooth_shares(counts: Floats) -> Floats:
    """Shares of the true rates that a hundred steps of EM make of flat ones.

    The likeliest distribution is a few points, which votes would tell better than any real one.
    Shape of the counts by safe votes ``(votes + 1,)``.
    """
    chances = kernel(len(counts) - 1)[: len(counts), : len(RATES)]
    shares = np.gradient(RATES)
    for _ in range(100):
        shares = shares * (counts / (chances @ shares) @ chances) / counts.sum()
    return np.asarray(shares)


# --- CASE-Bench -----------------------------------------------------------------------------


def votes_of(data: Path) -> Ints:
    """Safe votes among the 20 of each of CASE-Bench's cases."""
    records = json.loads((data / "casebench/CASEBench_data.json").read_text("utf-8"))
    return np.array([record["scores"][:20].count(1) for record in records])


PUBLISHED = {
    "gpt-4o": "safety_gpt-4o/output_binary.json",
    "llama370B": "safety_llama370B/output_binary.json",
}


def published(data: Path) -> Iterator[tuple[str, Floats]]:
    """Counts of cells of the verdicts that were published with CASE-Bench."""
    for model, name in PUBLISHED.items():
        records = json.loads((data / "casebench/exp" / name).read_text("utf-8"))
        cell = [
            21 * (record[model] == "safe") + record["scores"][:20].count(1) for record in records
        ]
        yield model, np.bincount(cell, minlength=42).astype(float)


# --- the table ------------------------------------------------------------------------------

VOTES, MANY_VOTES = 20, 100
DRAWS = 100
"""Studies of a row, and draws by which a misfit is judged."""


def three(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def row(name: str, judge: str, shares: Floats, seed: int) -> str:
    """One judge among cases of one kind: coverage and widths."""
    one = world(shares, JUDGES[judge], VOTES)
    rng = np.random.default_rng(seed)
    studies = rng.multinomial(CASES, one.cells, DRAWS).astype(float)
    found = [bounds(counts, VOTES) for counts in studies]
    fits = likeliest(studies[0], kernel(VOTES)) if one.mixture is None else one.mixture
    limit = float(np.quantile(misfits(fits, VOTES, rng), 0.95))
    held = np.mean([b.low - TOLERANCE <= one.accuracy <= b.high + TOLERANCE for b in found])
    width = float(np.mean([b.width for b in found]))
    useful = float(np.mean([b.width < USEFUL for b in found]))
    rejected = float(np.mean([b.misfit > limit for b in found]))
    ever = []
    for votes in (VOTES, MANY_VOTES):
        mixture = world(shares, JUDGES[judge], votes).mixture
        ends = (math.nan, math.nan) if mixture is None else identified(mixture, votes)
        ever.append(three(ends[1] - ends[0]) if ends[0] == ends[0] else "none fits")
    cells = [three(one.accuracy), three(float(held)), three(width), three(useful), three(rejected)]
    return " | ".join([f"| {name} | {judge}", *cells, *ever]) + " |"


def table(data: Path | None) -> Iterator[str]:
    """The lines of the table, and sentences on CASE-Bench's own votes."""
    kinds = {"Beta(2, 2)": beta_shares(2, 2), "contested, Beta(10, 10)": beta_shares(10, 10)}
    if data:
        counts = np.bincount(votes_of(data), minlength=VOTES + 1).astype(float)
        kinds["as CASE-Bench's votes"] = smooth_shares(counts)
    else:
        print("No folder of data is named: rows of CASE-Bench's votes are left out.")
    yield (
        f"{CASES} cases with {VOTES} votes each, {DRAWS} studies a row; the last two columns are "
        f"of infinitely many cases with {VOTES} and with {MANY_VOTES} votes each:"
    )
    yield ""
    yield (
        "| true rates | judge | accuracy | held | width | narrower than .04 | misfit seen | "
        f"width at {VOTES} | at {MANY_VOTES} |"
    )
    yield "|---|---|" + "---:|" * 7
    for seed, (name, shares) in enumerate(kinds.items()):
        for judge in JUDGES:
            yield row(name, judge, shares, seed)
    if data:
        yield ""
        yield from own_votes(data)


def own_votes(data: Path) -> Iterator[str]:
    """Sentences on the verdicts that were published with CASE-Bench."""
    for model, counts in published(data):
        found = bounds(counts, VOTES)
        fits = likeliest(counts, kernel(VOTES))
        drawn = misfits(fits, VOTES, np.random.default_rng(0))
        p = (1 + int((drawn >= found.misfit).sum())) / (1 + DRAWS)
        yield (
            f"CASE-Bench's own votes beside the verdicts of {model}: {three(found.low)} to "
            f"{three(found.high)}; of {DRAWS} studies drawn from the likeliest mixture "
            f"{int((drawn >= found.misfit).sum())} fit it as badly (p {p:.2g})."
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, nargs="?", help="folder that holds casebench/")
    parser.add_argument("--write", action="store_true", help="put the table into the appendix")
    chosen = parser.parse_args()
    lines = []
    for line in table(chosen.data):
        print(line, flush=True)
        lines.append(line)
    if chosen.write:
        document = DOCS.read_text("utf-8")
        start, end = document.index(BEGIN) + len(BEGIN), document.index(END)
        text = "\n".join(lines)
        DOCS.write_text(f"{document[:start]}\n{text}\n{document[end:]}", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
