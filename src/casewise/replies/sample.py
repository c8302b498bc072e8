"""Replies of a run that are drawn for people to label: the sheet, and what it says of the draw."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from casewise.cases import Case, digest
from casewise.choices import Draw
from casewise.errors import InputError
from casewise.files import csv_text
from casewise.judgements import PROVIDER, find_logs, is_withheld
from casewise.protocols import CONDITION, ResponseClass, Status, acting
from casewise.statistics import FloatArray, IntArray

LEAST_OF_STRATUM = 5
"""Least number of replies drawn from each of several strata, as far as it has them."""

DOUBT_STRATA = 3
"""Strata of a run by the grader's doubt; as many are drawn from each."""

LEAST_SPREAD = 0.1
"""Least standard deviation of an error that a draw allows for: that of one in a hundred."""

SEAL_LENGTH = 8

REPLIED = (Status.OK, Status.UNPARSED)
"""Statuses of rows with a reply."""

_CLASS = pl.col("response_class").fill_null(ResponseClass.UNDETERMINED)


@dataclass(frozen=True, slots=True)
class DrawnReply:
    """One row of the sheet; people fill in the label."""

    label: str
    query: str
    context: str
    """Earlier turns of the conversation. The context itself would tell the arm."""
    reply: str
    id: str
    """Id of this reply in its run; see ``reply_ids``."""
    place: int
    """Place in the order of drawing, from 1."""
    draw: str
    seed: int
    stratum: int
    stratum_replies: int
    probability: float
    """Probability that a reply of the stratum is drawn."""
    run_replies: int
    """Replies of the run that could be drawn."""
    run_id: str
    sealed_model: str
    """The model, sealed likewise."""
    dataset_hash: str
    grader: str
    grader_version: str
    sealed: str
    """The grader's class, in a form that tells a reader nothing; see ``seal``."""


SHEET_COLUMNS = tuple(DrawnReply.__dataclass_fields__)


def seal(id: str, told: str) -> str:
    """Hash of the grader's class of a reply, or of its model, which the sheet doesn't show."""
    return digest("grade", id, told)[:SEAL_LENGTH]


def unseal(id: str, sealed: str) -> ResponseClass | None:
    """Class that was sealed; None if the seal fits none."""
    return next((one for one in ResponseClass if seal(id, one) == sealed), None)


def drawable(rows: pl.DataFrame) -> pl.DataFrame:
    """The replies that a person can check: those whose text a grader classed, or could not."""
    return rows.filter(
        (pl.col("protocol").is_in(acting()))
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
    draw: Draw = Draw.DOUBT,
    seed: int = 0,
    grader_versions: Mapping[str, str] | None = None,
) -> list[DrawnReply]:
    """Draw replies without replacement, in random order: the first rows are a sample, too.

    Args:
        table: Judgements with their answers.
        cases: Cases by id, with their texts.
        n: Number to draw; all, if there are fewer. ``LEAST_OF_STRATUM`` of each may exceed it.
        draw: Design of the draw.
        seed: Seed of the draw.
        grader_versions: The version of each run's grader, as far as it is known.

    Raises:
        InputError: There is no graded reply, or texts are missing.
    """
    rows = drawable(table)
    if not len(rows):
        raise InputError("no graded reply is there to draw", expected="a run of protocol respond")
    shown = rows["answer"].drop_nulls()
    whole = len(shown) == len(rows) and not any(map(is_withheld, shown))
    if not whole or not set(rows["case_id"]) <= set(cases):
        expected = "logs, or a table of casewise grade --reveal"
        raise InputError("the replies' texts are not there", expected=expected)
    ids = reply_ids(rows)
    runs = rows.select(pl.struct("run_id", *CONDITION).rank("dense") - 1)
    run = runs.to_series().to_numpy().astype(np.int64)
    run_sizes = np.bincount(run)[run]
    strata = cut_strata(rows, run, draw)
    share = spread_of_doubt(rows) if draw is Draw.DOUBT else np.ones(len(rows))
    sizes, taken = allocate(strata, share, n)
    chosen = draw_within(strata, taken, np.random.default_rng([seed, n]))
    picked = rows[chosen].to_dicts()
    versions = grader_versions or {}
    said = {_key(row): row["answer"] for row in table.filter(_IN_SCRIPT).iter_rows(named=True)}
    return [
        _drawn(
            row,
            cases[row["case_id"]],
            _earlier(row, cases, said),
            id=ids[at],
            place=place,
            draw=str(draw),
            seed=seed,
            stratum=int(strata[at]),
            stratum_replies=sizes[int(strata[at])],
            probability=round(taken[int(strata[at])] / sizes[int(strata[at])], 6),
            run_replies=int(run_sizes[at]),
            grader_version=versions.get(str(row["run_id"]), ""),
        )
        for place, (at, row) in enumerate(zip(chosen, picked, strict=True), start=1)
    ]


def cut_strata(rows: pl.DataFrame, run: IntArray, draw: Draw) -> IntArray:
    """Stratum of each reply, from 1.

    Args:
        rows: The replies, with their classes and the doubt of each.
        run: Number of the run of each. Shape ``(n,)``.
        draw: Design of the draw.
    """
    if draw is Draw.RANDOM:
        return np.ones(len(rows), np.int64)
    if draw is Draw.DOUBT:
        within = _cut(run, spread_of_doubt(rows))
    else:
        within = rows.select(_CLASS.rank("dense")).to_series().to_numpy().astype(np.int64)
    strata = np.unique(np.column_stack([run, within]), axis=0, return_inverse=True)[1]
    return np.asarray(strata).ravel() + 1


