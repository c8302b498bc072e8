"""A published work: its files, its terms, its published figures, and how it scores."""

import math
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from casewise.cases import LabelRule, fault, read_model
from casewise.choices import Split, UnreadPolicy
from casewise.errors import UsageError, choose_from
from casewise.measures import measures
from casewise.scores import Scoring

WORKS = Path(__file__).parent / "works"
WORK_FILE = "work.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceFile(_Strict):
    """A file of a work."""

    path: Annotated[str, Field(min_length=1)]
    """Its path below the work's address."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(gt=0)]


class PublishedTable(_Strict):
    """Figures that one place of a work states, a row for each run."""

    source: Annotated[str, Field(min_length=1)]
    """The place: table, page, file."""
    keys: Annotated[tuple[str, ...], Field(min_length=1)] = ("model",)
    """Columns of the run's condition, or of the split, whose values name a row, joined by ``, ``.
    Runs of one name are averaged, as their authors do."""
    split: Split | None = None
    against: dict[str, str] = {}
    """Column and value of the run that each run is compared with, as ``casewise compare`` does;
    none where runs are scored by themselves."""
    measures: Annotated[dict[str, str], Field(min_length=1)]
    """Formula by the authors' name of the figure: measures of ``casewise score`` and ``n``, in
    products and sums, such as ``100*accuracy`` and ``1 - over_refusal``; of a comparison also the
    cases ``newly_wrong`` and ``newly_right``."""
    tolerance: Annotated[float, Field(ge=0)]
    """Largest difference that counts as equal, in the unit of the figures."""
    rows: Annotated[dict[str, tuple[float | None, ...]], Field(min_length=1)]
    """Figures by row, in the order of ``measures``; null where none is published."""
    reasons: dict[str, str] = {}
    """Known reasons of figures that differ, by ``ROW, FIGURE``."""

    @model_validator(mode="after")
    def _whole(self) -> "PublishedTable":
        known = {"n", *(one.name for one in measures())}
        if self.against:
            known |= {"newly_wrong", "newly_right"}
        for label, formula in self.measures.items():
            for name in names_in(formula):
                if name not in known:
                    raise fault(
                        "unknown measure",
                        *("measures", label),
                        found=name,
                        expected="n, or a measure of docs/method/statistics.md",
                    )
        for row, values in self.rows.items():
            if len(values) != len(self.measures):
                raise fault(
                    "wrong number of figures",
                    *("rows", row),
                    found=len(values),
                    expected=f"{len(self.measures)}, one for each of {', '.join(self.measures)}",
                )
        named = {f"{row}, {label}" for row in self.rows for label in self.measures}
        for name in self.reasons:
            if name not in named:
                raise fault("a reason for no figure", "reasons", found=name, expected="ROW, FIGURE")
        return self


class _Rules(_Strict):
    """Rules of scoring, as the work's authors score."""

    labels: LabelRule | None = None
    unparsed: UnreadPolicy = UnreadPolicy.HONEST
    partial_weight: Annotated[float, Field(ge=0, le=1)] = 0.5

    def scoring(self) -> Scoring:
        """The rules as ``score_table`` takes them."""
        return Scoring(self.labels, self.unparsed, partial_weight=self.partial_weight)


class Work(_Strict):
    """A published work."""

    title: Annotated[str, Field(min_length=1)]
    citation: Annotated[str, Field(min_length=1)]
    address: Annotated[str, Field(pattern=r"^https?://")]
    """Page of the work's outputs, for people."""
    commit: str | None = None
    files_at: Annotated[str, Field(pattern=r"^https?://.*[^/]$")] | None = None
    """Address that the files' paths follow; null where they can't be fetched one by one."""
    licence: Annotated[str, Field(min_length=1)]
    terms: Annotated[str, Field(min_length=1)]
    left_out: str = ""
    """Figures of the work that are not here, and why."""
    files: Annotated[tuple[SourceFile, ...], Field(min_length=1)]
    scoring: _Rules = _Rules()
    published: Annotated[tuple[PublishedTable, ...], Field(min_length=1)]

    @property
    def figures(self) -> int:
        """Number of published figures."""
        tables = (values for one in self.published for values in one.rows.values())
        return sum(value is not None for values in tables for value in values)


def work_names(works: Path = WORKS) -> list[str]:
    """Names of the works that ship: the folders that hold a work's file."""
    return sorted(one.parent.name for one in works.glob(f"*/{WORK_FILE}"))


def load_work(name: str, works: Path = WORKS) -> Work:
    """Load a work by its name.

    Raises:
        UsageError: There is none of that name.
        InputError: Its file can't be used; the message names file, field, found and expected.
    """
    names = work_names(works)
    if name not in names:
        raise UsageError(f"no work {name!r} ships: {choose_from(name, names)}")
    return read_model(
        *(works / name / WORK_FILE, Work, "work"),
        nouns={"files": "file", "published": "table"},
        expected={"sha256": "64 hex digits", "files_at": "an address without a slash at its end"},
    )


def names_in(formula: str) -> list[str]:
    """Names of measures in a formula."""
    return [part for part in formula.replace("*", " ").split() if part[0].isalpha()]


def evaluate(formula: str, figures: dict[str, float]) -> float:
    """Value of a formula: terms with ``+`` or ``-`` between them, each a product of factors."""
    total, sign = 0.0, 1.0
    for term in formula.split():
        if term in ("+", "-"):
            sign = 1.0 if term == "+" else -1.0
        else:
            factors = (
                figures[part] if part[0].isalpha() else float(part) for part in term.split("*")
            )
            total += sign * math.prod(factors)
    return total
