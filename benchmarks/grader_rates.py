"""Coverage and width of corrected rates: the tables of docs/method/statistics-appendix.md.

    python benchmarks/grader_rates.py XSTEST               # all, a quarter of an hour on one core
    python benchmarks/grader_rates.py XSTEST --draws 50    # a first look
    python benchmarks/grader_rates.py XSTEST --write       # and put the tables into the document

XSTEST is a folder with XSTest's completions of two models, labelled by people
(``xstest_v2_completions_*.csv``) and by GPT-4 (``*_gpteval.csv``). The confusions of GPT-4 are
counted there; those of the rules are of models left out of their fit. Ends with 1 where a coverage
lies outside of 93 to 97 in 100 by more than the luck of the simulation.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Threads of the linear algebra only get in each other's way: the matrices are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

from casewise.cases import read_table
from casewise.protocols import ResponseClass
from casewise.scores._grader_agreement import reader_error
from casewise.scores._labelled_replies import load_labelled
from casewise.statistics import (
    NOT_LABELLED,
    CheckSample,
    Clusters,
    Estimate,
    GradedReplies,
    Question,
    Resampling,
    paired_change,
    prediction_powered,
    rogan_gladen,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

DOCS = Path(__file__).resolve().parents[1] / "docs/method/statistics-appendix.md"
BEGIN, END = "<!-- grader rates -->", "<!-- end of grader rates -->"

CLASSES = (ResponseClass.COMPLIANCE, ResponseClass.PARTIAL, ResponseClass.REFUSAL)
WORTH = np.array([0.0, 0.5, 1.0])
"""How much of a refusal each is."""
REFUSAL = Question(np.array([False, True, True]), WORTH)
GPT4 = {"1_full_compliance": 0, "2_full_refusal": 2, "3_partial_refusal": 1}

MODELS = ("llama2orig", "mistralguard")
RATES = (0.05, 0.2, 0.5, 0.8, 0.95)
CHECKS = (100, 300)
SHOWN, SHOWN_RATES = 100, (0.05, 0.5, 0.95)
"""Labels, and true rates, whose rows the document has."""
RUN = 450
"""Replies of a simulated run, to a query each."""
INNER = 500
"""Draws of each interval."""
LEAST, MOST = 0.93, 0.97
TIMES_ELSEWHERE = 4
"""Runs a row for each draw: a coverage of .96 by 1,000 runs is above .97 in one row of twenty."""


@dataclass(frozen=True)
class Graded:
    """One model's replies: people's classes and graders'. Shapes ``(n,)``."""

    person: IntArray
    by: dict[str, IntArray]
    """By grader; ``NOT_LABELLED`` where it gave no class that counts."""
    unsafe: BoolArray
    """Whether the query is one that should be refused."""


def read_xstest(folder: Path) -> dict[str, Graded]:
    """The replies of each model."""
    found = {}
    for model in MODELS:
        path = folder / f"xstest_v2_completions_{model}.csv"
        replies = load_labelled(path)
        types = [row["type"] for _, row in read_table(path).rows if isinstance(row, dict)]
        unsafe = [one.startswith("contrast") for one in types]
        rules = read_unseen(model, unsafe, [one.label for one in replies])
        said = {
            row["id"]: GPT4.get(row["gpt4_label"].strip(), NOT_LABELLED)
            for _, row in read_table(path.with_stem(f"{path.stem}_gpteval")).rows
            if isinstance(row, dict)
        }
        found[model] = Graded(
            np.array([CLASSES.index(one.label) for one in replies]),
            {
                "rules": np.array(
                    [CLASSES.index(one) if one in CLASSES else NOT_LABELLED for one in rules]
                ),
                "GPT-4": np.array([said[one.id] for one in replies]),
            },
            np.array(unsafe),
        )
    return found


def read_unseen(
    model: str, unsafe: Sequence[bool], labels: Sequence[ResponseClass]
) -> list[ResponseClass]:
    """What the rules say of a model that they weren't fitted to, as often as the counts that ship.

    The rules are fitted to these very replies, so what they say of them is too good. Which replies
    of a side and label are read otherwise is drawn.
    """
    rng, counts = np.random.default_rng(0), reader_error().left_out[f"xstest, {model}"].counts
    waiting = {
        (side == "unsafe", label): rng.permutation(
            [said for said, n in row.items() for _ in range(n)]
        ).tolist()
        for side, rows in counts.items()
        for label, row in rows.items()
    }
    return [ResponseClass(waiting[key].pop()) for key in zip(unsafe, labels, strict=True)]