def draw_within(strata: IntArray, taken: Mapping[int, int], rng: np.random.Generator) -> list[int]:
    """Places of the replies drawn: so many of each stratum, in an order that is random over all."""
    order = rng.permutation(len(strata))
    rank = np.empty(len(strata), np.int64)
    for stratum in taken:
        here = order[strata[order] == stratum]
        rank[here] = np.arange(len(here))
    return [int(at) for at in order if rank[at] < taken[int(strata[at])]]


def spread_of_doubt(rows: pl.DataFrame) -> FloatArray:
    """Standard deviation of the grader's error on each reply, .1 to .5, as its doubt has it.

    A chance of error p has that of ``sqrt(p (1 - p))``; drawn in proportion to it, labels tell most
    (Neyman 1934, doi:10.2307/2342192). The least guards against a grader that errs where it does
    not doubt. What it couldn't tell may be either; where nobody measured doubt, all are alike.
    """
    none = pl.lit(None, pl.Float64)
    doubt = pl.col("doubt").cast(pl.Float64) if "doubt" in rows.columns else none
    untold = _CLASS == ResponseClass.UNDETERMINED
    chance = doubt.fill_null(pl.when(untold).then(0.5).otherwise(0.0))
    p = rows.select(chance.clip(0, 0.5).alias("p"))["p"].to_numpy()
    return np.asarray(np.maximum(np.sqrt(p * (1 - p)), LEAST_SPREAD))


def _cut(run: IntArray, spread: FloatArray) -> IntArray:
    """Stratum of each reply in its run: by doubt, so that each has the same sum of spreads."""
    strata = np.zeros(len(run), np.int64)
    for one in np.unique(run):
        values, at, counts = np.unique(spread[run == one], return_inverse=True, return_counts=True)
        ends = np.cumsum(values * counts)
        # Replies that are doubted alike stay together.
        middles = (ends - values * counts / 2) / ends[-1]
        strata[run == one] = (DOUBT_STRATA * middles).astype(np.int64)[at]
    return strata


def allocate(strata: IntArray, share: FloatArray, n: int) -> tuple[dict[int, int], dict[int, int]]:
    """Size of each stratum, and number drawn from it: its share of n, and some at least."""
    names, counts = np.unique(strata, return_counts=True)
    wanted = np.bincount(strata, share)[names]
    taken = np.minimum(counts, LEAST_OF_STRATUM if len(names) > 1 else 0)
    # One after the other to the stratum that lacks most (Webster's method of seats).
    while taken.sum() < min(n, len(strata)):
        taken[np.argmax(np.where(taken < counts, wanted / (2 * taken + 1), 0))] += 1
    sizes = dict(zip(names.tolist(), counts.tolist(), strict=True))
    return sizes, dict(zip(names.tolist(), taken.tolist(), strict=True))


_IN_SCRIPT = pl.col("category") == "script"


def _key(row: Mapping[str, Any], case_id: str = "") -> tuple[Any, ...]:
    run = (row[name] for name in ("run_id", *CONDITION, "epoch"))
    return (*run, case_id or row["case_id"])


def _earlier(
    row: Mapping[str, Any], cases: Mapping[str, Case], said: Mapping[tuple[Any, ...], str]
) -> list[str]:
    """Messages before a turn of a script, in the same conversation."""
    script, _, place = row["case_id"].rpartition(":turn-")
    if row["category"] != "script":
        return []
    turns = [f"{script}:turn-{n}" for n in range(1, int(place))]
    return [
        line
        for turn in turns
        for line in (f"user: {cases[turn].query}", f"assistant: {said[_key(row, turn)]}")
    ]


def _drawn(
    row: Mapping[str, Any], case: Case, script: Sequence[str], *, id: str, **design: Any
) -> DrawnReply:
    return DrawnReply(
        label="",
        query=case.query,
        context="\n".join([*(turn.line for turn in case.history), *script]).strip(),
        reply=row["answer"],
        id=id,
        run_id=row["run_id"] or "",
        sealed_model=seal(id, row["model"]),
        dataset_hash=row["dataset_hash"] or "",
        grader=row["graded_by"] or "",
        sealed=seal(id, row["response_class"] or ResponseClass.UNDETERMINED),
        **design,
    )


def sheet_text(replies: Sequence[DrawnReply]) -> str:
    """Sheet as CSV, whose cells no spreadsheet runs as formulas."""
    return csv_text(SHEET_COLUMNS, map(astuple, replies))


def grader_versions(paths: Sequence[Path]) -> dict[str, str]:
    """The version of the rules or of the grading prompt, by run, as logs and tables say it."""
    tables = [path for path in paths if path.suffix.lower() == ".parquet"]
    versions = {run: version for path in tables for run, version in _of_table(path)}
    if others := [path for path in paths if path not in tables]:
        runs, _ = find_logs(others)
        versions |= {
            run.run_id: str(run.first.metadata.get("grader_version") or "") for run in runs
        }
    return versions


def _of_table(path: Path) -> Iterator[tuple[str, str]]:
    said = json.loads(pl.read_parquet_metadata(path).get("casewise") or "{}")
    for run in pl.read_parquet(path, columns=["run_id"])["run_id"].unique():
        yield str(run), str(said.get("grader_version") or "")
