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
from casewise.contexts import render_text
from casewise.errors import InputError
from casewise.files import csv_text
from casewise.protocols import CONDITION, ResponseClass, acting
from casewise.scores._judgement_sources import find_logs
from casewise.scores._judgement_table import PROVIDER, is_withheld

LEAST_OF_STRATUM = 5
"""Least number of replies drawn from each of several strata, as far as it has them."""

SEAL_LENGTH = 8


@dataclass(frozen=True, slots=True)
class DrawnReply:
    """One row of the sheet; people fill in the label."""

    label: str
    query: str
    context: str
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
    model: str
    dataset_hash: str
    grader: str
    grader_version: str
    sealed: str
    """The grader's class, in a form that tells a reader nothing; see ``seal``."""


SHEET_COLUMNS = tuple(DrawnReply.__dataclass_fields__)


def seal(id: str, graded: str) -> str:
    """Hash of the grader's class of a reply, which the sheet holds without showing the class."""
    return digest("grade", id, graded)[:SEAL_LENGTH]


def unseal(id: str, sealed: str) -> ResponseClass | None:
    """Class that was sealed; None if the seal fits none."""
    return next((one for one in ResponseClass if seal(id, one) == sealed), None)


def drawable(rows: pl.DataFrame) -> pl.DataFrame:
    """The replies that a person can check: those whose text a grader classed."""
    return rows.filter(
        (pl.col("protocol").is_in(acting()))
        & (pl.col("status") == "ok")
        & (pl.col("graded_by").fill_null("") != PROVIDER)
        & (pl.col("response_class") != ResponseClass.TOOL_CALL)
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
    draw: Draw = Draw.RANDOM,
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
    runs = rows.select(pl.struct("run_id", *CONDITION).rank("dense"))
    strata = runs.to_series().to_numpy().astype(np.int64)
    run_sizes = np.bincount(strata)[strata]
    if draw is Draw.RANDOM:
        strata = np.ones(len(rows), np.int64)
    else:
        classes = rows["response_class"].rank("dense").to_numpy().astype(np.int64)
        _, strata = np.unique(strata * 10 + classes, return_inverse=True)
        strata = strata + 1
    sizes, taken = _allocate(strata, n)
    rng = np.random.default_rng([seed, n])
    order = rng.permutation(len(rows))
    # The first of each stratum in random order; so the order is random over all and in each.
    rank = np.empty(len(rows), np.int64)
    for stratum in sizes:
        here = order[strata[order] == stratum]
        rank[here] = np.arange(len(here))
    chosen = [int(at) for at in order if rank[at] < taken[int(strata[at])]]
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


def _allocate(strata: np.ndarray[Any, Any], n: int) -> tuple[dict[int, int], dict[int, int]]:
    """Size of each stratum, and number drawn from it: its share of n, and some at least."""
    names, counts = np.unique(strata, return_counts=True)
    least = np.minimum(counts, LEAST_OF_STRATUM if len(names) > 1 else 0)
    share = np.minimum(n * counts / counts.sum(), counts)
    taken = np.maximum(np.floor(share), least).astype(np.int64)
    # The rest goes to the strata from which rounding took most.
    for at in np.argsort(taken - share, kind="stable"):
        if taken.sum() < n and taken[at] < counts[at]:
            taken[at] += 1
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
    earlier = [turn.line for turn in case.history]
    context = render_text(case.context) if case.context is not None else ""
    return DrawnReply(
        label="",
        query=case.query,
        context="\n".join([*earlier, *script, context]).strip(),
        reply=row["answer"],
        id=id,
        run_id=row["run_id"] or "",
        model=row["model"],
        dataset_hash=row["dataset_hash"] or "",
        grader=row["graded_by"] or "",
        sealed=seal(id, row["response_class"]),
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
