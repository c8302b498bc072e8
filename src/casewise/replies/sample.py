"""Replies of runs that are drawn for people to label: more of what the grader doubts."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np
import polars as pl
from pydantic import Field, PositiveInt

from casewise.cases import Case, digest
from casewise.errors import InputError
from casewise.files import csv_text
from casewise.judgements import PROVIDER, is_withheld
from casewise.protocols import CONDITION, ResponseClass, Status, acting_protocols
from casewise.statistics import FloatArray, IntArray

LEAST_OF_STRATUM = 5
"""Least number of replies drawn from each of several strata, as far as it has them."""

DOUBT_STRATA = 3
"""Strata of a run by the grader's doubt; as many are drawn from each."""

LEAST_SPREAD = 0.1
"""Least standard deviation of an error that a draw allows for: that of one in a hundred."""

REPLIED = (Status.OK, Status.UNPARSED)
"""Statuses of rows with a reply."""

_CLASS = pl.col("response_class").fill_null(ResponseClass.UNDETERMINED)

Label = Literal["", "compliance", "partial", "refusal", "undetermined"]
"""Class that a person gives; empty of none."""

LABELS: tuple[str, ...] = get_args(Label)


@dataclass(frozen=True, slots=True)
class DrawnReply:
    """One row of the sheet; people fill in the label."""

    label: Label
    query: str
    context: str
    """Earlier turns of the conversation. The context itself would tell the arm."""
    reply: str
    id: Annotated[str, Field(min_length=1)]
    """Id of this reply in its run; see ``reply_ids``."""
    place: PositiveInt
    """Place in the order of drawing, from 1."""
    stratum: PositiveInt
    stratum_replies: PositiveInt
    run_replies: PositiveInt
    """Replies of the run that could be drawn."""


SHEET_COLUMNS = tuple(DrawnReply.__dataclass_fields__)


def drawable_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """The replies that a person can check: those whose text a grader classed, or could not."""
    return rows.filter(
        (pl.col("protocol").is_in(acting_protocols()))
        & (pl.col("status").is_in(REPLIED))
        & (pl.col("graded_by").fill_null("") != PROVIDER)
        & (_CLASS != ResponseClass.TOOL_CALL)
    )


def reply_ids(rows: pl.DataFrame) -> list[str]:
    """An id of each reply, by run, condition, case and epoch: the same in every table of a run."""
    keys = rows.select("run_id", *CONDITION, "case_id", "epoch").rows()
    # The letter keeps a spreadsheet from reading digits as a number.
    return [f"r-{digest(list(key))}" for key in keys]


def draw_replies(
    table: pl.DataFrame,
    cases: Mapping[str, Case],
    n: int,
    seed: int = 0,
) -> list[DrawnReply]:
    """Draw replies without replacement, in random order: the first rows are a sample, too.

    Args:
        table: Judgements with their answers.
        cases: Cases by id, with their texts.
        n: Number to draw; all, if there are fewer. ``LEAST_OF_STRATUM`` of each may exceed it.
        seed: Seed of the draw.

    Raises:
        InputError: There is no graded reply, or texts are missing.
    """
    rows = drawable_rows(table)
    if not len(rows):
        raise InputError("no graded reply is there to draw", expected="a run of protocol respond")
    texts = rows["answer"].drop_nulls()
    whole = len(texts) == len(rows) and not any(map(is_withheld, texts))
    if not whole or not set(rows["case_id"]) <= set(cases):
        expected = "logs of casewise run, or a table of casewise grade --reveal"
        raise InputError("the replies' texts are not there", expected=expected)
    run = rows.select(pl.struct("run_id", *CONDITION).rank("dense") - 1).to_series().to_numpy()
    run_sizes = np.bincount(run)[run]
    share = _spread_of_doubt(rows)
    strata = _cut_strata(run, share)
    sizes = np.bincount(strata)
    chosen = _draw_within(strata, _allocate(strata, share, n), np.random.default_rng([seed, n]))
    ids = reply_ids(rows)
    answers = {_key(row): row["answer"] for row in table.filter(_IN_SCRIPT).iter_rows(named=True)}
    return [
        DrawnReply(
            label="",
            query=cases[row["case_id"]].query,
            context="\n".join(_earlier_messages(row, cases, answers)).strip(),
            reply=row["answer"],
            id=ids[at],
            place=place,
            stratum=int(strata[at]),
            stratum_replies=int(sizes[strata[at]]),
            run_replies=int(run_sizes[at]),
        )
        for place, (at, row) in enumerate(zip(chosen, rows[chosen].to_dicts(), strict=True), 1)
    ]