def confusion(replies: Sequence[Graded], grader: str) -> FloatArray:
    """What each class is graded as, and how common it is. Shape ``(3, 3)``, in shares of all."""
    counts = np.zeros((3, 3))
    for one in replies:
        graded = one.by[grader] != NOT_LABELLED
        np.add.at(counts, (one.person[graded], one.by[grader][graded]), 1)
    return counts / counts.sum()


# --- Labels from elsewhere -----------------------------------------------------------------------


def shares(rate: float, partial: float) -> FloatArray:
    """The classes of a run with a rate of refusal, a share of whose refusals are in part."""
    refusing = rate / (1 - partial / 2)
    return np.array([1 - refusing, refusing * partial, refusing * (1 - partial)])


@dataclass(frozen=True)
class Elsewhere:
    """How often a rate and a change hold the truth, with a check sample from elsewhere."""

    grader: str
    labels: int
    rate: float
    other: float
    """The rate of the run after."""
    held: float
    width: float
    held_change: float
    width_change: float
    held_elsewhere: float
    """The rate, where the run's refusals are in part far more often than the check sample's."""


OTHER_MIX, MOST_PARTLY = 0.4, 0.79
"""A share of partial replies among refusals, and the highest rate that it allows."""
RARE_MIX = 0.05
"""Of runs with a rate of .95, which a usual share of partial replies does not allow."""


def simulate_elsewhere(
    joint: FloatArray,
    grader: str,
    draws: int,
    seed: int,
    checks: Sequence[int] = CHECKS,
    rates: Sequence[float] = RATES,
) -> list[Elsewhere]:
    """Simulate runs of every rate, each with a check sample of its own."""
    of_class = joint.sum(axis=1)
    said = joint / of_class[:, None]
    usual = of_class[1] / of_class[1:].sum()
    found = []
    for labels in checks:
        for rate, other in zip(rates, (*rates[1:], rates[-2]), strict=True):
            partly = min(rate, MOST_PARTLY)
            mix = RARE_MIX if max(rate, other) > 0.9 else usual
            rng = np.random.default_rng([seed, labels, round(100 * rate)])
            # As common as where the labels are from, but for the mix.
            check_shares = shares(float(of_class @ WORTH) * (1 - mix / 2), mix)
            held, widths = np.zeros(3), np.zeros(2)
            for draw in range(draws):
                label = rng.choice(3, labels, p=check_shares)
                check = CheckSample(label, _grade(label, said, rng), _alone(labels))
                runs = [
                    _run(shares(one, share), said, rng)
                    for one, share in ((rate, mix), (other, mix), (partly, OTHER_MIX))
                ]
                inner = Resampling(INNER, draw)
                first, second, odd = (
                    rogan_gladen(run, check, REFUSAL, inner, place)
                    for place, run in enumerate(runs)
                )
                change = paired_change(first, second)
                held += _holds(first, rate), _holds(change, other - rate), _holds(odd, partly)
                widths += _width(first), _width(change)
            a, b, c = (held / draws).tolist()
            wide, wide_change = (widths / draws).tolist()
            found.append(Elsewhere(grader, labels, rate, other, a, wide, b, wide_change, c))
    return found


def _grade(label: IntArray, said: FloatArray, rng: np.random.Generator) -> IntArray:
    return np.asarray((rng.random(len(label))[:, None] > said[label].cumsum(axis=1)).sum(axis=1))


def _alone(n: int) -> Clusters:
    return Clusters(np.arange(n), n)


def _none(n: int) -> BoolArray:
    return np.zeros(n, bool)


def _run(of_class: FloatArray, said: FloatArray, rng: np.random.Generator) -> GradedReplies:
    graded = _grade(rng.choice(3, RUN, p=of_class), said, rng)
    return GradedReplies(graded, np.tile(WORTH, (RUN, 1)), np.ones(RUN), _alone(RUN), _none(RUN))


def _holds(found: Estimate, truth: float) -> bool:
    low, high = found.interval
    return bool(low - 1e-12 <= truth <= high + 1e-12)


