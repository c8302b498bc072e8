"""Rates corrected by 50 labels as ``casewise graders sample`` draws them: do their intervals hold?

    python benchmarks/drawn_labels.py ../shared/data              # all, ten minutes on one core
    python benchmarks/drawn_labels.py ../shared/data --draws 100  # a first look
    python benchmarks/drawn_labels.py ../shared/data --write      # and put the table into its page

The folder has XSTest's completions (``xstest``) and replies with labels (``replies``). A run of 450
replies has a true rate of refusals, and is made of graders whose errors are set, or of real replies
that are drawn anew, with the grades and doubts of the reader that ships (which was fitted to them,
so it doubts them less than others) or of string match (which doubts nothing). Of each run replies
are drawn, labelled by people's labels, and its rate corrected. Ends with 1 where an interval holds
the rate in fewer than 93 of 100 runs, by more than the luck of the simulation.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

# Threads of the linear algebra only get in each other's way: the matrices are small.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl

from casewise.choices import Draw
from casewise.protocols import READER_VERSION, ResponseClass, read_reply, string_match
from casewise.scores._labelled_replies import GRADES, load_labelled
from casewise.scores._reply_sample import allocate, cut_strata, draw_within, spread_of_doubt
from casewise.statistics import (
    NOT_LABELLED,
    BoolArray,
    Clusters,
    FloatArray,
    GradedReplies,
    IntArray,
    Resampling,
    prediction_powered,
)

DOCS = Path(__file__).resolve().parents[1] / "docs/method/statistics-appendix.md"
BEGIN, END = "<!-- drawn labels -->", "<!-- end of drawn labels -->"

RUN = 450
LABELS = 50
RATES = (0.02, 0.05, 0.2, 0.5, 0.8, 0.95)
SHOWN = 0.05
"""Rate whose rows the document has, beside the row of 100 labels."""
INNER = 500
"""Draws of each interval."""
LEAST = 0.93
UNTOLD = len(GRADES)
"""Number of the class of a reply that the grader couldn't tell."""
WORTH = np.array([0.0, 0.5, 1.0, 0.5])
"""Worth of each class as a refusal."""
NAMES = [*GRADES, ResponseClass.UNDETERMINED]


@dataclass(frozen=True)
class Replies:
    """Replies with people's classes and a grader's. Shapes ``(n,)``."""

    person: IntArray
    graded: IntArray
    doubt: FloatArray
    """NaN where nobody measured it."""


@dataclass(frozen=True)
class Grader:
    """A grader whose errors are set, on replies that comply or refuse."""

    name: str
    finds: float
    """Share of refusals that it calls so."""
    passes: float
    """Share of compliance that it calls so."""
    doubts: float = 0.0
    """Share of the replies that it doubts; these it gets wrong in 3 of 10, and half of them it
    can't tell. It knows the chance of its error on each reply."""

    def grade(self, person: IntArray, rng: np.random.Generator) -> Replies:
        """Grades of replies."""
        doubted = rng.random(len(person)) < self.doubts
        right = np.where(doubted, 0.7, np.where(person > 0, self.finds, self.passes))
        graded = np.where(rng.random(len(person)) < right, person, 2 - person)
        graded = np.where(doubted & (rng.random(len(person)) < 0.5), UNTOLD, graded)
        none = np.full(len(person), np.nan)
        return Replies(person, graded, np.where(doubted, 0.3, 0.05) if self.doubts else none)


GRADERS = (
    Grader("right in .99", 0.99, 0.99),
    Grader("finds .95, passes .9", 0.95, 0.9),
    Grader("finds .9, passes .95", 0.9, 0.95),
    Grader("finds .7, passes .8", 0.7, 0.8),
    Grader("right in .99, doubts a fifth", 0.99, 0.99, 0.2),
    Grader("right in .95, doubts a fifth", 0.95, 0.95, 0.2),
)


def read_real(folder: Path) -> Iterator[tuple[str, Replies]]:
    """Real replies with labels, under the names of their source and their grader."""
    completions = sorted((folder / "xstest").glob("xstest_v2_completions_*.csv"))
    labelled = [load_labelled(path) for path in completions if not path.stem.endswith("eval")]
    sources: dict[str, list[tuple[str | None, str, str]]] = {
        "xstest": [(one.query, one.reply, str(one.label)) for file in labelled for one in file]
    }
    for name in ("speechmap", "harmful_prompts"):
        lines = (folder / "replies" / f"{name}.jsonl").read_text("utf-8").splitlines()
        records = [one for one in map(json.loads, lines) if one["label"]]
        sources[name] = [(one["query"], one["reply"], one["label"]) for one in records]
    for name, replies in sources.items():
        person = np.array([NAMES.index(ResponseClass(label)) for *_, label in replies])
        read = [read_reply(reply, query) for query, reply, _ in replies]
        classes = [NAMES.index(one.response_class or NAMES[UNTOLD]) for one in read]
        doubts = [np.nan if one.doubt is None else one.doubt for one in read]
        yield f"{name}, reader", Replies(person, np.array(classes), np.array(doubts))
        matched = [NAMES.index(string_match(reply)) for _, reply, _ in replies]
        none = np.full(len(replies), np.nan)
        yield f"{name}, string match", Replies(person, np.array(matched), none)


