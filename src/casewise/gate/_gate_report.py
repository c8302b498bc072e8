"""Report of a gate, row by row and as JSON values, and the history of the builds that it judged.

A rule at 95 % fails an unchanged model in up to 5 of 100 builds, so over many builds some most
often do. With a history, false fails have one error for ``BUILDS`` builds together, spent in equal
parts: the linear spending function of Lan & DeMets (1983), doi:10.1093/biomet/70.3.659, with the
builds as the information. Within a build, its rules share that part. By Bonferroni's inequality
the sum holds however the builds depend on each other, as those do that share a baseline. Equal
parts are the same whatever came before: a history that is lost, or that two branches write, lets
no build fail more easily.

In JSON, what is undefined is null.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from casewise.cases import LabelRule
from casewise.errors import InputError
from casewise.files import read_text, write_atomically
from casewise.gate._gate_rules import GateConfig, GateRule
from casewise.gate._rule_figures import Completeness
from casewise.gate._verdicts import GateVerdict, Needed
from casewise.protocols import CONDITION, RunCondition
from casewise.scores import PROVISIONAL, Change
from casewise.sheets import json_fields, json_interval, json_number

BUILDS = 100
"""Builds in a row that share one error."""

FALSE_FAILS = 0.05
"""Chance, at most, that any of ``BUILDS`` builds fails, if all are of unchanged models."""


class PastBuild(BaseModel):
    """A line of a history."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    build: Annotated[int, Field(strict=True, ge=1)]
    """Its number, from 1."""
    key: str
    """Hash of the judgements, of the baseline's, and of the rules."""
    at: datetime
    models: list[str]
    verdict: str
    failed: list[str]
    """Rules that failed: condition and measure."""


@dataclass(frozen=True, slots=True)
class Build:
    """A build among those of its history."""

    number: int
    """From 1."""
    rules: int
    """Verdicts that rest on bounds, which share the build's part of the error."""

    @property
    def confidence(self) -> float:
        """Confidence that each fail needs."""
        return 1 - FALSE_FAILS / BUILDS / max(1, self.rules)

    @property
    def spent(self) -> float:
        """Error spent by the ``BUILDS`` builds that it is one of, up to itself."""
        return ((self.number - 1) % BUILDS + 1) * FALSE_FAILS / BUILDS


def read_history(path: Path) -> list[PastBuild]:
    """Read the builds of a history; a file that isn't there has none.

    Raises:
        InputError: A line is no build, or its number isn't its place.
    """
    if not path.exists():
        return []
    found = []
    for place, line in enumerate(read_text(path).splitlines(), start=1):
        fault = partial(InputError, file=path, record=f"line {place}")
        try:
            one = PastBuild.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            raise fault(
                f"no build of a gate's history: {first['msg']}",
                field=".".join(map(str, first["loc"])) or None,
                expected="what casewise gate --history writes; or another file",
            ) from None
        if one.build != place:
            problem = "builds are numbered from 1, a line each"
            raise fault(problem, field="build", found=one.build, expected=str(place))
        found.append(one)
    return found


_ASKED = ("run_id", "case_id", "epoch", "status", "verdict", "p_safe", "mass", "response_class")


def build_key(config: GateConfig, run: pl.DataFrame, baseline: pl.DataFrame | None) -> str:
    """A hash of what a gate is asked; the same question, asked again, is the same build."""
    rules = [
        (
            *(rule.number, rule.measure.name, rule.demand, rule.limit, rule.confidence),
            *(rule.where, rule.labels, rule.when),
        )
        for rule in config.rules
    ]
    labels = [(one.id, one.label) for file in config.checks for one in file.replies]
    digest = sha256(json.dumps([rules, labels] if labels else rules).encode())
    for table in (run, baseline):
        digest.update(b"" if table is None else json.dumps(table.select(_ASKED).rows()).encode())
    return digest.hexdigest()[:16]


def add_build(path: Path, builds: Sequence[PastBuild], build: PastBuild) -> None:
    """Write a history with one more build, atomically."""
    lines = (f"{one.model_dump_json()}\n" for one in (*builds, build))
    write_atomically(path, "".join(lines).encode())


@dataclass(frozen=True, slots=True)
class Missing:
    """Something without which a gate can't pass."""

    run: str
    """Model or condition that lacks it."""
    what: str
    """The missing thing: ``judgements``, ``measure of safety``."""
    text: str
    """Sentences on what is missing and what would supply it, with the name of the run."""


