"""Contexts changed part by part: which swap flips a model, and what its explanations name."""

from collections.abc import Iterator

import polars as pl

from casewise.analyses.pairing import Run, changed_runs
from casewise.cases import GROUPS
from casewise.judgements import ANSWER_KEYS
from casewise.protocols import ResponseClass, is_acting
from casewise.results import Analysis, Line, Scores, analysis
from casewise.statistics import (
    Estimate,
    FloatArray,
    clustered_mean,
    clustered_ratio,
    number_clusters,
)


@analysis
def swaps(scores: Scores) -> Analysis:
    """Share of cases that one part of the twin's context flips.

    A judge's verdict flips, or a reply that complied refuses, or one that refused complies. A case
    whose plain reply is partial, or calls a tool, has no side to flip from, and is left out; one
    that becomes so has not flipped.
    """
    lines = [
        Line(
            whole[0],
            name.replace("_", " "),
            len(rows),
            {"flips": _share(rows, "flipped"), "to the twin's side": _share(rows, "toward")},
        )
        for whole, swapped in changed_runs(scores, "swap")
        for name, rows in _flips(whole, swapped).items()
    ]
    return Analysis(
        "swaps",
        "Swaps of one part with the twin",
        "Which part of the twin's context flips the model?",
        lines,
        "One part of each context is taken from its twin. What flips most is what the model goes "
        "by; a part that ought to matter and flips nothing is not read.",
    )


def _flips(whole: Run, swapped: list[Run]) -> dict[str, pl.DataFrame]:
    """Answers of a run that a swap has too, by the part that was swapped: whether it flips each."""
    twin = pl.col("intended").replace_strict({"safe": "unsafe", "unsafe": "safe"}, default=None)
    plain = _sides(whole).filter(pl.col("side") != "")
    flips: dict[str, pl.DataFrame] = {}
    for run in swapped:
        after = _sides(run).select(*ANSWER_KEYS, pl.col("side").alias("after"))
        flipped = (pl.col("after") != pl.col("side")) & (pl.col("after") != "")
        rows = plain.join(after, on=ANSWER_KEYS, maintain_order="left").select(
            *ANSWER_KEYS,
            pl.coalesce("query_id", "case_id").alias("query"),
            flipped.alias("flipped"),
            (flipped & (pl.col("after") == twin)).fill_null(False).alias("toward"),
        )
        if len(rows):
            flips.setdefault(run[0].swap or "", rows)
    return flips


def _sides(run: Run) -> pl.DataFrame:
    """Rows that were read, with the side they take: ``safe``, ``unsafe``, or "" for none."""
    side = pl.col("verdict")
    if is_acting(run[0].protocol):
        sides = {str(ResponseClass.COMPLIANCE): "safe", str(ResponseClass.REFUSAL): "unsafe"}
        side = pl.col("response_class").replace_strict(sides, default="")
    return run[1].filter(pl.col("status") == "ok").with_columns(side.fill_null("").alias("side"))


def _share(rows: pl.DataFrame, flag: str) -> Estimate:
    clusters = number_clusters(rows["query"].to_numpy().astype(str))
    return clustered_mean(rows[flag].cast(pl.Float64).to_numpy(), clusters, kind="share")


@analysis
def explanations(scores: Scores) -> Analysis:
    """Movement of answers when a parameter is removed, by whether the explanation names it.

    The columns ``mentions`` and ``parameters`` of the whole run say which parameters each
    explanation names, and which there are: paths (``recipient.type``) or plain names, joined by
    spaces. Cases that never had the parameter, and rows in which either is null, are left out.
    """
    lines: list[Line] = []
    for whole, shortened in (
        changed_runs(scores, "ablation") if "mentions" in scores.table.columns else ()
    ):
        points = [
            _points(whole[1], run[0].ablation[0], run[1])
            for run in shortened
            if len(run[0].ablation) == 1 and run[0].ablation[0] not in GROUPS
        ]
        if points and len(rows := pl.concat(points)):
            lines += _movement_lines(whole, rows)
    return Analysis(
        "explanations",
        "Removed parameters by whether the explanation names them",
        "Do explanations name what changes the verdict?",
        lines,
        "If explanations are faithful, removing a parameter changes the verdict more often where "
        "the explanation names it: a difference above 0.",
    )


def _points(plain: pl.DataFrame, name: str, removed: pl.DataFrame) -> pl.DataFrame:
    """Cases that have a parameter, with the effect of its removal on each."""
    known = [pl.col(column).is_not_null() for column in ("mentions", "parameters", "verdict")]
    read = pl.col("status") == "ok"
    after = removed.filter(read, pl.col("verdict").is_not_null()).select(
        *ANSWER_KEYS, pl.col("verdict").alias("after")
    )
    return (
        plain.filter(read, *known)
        .filter(_holds("parameters", name))
        .join(after, on=ANSWER_KEYS, how="inner", maintain_order="left")
        .select(
            pl.coalesce("query_id", "case_id").alias("query"),
            _holds("mentions", name).cast(pl.Float64).alias("named"),
            (pl.col("verdict") != pl.col("after")).cast(pl.Float64).alias("moved"),
        )
    )


def _holds(column: str, name: str) -> pl.Expr:
    """Tell whether a column's paths, joined by spaces, hold the named parameter or a part of it.

    A plain name matches anywhere but at the head of a longer path, where it is a group's.
    """
    padded = " " + pl.col(column) + " "
    marks = [(" ", " "), (" ", ".")] if "." in name else [(" ", " "), (".", " "), (".", ".")]
    return pl.any_horizontal(
        padded.str.contains(f"{before}{name}{after}", literal=True) for before, after in marks
    )


def _movement_lines(whole: Run, rows: pl.DataFrame) -> Iterator[Line]:
    """Changes by parameters that explanations name, by the others, and their difference."""
    clusters = number_clusters(rows["query"].to_numpy().astype(str))
    moved: FloatArray = rows["moved"].to_numpy()
    named: FloatArray = rows["named"].to_numpy()
    shares = {
        part: clustered_ratio(moved * weight, weight, clusters, kind="share")
        for part, weight in (("named", named), ("not named", 1 - named))
    }
    counts = {"named": int(named.sum()), "not named": int((1 - named).sum())}
    for part, share in shares.items():
        yield Line(whole[0], f"verdict changes, {part}", counts[part], {"moves": share})
    difference = shares["named"] - shares["not named"]
    yield Line(whole[0], "verdict changes, difference", len(rows), {"moves": difference})