def make_run(source: Grader | Replies, rate: float, rng: np.random.Generator) -> Replies:
    """A run whose replies have a true rate of refusals."""
    if isinstance(source, Grader):
        return source.grade(2 * (rng.random(RUN) < rate), rng)
    refusing = source.person > 0
    partial = min(float((source.person[refusing] == 1).mean()), 2 * (1 - rate))
    share = rate / (1 - partial / 2)
    said = rng.choice(3, RUN, p=np.array([1 - share, share * partial, share * (1 - partial)]))
    at = np.empty(RUN, np.int64)
    for one in range(3):
        here = said == one
        if here.any():
            at[here] = rng.choice(np.flatnonzero(source.person == one), here.sum())
    return Replies(source.person[at], source.graded[at], source.doubt[at])


@dataclass(frozen=True)
class Cell:
    """Corrected rates of many runs of one true rate."""

    source: str
    labels: int
    rate: float
    graded: float
    """Mean rate as graded."""
    corrected: float
    graded_error: float
    """Root of the mean squared error as graded."""
    corrected_error: float
    held: float
    """Share of the intervals that hold the true rate."""
    held_of_run: float
    """Share of those that hold the rate of the run's own replies."""
    width: float


def simulate(
    name: str, source: Grader | Replies, rate: float, draws: int, labels: int = LABELS
) -> Cell:
    """Draw runs, label some replies of each as ``graders sample`` draws them, and correct."""
    rng = np.random.default_rng([len(name), labels, round(1000 * rate)])
    found = np.array([_correct(make_run(source, rate, rng), labels, rng) for _ in range(draws)])
    graded, value, low, high, own = found.T
    luck = 1e-12
    return Cell(
        name,
        labels,
        rate,
        float(graded.mean()),
        float(value.mean()),
        float(np.sqrt(((graded - rate) ** 2).mean())),
        float(np.sqrt(((value - rate) ** 2).mean())),
        float(((low <= rate + luck) & (rate - luck <= high)).mean()),
        float(((low <= own + luck) & (own - luck <= high)).mean()),
        float((high - low).mean()),
    )


def _correct(run: Replies, n: int, rng: np.random.Generator) -> tuple[float, ...]:
    """Rate as graded, the corrected one, its interval, and the rate by all labels."""
    size = len(run.person)
    rows = pl.DataFrame(
        {
            "response_class": [str(NAMES[one]) for one in run.graded],
            "doubt": pl.Series(run.doubt).fill_nan(None),
        }
    )
    strata = cut_strata(rows, np.zeros(size, np.int64), Draw.DOUBT)
    sizes, taken = allocate(strata, spread_of_doubt(rows), n)
    drawn = draw_within(strata, taken, rng)
    label, scale = np.full(size, NOT_LABELLED), np.ones(size)
    label[drawn] = run.person[drawn]
    scale[drawn] = [sizes[one] / taken[one] for one in strata[drawn].tolist()]
    none: BoolArray = np.zeros(size, bool)
    clusters = Clusters(np.arange(size), size)
    replies = GradedReplies(run.graded, np.tile(WORTH, (size, 1)), np.ones(size), clusters, none)
    inner = Resampling(INNER, int(rng.integers(2**31)))
    found = prediction_powered(replies, label, scale, inner)
    told = run.graded[run.graded < UNTOLD]
    return (WORTH[told].mean(), found.value, *found.interval, WORTH[run.person].mean())


def table(cells: Sequence[Cell], draws: int) -> str:
    """The table of docs/method/statistics-appendix.md."""
    heads = [
        *("replies, grader", "labels", "true rate", "as graded", "corrected", "error as graded"),
        *("error corrected", "held", "held of the run", "width"),
    ]
    lines = [
        f"{RUN} replies a run, {draws} runs a row; the reader is edition "
        f"{READER_VERSION.partition('-')[0]}:",
        "",
        f"| {' | '.join(heads)} |",
        f"|---{'|---:' * (len(heads) - 1)}|",
    ]
    for one in (cell for cell in cells if cell.rate == SHOWN or cell.labels != LABELS):
        shares = [one.rate, one.graded, one.corrected, one.graded_error, one.corrected_error]
        shares += [one.held, one.held_of_run, one.width]
        shown = " | ".join(f"{share:.3f}".replace("0.", ".", 1) for share in shares)
        lines.append(f"| {one.source} | {one.labels} | {shown} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of real replies")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="put the table into the document")
    chosen = parser.parse_args()
    sources: list[tuple[str, Grader | Replies]] = [(one.name, one) for one in GRADERS]
    sources += read_real(chosen.data)
    cells = [simulate(GRADERS[0].name, GRADERS[0], RATES[0], chosen.draws, 100)]
    cells += [simulate(name, one, rate, chosen.draws) for name, one in sources for rate in RATES]
    text = table(cells, chosen.draws)
    print(text)
    if chosen.write:
        document = DOCS.read_text("utf-8")
        start, end = document.index(BEGIN) + len(BEGIN), document.index(END)
        DOCS.write_text(f"{document[:start]}\n{text}\n{document[end:]}", "utf-8")
    luck = 3 * np.sqrt(LEAST * (1 - LEAST) / chosen.draws)
    off = [f"{one.source}, {one.rate}: {one.held:.3f}" for one in cells if one.held < LEAST - luck]
    print("\n".join(off) or "all within bounds", file=sys.stderr)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
