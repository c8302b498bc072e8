"""How much of what a run was to judge it holds."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from casewise.analysis._table import OF_CASE


@dataclass(frozen=True, slots=True)
class Extent:
    """Judgements of a run that are there, and those that are missing."""

    there: int
    planned: int
    """Those that the run was to make; what is there, where nobody says."""
    lost: int = 0
    """Judgements of cases that the baseline has and the run doesn't."""

    @property
    def missing(self) -> int:
        """At least so many are missing: what was not reached is most often what is lost."""
        return max(self.planned - self.there, self.lost)

    @property
    def sentences(self) -> Sequence[str]:
        """What is missing, a sentence each without the run's name."""
        found = []
        if self.planned > self.there:
            found.append(
                f"{self.there} of {self.planned} planned judgements are there: the run was "
                "stopped or capped, or did not end"
            )
        if self.lost:
            found.append(f"{self.lost} judgements are missing of cases that the baseline has")
        return found


def extent_of(rows: pl.DataFrame, baseline: pl.DataFrame | None = None) -> Extent:
    """How much of what a condition was to hold it holds.

    Args:
        rows: Of the condition.
        baseline: Of its counterpart, over the same data.
    """
    lost = 0 if baseline is None else len(lost_rows(rows, baseline))
    return Extent(len(rows), planned_in(rows), lost)


def planned_in(rows: pl.DataFrame) -> int:
    """Judgements that the runs of some rows were to make; at least the rows that there are."""
    runs = rows.group_by("run_id").agg(pl.len().alias("there"), pl.col("planned").max())
    return int(runs.select(pl.max_horizontal("there", "planned").sum()).item())


def lost_rows(rows: pl.DataFrame, baseline: pl.DataFrame) -> pl.DataFrame:
    """What the cases say that a baseline has and a run doesn't, as often as the run asks each."""
    known = baseline.select("case_id", *OF_CASE).unique("case_id", maintain_order=True)
    lost = known.join(rows.select("case_id"), on="case_id", how="anti", maintain_order="left")
    return lost.join(rows.select("epoch").unique(), how="cross")
