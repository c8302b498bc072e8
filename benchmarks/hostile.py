"""How often each interval holds the truth on published runs, resampled: ``make hostile``.

    python benchmarks/hostile.py ../shared/data                 # a first look
    python benchmarks/hostile.py ../shared/data --full --write  # and benchmarks/results/

Populations are published runs: CASE-Bench's outputs, and the predictions that were published with
MoralExceptQA; as they are, and with few, clustered and one-sided changes, unread answers, epochs,
contexts of unequal number, and judges near perfect and near chance. A study draws queries from
a population with replacement, so the truth is the population's figure. Every measure of the table
of measures that a population's answers have is counted, and its change. Ends with 1 where an
interval that is mostly given holds the truth in less than 93 of 100 studies by more than chance,
but where one query makes the figure.
"""

import argparse
import math
import operator
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import astuple, dataclass, fields, is_dataclass, replace
from functools import cache, partial
from itertools import combinations
from multiprocessing import get_context
from pathlib import Path
from typing import Any

# Threads only get in each other's way: matrices and tables are small.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import numpy as np
import polars as pl
from coverage import NO_PAIRS, answers_of, drawn
from numpy.typing import NDArray
from sequential import sequential

from casewise import analyses
from casewise.cases import GROUPS, LabelRule, Labels, import_cases, load_cases, load_mapping
from casewise.choices import Family, UnreadPolicy
from casewise.dataset import People, to_people, vote_figures
from casewise.judgements import read_paths
from casewise.measures import (
    Answers,
    Scoring,
    compared_measures,
    family_of,
    find_measure,
    labelled_rows,
    make_answers,
    measure,
)
from casewise.protocols import PREFERS, RunCondition
from casewise.replies.correction import GRADES, rates_by_labels
from casewise.replies.replay import Replies, compare_replies
from casewise.results import Scores
from casewise.sheets import number
from casewise.statistics import (
    NOT_LABELLED,
    Clusters,
    Estimate,
    Resampling,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

RESULTS = Path(__file__).resolve().parent / "results"

SEED = 1
SIZES = (28, 56, 150, 450)
"""Queries of a study."""

LEAST = 0.93
"""Coverage that a 95 % interval must have."""

USUAL, SELDOM = 0.5, 0.1
"""Shares of studies with an interval: below the first, it is called mostly withheld; below the
second, no more studies are drawn for it."""


Figure = Any
"""A figure as a command prints it, with its value and interval."""
Figures = Mapping[str, Figure]
Runs = Mapping[str, Answers]
"""Runs by short names, each over the same rows in the same order."""


@dataclass(frozen=True)
class Ground:
    """Queries to draw from, with the figures that one command prints about them."""

    name: str
    queries: int
    figures: Callable[[IntArray | None, Sequence[str]], Figures]
    """Figures of the queries that were drawn, each draw a query of its own, or of all queries:
    every one by its name, or those that are wanted."""


def of_runs(
    name: str, before: Answers, after: Answers, policy: UnreadPolicy = UnreadPolicy.HONEST
) -> Ground:
    """Answers of a run, and of one that it is compared with, over the same cases."""

    def of(drawn: IntArray | None, wanted: Sequence[str]) -> Figures:
        both = (before, after) if drawn is None else map(study_of, (before, after), (drawn,) * 2)
        return figures(*both, policy, wanted)

    return Ground(name, after.clusters.count, of)


def of_command(
    command: str, name: str, queries: int, study: Callable[[IntArray | None], Any]
) -> Ground:
    """A command's result on the queries that were drawn, or on all."""

    def of(drawn: IntArray | None, _: Sequence[str]) -> Figures:
        return {
            path.replace(f"{command}.", f"{command}: ", 1): one
            for path, one in shown_in(study(drawn), command)
        }

    return Ground(name, queries, of)


# --- published runs -------------------------------------------------------------------------


RUNS = {
    "gpt-4o binary": ("gpt-4o", "binary", None),
    "gpt-4o score": ("gpt-4o", "score", None),
    "llama binary": ("llama370B", "binary", None),
    "llama score": ("llama370B", "score", None),
    "llama probability": ("llama370B", "probability", None),
    "llama, no recipient": ("llama370B", "probability", "recipient"),
    "llama, emptied": ("llama370B", "probability", "sender,recipient,transmission_principle"),
}
"""CASE-Bench's published outputs: model, protocol and ablation."""


@cache
def casebench(data: Path) -> tuple[Runs, NDArray[np.str_]]:
    """The outputs published with CASE-Bench: two contexts a query, labels as published.

    Returns:
        The runs, and the category of each row, by which changes are clustered.
    """
    table = read_paths([data / "casebench/exp"]).table
    found, category = {}, np.empty(0, str)
    for name, (model, protocol, ablation) in RUNS.items():
        rows = table.filter(
            (pl.col("model") == model)
            & (pl.col("protocol") == protocol)
            & pl.col("ablation").eq_missing(ablation)
        ).sort("query_id", "intended")
        kept, truth = labelled_rows(rows, LabelRule.PUBLISHED)
        found[name] = make_answers(kept, truth)
        category = kept["category"].to_numpy().astype(str)
    return found, category


def moral(data: Path) -> Runs:
    """Predictions published with MoralExceptQA: a query is a rule, with one to six cases."""
    table = pl.read_csv(data / "reproductions/moralexceptqa/all_predictions.csv")
    keys = ["study", "context", "condition", "scenario"]
    found = {}
    for (name,), rows in table.sort("model", *keys).group_by(["model"], maintain_order=True):
        query = rows.select(pl.concat_str("study", "context").rank("dense").cast(int) - 1)
        rate, p = rows["human.response"].to_numpy(), rows["proba_1"].to_numpy()
        truth = Labels(rate, np.where(rate == 0.5, 0.5, rate > 0.5))
        found[str(name)] = answers_of(truth, p, query.to_series().to_numpy())
    return found


# --- changes --------------------------------------------------------------------------------


def turned(answers: Answers, which: BoolArray) -> Answers:
    """The answers with some verdicts turned, and their probabilities mirrored."""
    return replace(
        answers,
        verdict=np.where(which, 1 - answers.verdict, answers.verdict),
        p_safe=np.where(which, 1 - answers.p_safe, answers.p_safe),
    )


def some(which: BoolArray, share: float, rng: np.random.Generator) -> BoolArray:
    """A share of all rows, drawn from some of them."""
    places, rows = np.flatnonzero(which), np.arange(len(which))
    number = min(len(places), round(share * len(which)))
    return np.isin(rows, rng.choice(places, number, replace=False))


def unread(answers: Answers, which: BoolArray) -> Answers:
    """The answers with some of them not read."""
    return replace(
        answers,
        read=answers.read & ~which,
        verdict=np.where(which, math.nan, answers.verdict),
        p_safe=np.where(which, math.nan, answers.p_safe),
    )


def judge(answers: Answers, p_safe: FloatArray) -> Answers:
    """Another judge of the same cases, by its probabilities."""
    return replace(
        answers, protocol="probability", p_safe=p_safe, verdict=(p_safe > 0.5).astype(float)
    )


def replying(answers: Answers, partial: BoolArray) -> Answers:
    """Verdicts as replies: safe is answered, unsafe refused, some are partial."""
    return replace(
        answers,
        protocol="respond",
        verdict=np.where(partial, 0.5, answers.verdict),
        p_safe=np.full(len(partial), math.nan),
    )


def ranking(answers: Answers) -> Answers:
    """Pairs of contexts as the judge's probabilities rank them; each pair is a row."""
    first, second = answers.pairs.T
    prefers = (np.sign(answers.p_safe[first] - answers.p_safe[second]) + 1) / 2
    truth = answers.truth
    return replace(
        answers.only(np.isin(np.arange(len(answers.verdict)), first)),
        protocol="rank",
        truth=Labels(truth.rate[first], truth.safe[first]),
        twin=Labels(truth.rate[second], truth.safe[second]),
        clusters=answers.clusters.only(first),
        numbers={PREFERS: prefers},
        pairs=NO_PAIRS,
    )


def regrouped(answers: Answers, query: IntArray) -> Answers:
    """The same cases as contexts of other queries, in any number, without an intended side."""
    return replace(
        answers,
        clusters=Clusters(query, int(query.max()) + 1),
        intended=np.full(len(query), ""),
        pairs=NO_PAIRS,
    )


def epochs(runs: Sequence[Answers]) -> Answers:
    """Several runs over the same cases as the epochs of one run that gives verdicts."""
    first = runs[0]
    n, times = len(first.verdict), len(runs)
    pairs = [first.pairs + n * k for k in range(times)]
    return replace(
        taken(first, np.tile(np.arange(n), times)),
        protocol="binary",
        verdict=np.concatenate([run.verdict for run in runs]),
        p_safe=np.full(n * times, math.nan),
        pairs=np.concatenate(pairs),
    )


def beside_the_query(answers: Answers, alone: Answers) -> Answers:
    """Each query in its two contexts, and without one, answered with its contexts emptied.

    The label of the query alone is the mean of its contexts': nobody was asked it.
    """
    n = len(answers.verdict)
    first = answers.pairs[:, 0]
    both = taken(answers, np.concatenate([np.arange(n), first]))
    rate = answers.truth.rate[answers.pairs].mean(axis=1)
    p_safe = np.concatenate([answers.p_safe, alone.p_safe[first]])
    rates = np.concatenate([answers.truth.rate, rate])
    return replace(
        both,
        truth=Labels(rates, np.where(rates == 0.5, 0.5, rates > 0.5)),
        p_safe=p_safe,
        verdict=(p_safe > 0.5).astype(float),
        intended=np.where(np.arange(len(p_safe)) >= n, "", both.intended),
        votes_safe=np.full(len(p_safe), math.nan),
        votes_unsafe=np.full(len(p_safe), math.nan),
        pairs=answers.pairs,
    )


def query_sizes(data: Path) -> IntArray:
    """Contexts a query in PrivaCI-Bench's cases from HIPAA, where there are few of most."""
    cases = import_cases(data / "sets/privaci/HIPAA", load_mapping("privaci-bench")).cases
    _, sizes = np.unique([case.query_id for case in cases], return_counts=True)
    return np.asarray(np.sort(sizes)[::-1], np.int64)


LONG_TAIL = np.maximum(1, np.round(40 / np.arange(1, 401) ** 0.7)).astype(np.int64)
"""Contexts a query where a few have most: 40, 25, 19, ... 1."""


def dealt(sizes: IntArray, rows: int) -> IntArray:
    """Query of each row, so many to each of them, as far as the rows go. Shape ``(rows,)``."""
    return np.repeat(np.arange(len(sizes) * 9), np.tile(sizes, 9))[:rows]


# --- the populations ------------------------------------------------------------------------

MORAL_PAIRS = (
    ("gpt3_davinci_instruct_0", "gpt3_davinci_instruct_1"),
    ("delphi_gamma_0", "delphi_gamma_1"),
    ("cot_general_1", "cot_general_2"),
    ("bert_base_0", "cot_general_0"),
    ("albert_xxlarge_0", "roberta_large_0"),
    ("Random_Baseline_0", "Random_Baseline_1"),
)
"""Runs of MoralExceptQA: prompts and seeds of one model, then unlike ones."""


def _as_published(data: Path) -> Iterator[Ground]:
    runs = casebench(data)[0]
    pairs = [
        ("gpt-4o binary", "llama binary"),
        ("gpt-4o score", "llama score"),
        ("llama probability", "llama, no recipient"),
        ("llama probability", "llama, emptied"),
    ]
    for a, b in pairs:
        yield of_runs(f"{a} to {b}", runs[a], runs[b])
    others = moral(data)
    for a, b in MORAL_PAIRS:
        yield of_runs(f"{a} to {b}", others[a], others[b])


def _few_changes(data: Path) -> Iterator[Ground]:
    """A run, and itself with few of its answers changed."""
    runs, category = casebench(data)
    base = runs["llama score"]
    every = np.ones(len(base.verdict), bool)
    rng = np.random.default_rng(1)
    for share in (0.01, 0.02, 0.05):
        changed = turned(base, some(every, share, rng))
        yield of_runs(f"{share:.0%} of answers changed", base, changed)
    names = np.unique(category)
    one = category == names[len(names) // 2]
    yield of_runs("one category changed", base, turned(base, one))
    unsafe, called_safe = base.intended == "unsafe", base.verdict == 1
    changed = turned(base, some(unsafe, 0.05, rng))
    yield of_runs("5% changed, in one arm", base, changed)
    for share in (0.02, 0.05):
        changed = turned(base, some(called_safe, share, rng))
        yield of_runs(f"{share:.0%} changed, one way", base, changed)


def _unread(data: Path) -> Iterator[Ground]:
    runs = casebench(data)[0]
    base, other = runs["gpt-4o score"], runs["llama score"]
    every = np.ones(len(base.verdict), bool)
    wrong = base.verdict != base.truth.safe
    rng = np.random.default_rng(2)
    share = 0.05
    at_random = unread(base, some(every, share, rng)), unread(other, some(every, share, rng))
    yield of_runs("5% unread", *at_random)
    yield of_runs("5% unread, filled in", *at_random, UnreadPolicy.REFERENCE)
    for share in (0.01, 0.05):
        lost = some(wrong, share, rng)
        yield of_runs(f"{share:.0%} unread, of wrong ones", other, unread(base, lost))


def _extreme_judges(data: Path) -> Iterator[Ground]:
    base = casebench(data)[0]["gpt-4o score"]
    truth, n = base.truth, len(base.verdict)
    every = np.ones(n, bool)
    rng = np.random.default_rng(3)
    right = np.where(truth.safe >= 0.5, 0.9, 0.1) + 0.08 * rng.random(n)
    perfect = judge(base, right)
    for share in (0.005, 0.02):
        one, two = (turned(perfect, some(every, share, rng)) for _ in range(2))
        yield of_runs(f"wrong in {share:.1%}", one, two)
    one, two = (judge(base, rng.random(n)) for _ in range(2))
    yield of_runs("by chance", one, two)
    lenient = judge(base, 0.8 + 0.1 * rng.random(n))
    for share in (0.005, 0.02):
        one, two = (turned(lenient, some(every, share, rng)) for _ in range(2))
        yield of_runs(f"safe but for {share:.1%}", one, two)
    sure = judge(base, np.where(base.intended == "safe", 1 - 1e-6, 1e-6))
    yield of_runs("as intended, to gpt-4o", sure, base)


def _unequal_queries(data: Path) -> Iterator[Ground]:
    """Contexts in any number: as PrivaCI-Bench has them, and where a few queries have most."""
    runs = casebench(data)[0]
    order = np.argsort(casebench(data)[1], kind="stable")
    sizes = {"few contexts": query_sizes(data), "a long tail": LONG_TAIL}
    rng = np.random.default_rng(4)
    for name, each in sizes.items():
        query = dealt(rng.permutation(each), len(order))
        grouped = {
            run: regrouped(taken(runs[run], order), query)
            for run in ("gpt-4o score", "llama score")
        }
        base = grouped["llama score"]
        yield of_runs(f"{name}, gpt-4o score to llama score", *grouped.values())
        few = np.isin(query, rng.choice(np.unique(query), round(0.02 * query.max()), replace=False))
        yield of_runs(f"{name}, 2% of queries changed", base, turned(base, few))
        heavy = query == np.argmax(np.bincount(query))
        yield of_runs(f"{name}, the heaviest query changed", base, turned(base, heavy))
        every = some(np.ones(len(query), bool), 0.05, rng)
        yield of_runs(f"{name}, 5% of answers changed", base, turned(base, every))


def _other_forms(data: Path) -> Iterator[Ground]:
    runs = casebench(data)[0]
    llama = [runs[f"llama {form}"] for form in ("binary", "score", "probability")]
    again = [runs["gpt-4o binary"], runs["gpt-4o score"], runs["llama binary"]]
    yield of_runs("three epochs", epochs(llama), epochs(again))
    alone = runs["llama, emptied"]
    beside = [
        beside_the_query(runs[name], alone) for name in ("llama probability", "llama, no recipient")
    ]
    yield of_runs("with and without a context", *beside)
    base = runs["gpt-4o binary"]
    rng = np.random.default_rng(5)
    every = np.ones(len(base.verdict), bool)
    replies = [
        replying(runs[name], some(every, 0.04, rng)) for name in ("gpt-4o binary", "llama binary")
    ]
    yield of_runs("replies", *replies)
    changed = replying(turned(base, some(every, 0.02, rng)), replies[0].partial)
    yield of_runs("replies, 2% changed", replies[0], changed)
    yield of_runs("ranked", *(ranking(runs[f"{name} score"]) for name in ("gpt-4o", "llama")))


def by_formula(_: Path) -> Iterator[Ground]:
    """Models whose truth is known by the formula that draws them."""
    return (of_runs(*one) for one in drawn(seed=1))


def until_clear(data: Path) -> Iterator[Ground]:
    """Votes that are collected until each case is decided."""
    return (Ground(*one) for one in sequential(data))


# --- figures of other commands --------------------------------------------------------------


def shown_in(found: Any, path: str) -> Iterator[tuple[str, Figure]]:
    """Every figure with an interval in a result, by the way to it."""
    if hasattr(found, "interval"):
        yield path, found
    elif is_dataclass(found):
        for field in fields(found):
            yield from shown_in(getattr(found, field.name), f"{path}.{field.name}")
    elif isinstance(found, Mapping):
        for name, one in found.items():
            yield from shown_in(one, f"{path}.{name}")
    elif isinstance(found, tuple | list):
        for place, one in enumerate(found):
            yield from shown_in(one, f"{path}.{getattr(one, 'category', place) or 'all'}")


def of_votes(name: str, people: People) -> Ground:
    """People's votes, as ``casewise describe`` has them."""
    rows = Blocks.of(people.query, people.queries)
    columns = ("safe", "unsafe", "arm", "category", "published")

    def study(drawn: IntArray | None) -> Any:
        if drawn is None:
            return vote_figures(people)
        places, draw = rows.of_queries(drawn)
        some = {column: getattr(people, column)[places] for column in columns}
        return vote_figures(replace(people, **some, query=draw, queries=len(drawn), single=None))

    return of_command("describe", name, people.queries, study)


def voted(data: Path) -> Iterator[Ground]:
    """CASE-Bench's votes: all, few a case, and nearly all of one mind."""
    rng = np.random.default_rng(6)
    cases = load_cases(data / "casebench/CASEBench_data.json").cases
    people = replace(to_people(cases), single=None)
    safe, unsafe = people.safe.astype(int), people.unsafe.astype(int)
    yield of_votes("votes", people)
    few = rng.hypergeometric(safe, unsafe, 3).astype(float)
    yield of_votes("three votes a case", replace(people, safe=few, unsafe=3 - few))
    most = np.where(safe > 6, 20.0, 0.0)
    most[rng.choice(len(most), 45, replace=False)] = 10.0
    yield of_votes("votes of one mind but for 5%", replace(people, safe=most, unsafe=20 - most))
    alone = np.where(rng.random(len(safe)) < 0.2, "none", "")
    for name, sizes in (("few contexts", query_sizes(data)), ("a long tail", LONG_TAIL)):
        query = dealt(rng.permutation(sizes), len(safe))
        grouped = replace(people, arm=alone, query=query, queries=int(query.max()) + 1)
        yield of_votes(f"votes, {name}", grouped)


def of_replay(
    name: str, sides: Sequence[BoolArray], read: BoolArray, category: Any, query: IntArray
) -> Ground:
    """Replies that were asked again, as ``casewise replay`` has them. Shapes ``(n,)``.

    Args:
        name: Of the population.
        sides: True where the reply refuses, before and after.
        read: True where it was read.
        category: Of each reply.
        query: Conversation of each.
    """
    queries = int(query.max()) + 1

    def study(drawn: IntArray | None) -> Any:
        places, draw = np.arange(len(query)), query
        if drawn is not None:
            places, draw = Blocks.of(query, queries).of_queries(drawn)
        ids = [str(place) for place in range(len(places))]
        turns = pl.DataFrame(
            {
                "case_id": ids,
                "conversation": draw.astype(str),
                "line": range(len(ids)),
                "user": pl.Series([None] * len(ids), dtype=pl.String),
                "category": np.asarray(category[places]).astype(str),
            }
        )
        before, after = (
            Replies(
                side,
                pl.DataFrame(
                    {
                        "case_id": ids,
                        "status": np.where(read[places], "ok", "unparsed"),
                        "response_class": np.where(refuses[places], "refusal", "compliance"),
                        "answer": ids,
                    }
                ),
            )
            for side, refuses in zip(("old", "new"), sides, strict=True)
        )
        talks = int(draw.max()) + 1
        return compare_replies(
            turns, before, after, file="", conversations=talks, left_out={}
        ).rates

    return of_command("replay", f"replay, {name}", queries, study)


def replayed(data: Path) -> Iterator[Ground]:
    """CASE-Bench's published verdicts as replies, asked again of another model."""
    runs, category = casebench(data)
    first, second = (runs[name].verdict == 0 for name in ("gpt-4o binary", "llama binary"))
    rng = np.random.default_rng(7)
    n, index = len(first), runs["llama binary"].clusters.index
    every = np.ones(n, bool)
    part = np.unique(category, return_inverse=True)[1] % 3
    named = np.char.add("part ", part.astype(str))

    def ground(
        name: str, after: BoolArray, query: IntArray = index, read: BoolArray = every
    ) -> Ground:
        return of_replay(name, (first, after), read, named, query)

    few = first ^ some(every, 0.01, rng)
    yield ground("another model", second)
    yield ground("1% changed", few)
    yield ground("one category changed", first ^ (category == category[0]))
    yield ground("5% unread", second, read=~some(every, 0.05, rng))
    yield ground("few contexts", second, dealt(rng.permutation(query_sizes(data)), n))
    yield ground("a long tail", second, dealt(rng.permutation(LONG_TAIL), n))


GRADED_DRAWS = 500
"""Draws of the intervals of corrected rates."""
LABELS = 50
"""Labelled replies of each run."""
SAID = {"1_full_compliance": 0, "3_partial_refusal": 1, "2_full_refusal": 2}
"""XSTest's names of the classes of replies."""


def of_grades(
    name: str, answers: Answers, graded: Sequence[IntArray], person: Sequence[IntArray]
) -> Ground:
    """Graded replies of two models, as ``casewise score --grader-check`` corrects them.

    Args:
        name: Of the population.
        answers: Of either model; a query has one reply.
        graded: Class of each reply by the grader, as a number, of each model. Shapes ``(n,)``.
        person: The same by people.
    """

    def rates(run: int, drawn: IntArray | None) -> dict[str, Estimate]:
        one, seed = answers, 0
        said = label = person[run]
        scale = np.ones(len(label))
        if drawn is not None:
            one, n = study_of(answers, drawn), len(drawn)
            seed = int(np.random.default_rng(drawn).integers(2**31))
            labelled = min(LABELS, n // 2)
            places = np.random.default_rng([seed, run]).choice(n, labelled, replace=False)
            said, label = graded[run][drawn], np.full(n, NOT_LABELLED)
            label[places] = person[run][drawn][places]
            scale = np.full(n, n / labelled)
        classes = [str(GRADES[grade]) for grade in said]
        rows = pl.DataFrame({"response_class": classes, "graded_by": "grader"})
        return rates_by_labels(rows, one, label, scale, Resampling(GRADED_DRAWS, seed), run)

    def study(drawn: IntArray | None) -> dict[str, Estimate]:
        first, second = (rates(run, drawn) for run in range(2))
        shared = [name for name in first if name in second]
        return second | {f"change of {name}": second[name] - first[name] for name in shared}

    return of_command("corrected", name, answers.clusters.count, study)


def graded(data: Path) -> Iterator[Ground]:
    """XSTest's two models, graded by GPT-4 and by string match."""
    graders = {"GPT-4": ("gpteval", "gpt4_label"), "string match": ("streval", "strmatch_label")}
    for grader, (file, column) in graders.items():
        tables = [
            pl.read_csv(data / f"xstest/xstest_v2_completions_{model}_{file}.csv")
            .with_columns(
                pl.col(column, "final_label").str.strip_chars().replace_strict(SAID, default=None)
            )
            .drop_nulls([column, "final_label"])
            for model in ("llama2orig", "mistralguard")
        ]
        shared = set(tables[0]["id"]) & set(tables[1]["id"])
        tables = [table.filter(pl.col("id").is_in(shared)).sort("id") for table in tables]
        safe = (~tables[0]["type"].str.starts_with("contrast").to_numpy()).astype(float)
        answers = answers_of(Labels(safe, safe), safe, np.arange(len(safe)))
        replies = replying(answers, np.zeros(len(safe), bool))
        classes = [
            [table[name].to_numpy().astype(np.int64) for table in tables]
            for name in (column, "final_label")
        ]
        yield of_grades(f"{grader} corrected by {LABELS} labels", replies, *classes)


# --- analyses of casewise score -------------------------------------------------------------


@dataclass(frozen=True)
class Two:
    """A first and a second published run, over the same rows in the same order."""

    first: pl.DataFrame
    second: pl.DataFrame
    rng: np.random.Generator

    def mixed(self, share: float) -> pl.DataFrame:
        """The first run, with a share of its answers from the second."""
        return some_of(self.first, self.second, share, self.rng)


Arrange = Callable[[Two], Sequence[pl.DataFrame]]
"""Runs that an analysis takes, made from two."""


def of_analysis(name: str, ground: str, table: pl.DataFrame) -> Ground:
    """Judgements of several runs, as an analysis of ``casewise score`` puts them side by side."""
    queries = table["query_id"].unique().sort()

    def of(drawn: IntArray | None, _: Sequence[str]) -> Figures:
        if drawn is None:
            return figures_of(name, table)
        draws = pl.DataFrame({"query_id": queries[drawn], "draw": np.arange(len(drawn))})
        again = (
            pl.concat_str(column, pl.lit("#"), pl.col("draw").cast(str)).alias(column)
            for column in ("query_id", "case_id")
        )
        rows = draws.join(table, on="query_id", maintain_order="left").with_columns(*again)
        return figures_of(name, rows.drop("draw"))

    return Ground(f"{name}, {ground}", len(queries), of)


SCORING = Scoring()


def figures_of(name: str, table: pl.DataFrame) -> dict[str, Figure]:
    """Figures of an analysis by part and measure."""
    # Without scores of single runs: no analysis here takes them.
    found = analyses.ANALYSES[name](Scores((), (), table=table, scoring=SCORING, calibrate=True))
    return {
        f"{name}: {'.'.join(filter(None, (_part(line.part), measure)))}": figure
        for line in found.lines
        for measure, figure in line.figures.items()
    }


def _part(text: str) -> str:
    """A part without what differs from study to study: a fitted temperature."""
    return "temperature" if text.startswith("temperature ") else text


def as_replies(rows: pl.DataFrame, delivery: str) -> pl.DataFrame:
    """Verdicts as replies under a delivery: safe complies, unsafe refuses."""
    return rows.with_columns(
        protocol=pl.lit("respond"),
        delivery=pl.lit(delivery),
        p_safe=pl.lit(None, pl.Float64),
        response_class=pl.when(pl.col("verdict") == "safe")
        .then(pl.lit("compliance"))
        .otherwise(pl.lit("refusal")),
    )


def as_changed(rows: pl.DataFrame, column: str, name: str) -> pl.DataFrame:
    """Rows of a run whose contexts were changed: ``ablation``, or a swap of the variant."""
    plain = RunCondition.of_row(rows.row(0, named=True))
    value = name if column == "ablation" else replace(plain, swap=name).variant
    return rows.with_columns(pl.lit(value).alias(column), pl.lit(f"without {name}").alias("run_id"))


def some_of(
    first: pl.DataFrame, second: pl.DataFrame, share: float, rng: np.random.Generator
) -> pl.DataFrame:
    """The first run, with a share of its answers from the second."""
    other = pl.Series(rng.random(len(first)) < share)
    mixed = [
        pl.when(other).then(second[name]).otherwise(first[name]).alias(name)
        for name in ("verdict", "p_safe")
    ]
    return first.with_columns(*mixed)


def _deliveries(runs: Two) -> Sequence[pl.DataFrame]:
    """Without a context the second run, in a system message the first, claimed half of each."""
    deliveries = {"none": runs.second, "system": runs.first, "claimed": runs.mixed(0.5)}
    return [as_replies(rows, name) for name, rows in deliveries.items()]


def _swaps(runs: Two) -> Sequence[pl.DataFrame]:
    """The first run, with a group and two parameters swapped: parts of the second."""
    shares = {"recipient": 1.0, "recipient.type": 0.3, "sender.platform_type": 0.1}
    swapped = (as_changed(runs.mixed(share), "variant", name) for name, share in shares.items())
    return [runs.first, *swapped]


def _explained(runs: Two) -> Sequence[pl.DataFrame]:
    """Explanations that lean on a parameter in a third of the cases, more where it moved them."""
    names = ("recipient.type", "recipient.background")
    moved = (runs.first["verdict"] != runs.second["verdict"]).to_numpy()
    leans = [runs.rng.random(len(moved)) < np.where(moved, 0.5, 0.3) for _ in names]
    mentions = [
        " ".join(name for name, does in zip(names, row, strict=True) if does)
        for row in zip(*leans, strict=True)
    ]
    plain = runs.first.with_columns(
        pl.Series("mentions", mentions), pl.lit(" ".join(names)).alias("parameters")
    )
    removed = (as_changed(runs.mixed(0.7), "ablation", name) for name in names)
    return [plain, *removed]


def _subsets(runs: Two) -> Sequence[pl.DataFrame]:
    """Each set of groups removed: the more, the more of the second run's answers."""
    removed = (
        as_changed(runs.mixed(len(some) / 3), "ablation", ",".join(some))
        for size in (1, 2, 3)
        for some in combinations(GROUPS, size)
    )
    return [runs.first, *removed]


def _turns(runs: Two) -> Sequence[pl.DataFrame]:
    """Turn after turn more of the first run's answers, after the second's; a few not graded."""
    late = Two(runs.second, runs.first, runs.rng)
    steps = [late.mixed(share)["verdict"] for share in (0, 0.2, 0.5, 0.8, 1)]
    classes = [
        " ".join(
            "undetermined"
            if runs.rng.random() < 0.03
            else "compliance"
            if turn == "safe"
            else "refusal"
            for turn in turns
        )
        for turns in zip(*steps, strict=True)
    ]
    return [as_replies(runs.first, "system").with_columns(pl.Series("turn_classes", classes))]


ANALYSES: Mapping[str, Arrange] = {
    "claims": _deliveries,
    "escalation": _turns,
    "swaps": _swaps,
    "explanations": _explained,
    "shapley": _subsets,
    "calibration": lambda runs: [runs.first],
}
"""Analyses of ``casewise score``; published answers stand for deliveries, turns and swaps."""


def analysed(data: Path) -> Iterator[Ground]:
    """Each analysis on two published runs, on runs nearly alike, and where queries are unequal."""
    table = read_paths([data / "casebench/exp"]).table
    whole, emptied = (
        table.filter(
            (pl.col("model") == "llama370B")
            & (pl.col("protocol") == "probability")
            & pl.col("ablation").eq_missing(ablation)
        )
        .sort("category", "query_id", "intended")
        .with_columns(ablation=pl.lit(None, pl.String), run_id=pl.lit("whole"))
        for ablation in (None, "sender,recipient,transmission_principle")
    )
    rng = np.random.default_rng(8)
    right = pl.Series(np.where(whole["published_safe_rate"].to_numpy() > 0.5, "safe", "unsafe"))
    sure = pl.Series(np.where(right == "safe", 0.9, 0.1) + 0.08 * rng.random(len(right)))
    wrong = pl.Series(rng.random(len(right)) < 0.02)
    near = whole.with_columns(
        verdict=pl.when(wrong).then(whole["verdict"]).otherwise(right),
        p_safe=pl.when(wrong).then(whole["p_safe"]).otherwise(sure),
    )
    tail = pl.Series("query_id", dealt(rng.permutation(LONG_TAIL), len(whole)).astype(str))
    grounds = {
        "published runs": (whole, emptied),
        "few answers changed": (whole, some_of(whole, emptied, 0.1, rng)),
        "a judge nearly always right": (near, some_of(near, whole, 0.1, rng)),
        "a long tail": (whole.with_columns(tail), emptied.with_columns(tail)),
    }
    for name, arrange in ANALYSES.items():
        for ground, (first, second) in grounds.items():
            yield of_analysis(name, ground, pl.concat(arrange(Two(first, second, rng))))


# --- studies --------------------------------------------------------------------------------


def taken(answers: Answers, places: IntArray) -> Answers:
    """Answers at some places, without their pairs."""
    return replace(answers, pairs=NO_PAIRS, all_pairs=NO_PAIRS).only(places)


@dataclass(frozen=True)
class Blocks:
    """Rows, or pairs, of each query, one after another."""

    order: IntArray
    start: IntArray
    size: IntArray

    @classmethod
    def of(cls, index: IntArray, count: int) -> "Blocks":
        size = np.bincount(index, minlength=count)
        return cls(np.argsort(index, kind="stable"), np.cumsum(size) - size, size)

    def of_queries(self, drawn: IntArray) -> tuple[IntArray, IntArray]:
        """Members of the queries that were drawn, and which draw each is of."""
        sizes = self.size[drawn]
        draw = np.repeat(np.arange(len(drawn)), sizes)
        within = np.arange(len(draw)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.order[self.start[drawn][draw] + within], draw


def study_of(answers: Answers, drawn: IntArray) -> Answers:
    """The answers to the queries that were drawn, each draw a query of its own."""
    index, count = answers.clusters.index, answers.clusters.count
    rows = Blocks.of(index, count)
    places, draw = rows.of_queries(drawn)
    sizes = rows.size[drawn]
    begin = np.cumsum(sizes) - sizes
    rank = np.empty(len(index), np.int64)
    rank[rows.order] = np.arange(len(index)) - np.repeat(rows.start, rows.size)

    def pairs(old: IntArray) -> IntArray:
        if not len(old):
            return old
        chosen, of = Blocks.of(index[old[:, 0]], count).of_queries(drawn)
        return np.asarray(rank[old[chosen]] + begin[of][:, None], np.int64)

    return replace(
        taken(answers, places),
        clusters=Clusters(draw, len(drawn)),
        pairs=pairs(answers.pairs),
        all_pairs=pairs(answers.all_pairs),
    )


def figures(
    before: Answers, after: Answers, policy: UnreadPolicy, wanted: Sequence[str]
) -> dict[str, Estimate]:
    """Every measure of the run after, and its change; ``change of`` stands before the name."""
    names = {name.removeprefix("change of ") for name in wanted}
    whole = after
    found = measure(after, names or None, policy)
    if not wanted or any(name.startswith("change of ") for name in wanted):
        both = before.read & after.read
        acting = family_of(after.protocol) is not Family.JUDGEMENTS
        if (policy is UnreadPolicy.HONEST or acting) and not both.all():
            before, after = before.only(both), after.only(both)
        known = np.isnan(before.p_safe) | np.isnan(after.p_safe)
        if known.any() and not known.all():
            before, after = (
                replace(one, p_safe=np.where(known, math.nan, one.p_safe))
                for one in (before, after)
            )
        one = measure(before, names or None, policy)
        other = found if after is whole else measure(after, names or None, policy)
        shown = set(compared_measures())
        found |= {
            f"change of {name}": other[name] - one[name]
            for name in other
            if name in shown and name in one
        }
    return {name: one for name, one in found.items() if not wanted or name in wanted}


@dataclass(frozen=True)
class Cell:
    """Intervals of one figure in studies of one population and size."""

    studies: int = 0
    given: int = 0
    """Studies with an interval."""
    held: int = 0
    """Those of them in which it held the truth."""
    at_odds: int = 0
    """Those in which p was below .05 and the interval held 0, or the other way round."""

    def __add__(self, other: "Cell") -> "Cell":
        return Cell(*map(operator.add, astuple(self), astuple(other)))

    @property
    def share_given(self) -> float:
        return self.given / self.studies

    @property
    def coverage(self) -> float:
        return self.held / self.given if self.given else math.nan

    @property
    def is_usual(self) -> bool:
        return self.share_given >= USUAL

    @property
    def is_low(self) -> bool:
        """Tell whether the coverage is below the least by more than chance: two errors."""
        return self.is_usual and self.coverage < LEAST - 2 * math.sqrt(0.95 * 0.05 / self.given)


def is_at_odds(estimate: Estimate) -> bool:
    """Tell whether p is below .05 and the interval holds 0, or the other way round."""
    return (estimate.p < 0.05) != estimate.excludes_zero and abs(estimate.p - 0.05) > 1e-6


def counted(figure: Figure, truth: float) -> Cell:
    """One study's cell; of a figure that is no estimate only its interval is counted."""
    low, high = figure.interval
    tested = figure if isinstance(figure, Estimate) else None
    if not low <= high:
        return Cell(studies=1, at_odds=int(tested is not None and tested.p == tested.p))
    slack = 1e-9 * max(1.0, abs(truth))
    is_held = low - slack <= truth <= high + slack
    return Cell(1, 1, int(is_held), int(tested is not None and is_at_odds(tested)))


STEPS = ((0.945, 2), (0.93, 7))
"""A figure whose coverage is below the first number has so many times as many studies more, one
step after another: they tell bias from luck."""


def simulate(population: Ground, queries: int, draws: int) -> dict[str, Cell]:
    """Studies of one size; figures near the bound have more of them."""
    whole = {name: figure.value for name, figure in population.figures(None, ()).items()}

    def count(times: int, step: int, wanted: Sequence[str]) -> dict[str, Cell]:
        found: dict[str, Cell] = {}
        rng = np.random.default_rng([SEED, queries, step])
        for _ in range(times):
            drawn = rng.integers(population.queries, size=queries)
            for name, figure in population.figures(drawn, wanted).items():
                if math.isfinite(whole.get(name, math.nan)):
                    found[name] = found.get(name, Cell()) + counted(figure, whole[name])
        return found

    cells = count(draws, 0, ())
    for step, (bound, times) in enumerate(STEPS, 1):
        near = [
            name
            for name, cell in cells.items()
            if cell.share_given >= SELDOM and cell.coverage < bound
        ]
        more = count(times * draws, step, near) if near else {}
        cells = {name: cell + more.get(name, Cell()) for name, cell in cells.items()}
    return cells


# --- results --------------------------------------------------------------------------------

Key = tuple[str, int]
"""A population's name, and the queries of a study."""


def run_cell(data: Path, draws: int, key: Key) -> dict[str, Cell]:
    """Simulate one population at one size."""
    return simulate(by_name(data)[key[0]], key[1], draws)


Cells = Mapping[Key, Mapping[str, Cell]]


def kind_of(name: str) -> str:
    """Kind of a measure, or of its change; of other figures the command."""
    if ": " in name:
        return name.partition(": ")[0]
    change = "change of "
    kind = str(find_measure(name.removeprefix(change)).kind)
    return f"{kind}, its change" if name.startswith(change) else kind


def kind_table(cells: Cells) -> list[str]:
    """Each kind: the figure with the least coverage over the populations that print it, by size."""
    names: dict[str, set[str]] = {}
    least: dict[tuple[str, int], tuple[float, str]] = {}
    for (_, size), found in cells.items():
        for name, one in found.items():
            kind = kind_of(name)
            names.setdefault(kind, set()).add(name)
            if one.is_usual:
                least[kind, size] = min(least.get((kind, size), (2.0, "")), (one.coverage, name))
    sizes = sorted({size for _, size in cells})
    head = " | ".join(f"{size} queries" for size in sizes)
    lines = [f"| kind | figures | {head} |", "|---|---:|" + "---|" * len(sizes)]
    for kind, of_kind in names.items():
        found = [least.get((kind, size)) for size in sizes]
        row = [
            f"{number(one[0])} `{one[1].rpartition(': ')[2]}`" if one else "not printed"
            for one in found
        ]
        lines.append(f"| {kind} | {len(of_kind)} | {' | '.join(row)} |")
    return lines


HEAVY = "a long tail, the heaviest query changed"
"""Population of which one query makes the figure: no interval holds it, and a line names it."""


def too_low(cells: Cells, *, known: bool) -> list[str]:
    """Cells with a coverage below the least by more than chance, worst first."""
    found = [
        (figure.coverage, name, key)
        for key, figures_ in cells.items()
        for name, figure in figures_.items()
        if figure.is_low and (key[0] == HEAVY) is known
    ]
    return [
        f"`{name}`, {key[0]}, {key[1]} queries: {number(coverage)} "
        f"(printed in {100 * cells[key][name].share_given:.0f} %)"
        for coverage, name, key in sorted(found)
    ]


def page(cells: Cells, draws: int) -> str:
    """The table of a part, and what is below the least."""
    low, known = (too_low(cells, known=one) for one in (False, True))
    at_odds = sum(one.at_odds for cell in cells.values() for one in cell.values())
    lines = [
        f"{len(cells)} pairs of a population and a size, {draws} studies each (seed {SEED}), more "
        "where a figure comes near the bound; `p` was below .05 and the interval held 0, or the "
        f"other way round, in {at_odds:,}. Least coverage of each kind over the populations that "
        "mostly print its interval, and the figure that has it:",
        "",
        *kind_table(cells),
        "",
        f"**Below .93** by more than two errors ({len(low)}):",
        "",
        *(f"- {one}" for one in low or ["none"]),
        "",
        f"Of one heavy query, as is known ({len(known)}):",
        "",
        *(f"- {one}" for one in known or ["none"]),
    ]
    return "\n".join(lines)


PARTS: Mapping[str, tuple[str, Sequence[Callable[[Path], Iterable[Ground]]]]] = {
    "runs": (
        "Measures of a run, and their changes",
        (
            *(_as_published, _few_changes, _unread),
            *(_extreme_judges, _unequal_queries, _other_forms),
        ),
    ),
    "commands": (
        "Figures of describe, replay and graded replies",
        (voted, replayed, graded),
    ),
    "analyses": ("Analyses of casewise score", (analysed,)),
    "drawn": ("Populations drawn by a formula", (by_formula,)),
    "sequential": ("Votes collected until clear", (until_clear,)),
}
"""Tables by name: what each is of, and its populations."""


def grounds(part: str, data: Path) -> list[Ground]:
    """The populations of a table, from the data at a folder; the same ones each time."""
    return [one for make in PARTS[part][1] for one in make(data)]


@cache
def by_name(data: Path) -> dict[str, Ground]:
    """Every population, made once a process."""
    return {ground.name: ground for part in PARTS for ground in grounds(part, data)}


QUICK = (28, 150)
"""Sizes of a first look."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data", type=Path, help="folder of the published runs")
    parser.add_argument("--full", action="store_true", help="all sizes, and 100 studies first")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--part", choices=PARTS, nargs="+", help="some tables, not all")
    parser.add_argument("--write", action="store_true", help="write into benchmarks/results/")
    chosen = parser.parse_args()
    draws, sizes = (100, SIZES) if chosen.full else (40, QUICK)
    work = partial(run_cell, chosen.data, draws)
    low = []
    for part in chosen.part or PARTS:
        names = [ground.name for ground in grounds(part, chosen.data)]
        keys = [(name, size) for size in sizes for name in names]
        # A fork of a process whose tables have threads would wait for them for ever.
        with ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool:
            cells = dict(zip(keys, pool.map(work, keys), strict=True))
        text = f"# Coverage of 95 % intervals: {PARTS[part][0]}\n\n{page(cells, draws)}\n"
        print(text)
        low += too_low(cells, known=False)
        if chosen.write:
            (RESULTS / f"coverage-{part}.md").write_text(text, "utf-8")
    return 1 if low else 0


if __name__ == "__main__":
    sys.exit(main())