@dataclass(frozen=True, slots=True)
class GateRow:
    """One rule held against one condition of the run. NaN is undefined."""

    rule: GateRule
    run: str
    """Shortest name that tells the condition from the others of the run."""
    condition: RunCondition
    against: str | None
    """Name of the baseline's condition."""
    verdict: GateVerdict
    value: float
    """Figure of the run; against a baseline, over the cases that both answered."""
    baseline: float
    change: float
    """The run minus its baseline; NaN where the rule needs none."""
    low: float
    """One-sided bound of the value, or of the change, at the rule's confidence."""
    high: float
    n: int
    """Judgements that count, of each run."""
    queries: int
    """Queries that count in the measure."""
    coverage: float
    """Share of the planned, labelled judgements that are there and were read."""
    left_out: int
    """Judgements of either run without an answered counterpart or a label."""
    labels: LabelRule
    needed: Needed | None
    """Cases that would have decided an undecided rule; None if no number does."""
    fails_beyond: float = math.nan
    """Bound that a fail rests on; in a history it is wider than ``low`` and ``high``."""
    withheld: str = ""
    """Why there are no bounds; empty where there are."""
    as_graded: float = math.nan
    """The value before it was corrected for the grader's errors; NaN where it was not."""
    provisional: bool = False
    """True if it rests on rules' grades, not corrected for their errors."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """Every verdict of a gate."""

    rows: tuple[GateRow, ...]
    """Rows by condition, then by rule."""
    missing: tuple[Missing, ...]
    """Lacks of the run or the rules that keep the gate from passing."""
    completeness: Mapping[str, Completeness]
    """Completeness of the conditions that were judged, by name."""
    notes: tuple[str, ...]
    """Notes on the verdicts, a sentence each."""
    changed: Mapping[str, tuple[Change, ...]] = field(default_factory=dict)
    """Cases whose verdict changed, by name of the conditions that have a baseline."""
    build: Build | None = None
    """The build in the history; None without a history."""

    @property
    def verdict(self) -> GateVerdict:
        """Fail if any rule fails; else undecided if any is, or something is missing; else pass."""
        if self.count(GateVerdict.FAIL):
            return GateVerdict.FAIL
        is_open = self.missing or self.count(GateVerdict.UNDECIDED)
        return GateVerdict.UNDECIDED if is_open else GateVerdict.PASS

    def count(self, verdict: GateVerdict) -> int:
        """Number of rows that have a verdict."""
        return sum(row.verdict is verdict for row in self.rows)


EXIT_STATUS = {GateVerdict.PASS: 0, GateVerdict.FAIL: 1, GateVerdict.UNDECIDED: 3}
"""Exit status of ``casewise gate``; 2 is bad input."""


def as_gate_record(report: GateReport) -> dict[str, Any]:
    """One object: the verdict, an object for each rule and condition, the notes."""
    return {
        "verdict": str(report.verdict),
        "exit_status": EXIT_STATUS[report.verdict],
        "counts": {str(one): report.count(one) for one in GateVerdict},
        "rules": [_row(row) for row in report.rows],
        "missing": [asdict(one) for one in report.missing],
        "judgements": [
            {"run": name, "there": one.state.there, "planned": one.state.planned, "lost": one.lost}
            for name, one in report.completeness.items()
        ],
        "notes": list(report.notes),
        "changed": [
            {"run": name} | asdict(one) for name, found in report.changed.items() for one in found
        ],
        "history": (build := report.build)
        and {
            "build": build.number,
            **json_fields(build, "confidence", "spent"),
            **{"error": FALSE_FAILS, "builds": BUILDS},
        },
    }


def _row(row: GateRow) -> dict[str, Any]:
    rule = row.rule
    return {
        "rule": rule.number,
        "measure": rule.measure.name,
        str(rule.demand): rule.limit,
        "confidence": rule.confidence,
        "where": {column: list(values) for column, values in rule.where},
        "run": row.run,
        "baseline": row.against,
        "condition": {name: row.condition[name] for name in CONDITION},
        "verdict": str(row.verdict),
        "value": json_number(row.value),
        "value_baseline": json_number(row.baseline),
        **({} if math.isnan(row.as_graded) else {"value_as_graded": row.as_graded}),
        PROVISIONAL: row.provisional,
        "change": json_number(row.change),
        "bounds": json_interval((row.low, row.high)),
        **({"withheld": row.withheld} if row.withheld else {}),
        "fails_beyond": json_number(row.fails_beyond),
        "labels": str(row.labels),
        **json_fields(row, "n", "queries", "coverage", "left_out"),
        "needed": asdict(row.needed) if row.needed is not None else None,
    }