def _width(found: Estimate) -> float:
    low, high = found.interval
    return high - low


# --- Labels of a random part ---------------------------------------------------------------------


@dataclass(frozen=True)
class RandomPart:
    """A corrected rate by labels of a random part of the run."""

    model: str
    """Or both models, of whose rates it is the difference."""
    rate: str
    labels: int
    """Of all replies of a model."""
    truth: float
    raw: float
    held: float
    """Where the run stands and the labels are drawn."""
    held_anew: float
    """Where its queries are drawn as well."""
    width: float
    alone: float
    """Width by the same labels alone."""
    bound: float
    """Width at the least variance that a multiple of the grades allows."""


RATE_NAMES = ("over_refusal", "under_refusal", "appropriate", "partial_rate")


def _rates(one: Graded) -> Iterator[tuple[FloatArray, FloatArray]]:
    """What each class counts, and the weight of each reply, of ``RATE_NAMES``."""
    every, unsafe = np.ones(len(one.unsafe)), one.unsafe.astype(np.float64)
    yield np.outer(every, WORTH), 1 - unsafe
    yield np.outer(every, 1 - WORTH), unsafe
    yield np.where(one.unsafe[:, None], WORTH, 1 - WORTH), every
    yield np.outer(every, [0.0, 1.0, 0.0]), every


def simulate_part(
    replies: dict[str, Graded],
    labels: int,
    draws: int,
    seed: int,
    rates: Sequence[str] = RATE_NAMES,
) -> list[RandomPart]:
    """Draw the labels of a part of each model's replies, and correct its rates and their change."""
    found = []
    for rate in rates:
        place = RATE_NAMES.index(rate)
        made = [
            _of_model(one, place, labels, draws, [seed, n])
            for n, one in enumerate(replies.values())
        ]
        for model, (one, _) in zip(replies, made, strict=True):
            found.append(RandomPart(model, rate, labels, *one))
        first, second = (figures for figures, _ in made)
        truth = second[0] - first[0]
        pairs = list(zip(made[0][1], made[1][1], strict=True))
        changes = [[paired_change(a, b) for a, b in zip(x, y, strict=True)] for x, y in pairs]
        held, anew = (float(np.mean([_holds(one[k], truth) for one in changes])) for k in (0, 2))
        width, alone = (float(np.mean([_width(one[k]) for one in changes])) for k in (0, 1))
        bound = float(np.hypot(first[-1], second[-1]))
        name = " less ".join(reversed(replies))
        found.append(
            RandomPart(
                name, rate, labels, truth, second[1] - first[1], held, anew, width, alone, bound
            )
        )
    return found


def _of_model(
    one: Graded, place: int, labels: int, draws: int, seed: list[int]
) -> tuple[tuple[float, ...], list[tuple[Estimate, ...]]]:
    """The figures of ``RandomPart``, and of each draw three estimates.

    These are the corrected rate, that of the labels alone, and the corrected one of queries that
    were drawn anew.
    """
    graded = one.by["rules"] != NOT_LABELLED
    person, grades = one.person[graded], one.by["rules"][graded]
    worth, weight = (array[graded] for array in list(_rates(one))[place])
    n = len(person)
    run = GradedReplies(grades, worth, weight, _alone(n), _none(n))
    y, f = run.as_if(person), run.as_if(grades)
    truth, raw = float(np.average(y, weights=weight)), float(np.average(f, weights=weight))
    # A fourth grade that says the same of every reply: what is left are the labels alone.
    told, nothing = np.column_stack([worth, np.full(n, 0.5)]), np.full(n, len(WORTH))
    constant = GradedReplies(nothing, told, weight, run.clusters, run.certain)
    inside = weight > 0
    rho = float(np.corrcoef(y[inside], f[inside])[0, 1]) if f[inside].std() else 0.0
    size, part = inside.sum(), inside.sum() * labels / n
    variance = y[inside].var() * ((1 - rho**2) / part + rho**2 / size)
    rng = np.random.default_rng([*seed, labels])
    made, held, widths = [], np.zeros(2), np.zeros(2)
    for draw in range(draws):
        inner = Resampling(INNER, draw)
        label = np.full(n, NOT_LABELLED)
        drawn = rng.choice(n, labels, replace=False)
        label[drawn] = person[drawn]
        again = rng.integers(n, size=n)
        other = GradedReplies(grades[again], worth[again], weight[again], run.clusters, run.certain)
        labelled = np.where(label == NOT_LABELLED, NOT_LABELLED, person[again])
        ones = np.ones(n)
        found = (
            prediction_powered(run, label, ones, inner, seed[1]),
            prediction_powered(constant, label, ones, inner, seed[1]),
            prediction_powered(other, labelled, ones, inner, seed[1]),
        )
        made.append(found)
        held += _holds(found[0], truth), _holds(found[2], truth)
        widths += _width(found[0]), _width(found[1])
    shares_held, mean_widths = (held / draws).tolist(), (widths / draws).tolist()
    bound = 2 * 1.96 * float(np.sqrt(variance))
    return (truth, raw, *shares_held, *mean_widths, bound), made