def _spread_of_doubt(rows: pl.DataFrame) -> FloatArray:
    """Standard deviation of the grader's error on each reply, .1 to .5, as its doubt has it.

    A chance of error p has that of ``sqrt(p (1 - p))``; drawn in proportion to it, labels tell most
    (Neyman 1934, doi:10.2307/2342192). The least guards against a grader that errs where it does
    not doubt. What it couldn't tell may be either; where nobody measured doubt, all are alike.
    """
    undetermined = _CLASS == ResponseClass.UNDETERMINED
    chance = pl.col("doubt").fill_null(pl.when(undetermined).then(0.5).otherwise(0.0))
    p = rows.select(chance.clip(0, 0.5))["doubt"].to_numpy()
    return np.asarray(np.maximum(np.sqrt(p * (1 - p)), LEAST_SPREAD))


def _cut_strata(run: IntArray, spread: FloatArray) -> IntArray:
    """Stratum of each reply, from 1: of its run by doubt, with the same sum of spreads in each."""
    within = np.zeros(len(run), np.int64)
    for number in np.unique(run):
        values, at, counts = np.unique(
            spread[run == number], return_inverse=True, return_counts=True
        )
        ends = np.cumsum(values * counts)
        # Replies that are doubted alike stay together.
        middles = (ends - values * counts / 2) / ends[-1]
        within[run == number] = (DOUBT_STRATA * middles).astype(np.int64)[at]
    return np.asarray(np.unique(run * DOUBT_STRATA + within, return_inverse=True)[1] + 1)


def _allocate(strata: IntArray, share: FloatArray, n: int) -> IntArray:
    """Number drawn from each stratum, by its number: its share of n, and some at least."""
    counts, shares = np.bincount(strata), np.bincount(strata, share)
    taken = np.minimum(counts, LEAST_OF_STRATUM if np.count_nonzero(counts) > 1 else 0)
    # One after the other to the stratum that lacks most (Webster's method of seats).
    while taken.sum() < min(n, len(strata)):
        taken[np.argmax(np.where(taken < counts, shares / (2 * taken + 1), 0))] += 1
    return taken


def _draw_within(strata: IntArray, taken: IntArray, rng: np.random.Generator) -> list[int]:
    """Places of the replies drawn: so many of each stratum, in an order that is random over all."""
    remaining, chosen = taken.copy(), list[int]()
    for at in rng.permutation(len(strata)):
        if remaining[strata[at]]:
            remaining[strata[at]] -= 1
            chosen.append(int(at))
    return chosen


_IN_SCRIPT = pl.col("category") == "script"


def _key(row: Mapping[str, Any], case_id: str = "") -> tuple[Any, ...]:
    run = (row[name] for name in ("run_id", *CONDITION, "epoch"))
    return (*run, case_id or row["case_id"])


def _earlier_messages(
    row: Mapping[str, Any], cases: Mapping[str, Case], answers: Mapping[tuple[Any, ...], str]
) -> list[str]:
    """Messages before a reply in the same conversation, those of a script's turns among them."""
    lines = [turn.line for turn in cases[row["case_id"]].history]
    if row["category"] == "script":
        script, _, place = row["case_id"].rpartition(":turn-")
        for turn in (f"{script}:turn-{n}" for n in range(1, int(place))):
            lines += [f"user: {cases[turn].query}", f"assistant: {answers[_key(row, turn)]}"]
    return lines


def sheet_text(replies: Sequence[DrawnReply]) -> str:
    """Sheet as CSV, whose cells no spreadsheet runs as formulas."""
    return csv_text(SHEET_COLUMNS, map(astuple, replies))