# --- The tables ----------------------------------------------------------------------------------


def tables(elsewhere: Sequence[Elsewhere], parts: Sequence[RandomPart], draws: int) -> str:
    """Both tables of docs/method/statistics-appendix.md."""
    lines = [
        f"Labels from elsewhere, {RUN} replies a run, {TIMES_ELSEWHERE * draws} runs a row:",
        "",
        "| grader | labels | true rate | held | width | change to | held | width | other mix |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {one.grader} | {one.labels} | {_short(one.rate)} | {_short(one.held)} | "
            f"{_short(one.width)} | {_short(one.other)} | {_short(one.held_change)} | "
            f"{_short(one.width_change)} | {_short(one.held_elsewhere)} |"
            for one in elsewhere
            if one.labels == SHOWN and one.rate in SHOWN_RATES
        ),
        "",
        f"Labels of a random part of XSTest's replies, graded by the rules, {draws} draws a row:",
        "",
        "| model | rate | labels | true | as graded | held | held anew | width | labels alone | "
        "bound |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
        *(
            f"| {one.model} | `{one.rate}` | {one.labels} | {_short(one.truth)} | "
            f"{_short(one.raw)} | {_short(one.held)} | {_short(one.held_anew)} | "
            f"{_short(one.width)} | {_short(one.alone)} | {_short(one.bound)} |"
            for one in parts
            if one.labels == SHOWN
        ),
    ]
    return "\n".join(lines)


def _short(share: float) -> str:
    return f"{share:.3f}".replace("0.", ".", 1)


def missed(elsewhere: Sequence[Elsewhere], parts: Sequence[RandomPart], draws: int) -> list[str]:
    """Coverages that are off by more than three errors of luck."""
    luck = 3 * np.sqrt(LEAST * (1 - LEAST) / draws)
    luck_elsewhere = luck / np.sqrt(TIMES_ELSEWHERE)
    low, high = LEAST - luck_elsewhere, MOST + luck_elsewhere
    found = [
        f"{one.grader}, {one.labels} labels, {one.rate}: {one.held:.3f}, {one.held_change:.3f}"
        for one in elsewhere
        if not (low <= one.held <= high and low <= one.held_change <= high)
    ]
    return found + [
        f"{one.model}, {one.rate}, {one.labels} labels: {one.held:.3f}"
        for one in parts
        if one.labels >= CHECKS[0] and one.held < LEAST - luck
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("xstest", type=Path, help="the folder of XSTest's completions")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="put the tables into the document")
    chosen = parser.parse_args()
    replies = read_xstest(chosen.xstest)
    elsewhere = [
        row
        for grader in ("rules", "GPT-4")
        for row in simulate_elsewhere(
            confusion(list(replies.values()), grader),
            grader,
            TIMES_ELSEWHERE * chosen.draws,
            chosen.seed,
        )
    ]
    parts = [
        row
        for labels in (100, 50)
        for row in simulate_part(replies, labels, chosen.draws, chosen.seed)
    ]
    text = tables(elsewhere, parts, chosen.draws)
    print(text)
    if chosen.write:
        document = DOCS.read_text("utf-8")
        start, end = document.index(BEGIN) + len(BEGIN), document.index(END)
        DOCS.write_text(f"{document[:start]}\n{text}\n{document[end:]}", "utf-8")
    off = missed(elsewhere, parts, chosen.draws)
    print("\n".join(off) or "all within bounds", file=sys.stderr)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
