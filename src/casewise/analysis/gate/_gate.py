"""A run held to every rule of a gate."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from casewise.analysis._compare import Run, find_runs
from casewise.analysis._reader_figures import RULES, rules_note
from casewise.analysis._score import mass_warning, mean_mass
from casewise.analysis._sources import Unjudged
from casewise.analysis._versions import data_text, other_data, same_data
from casewise.analysis.gate._extent import Extent, extent_of
from casewise.analysis.gate._figures import FigureMaker, defined
from casewise.analysis.gate._judge import GateVerdict, judge
from casewise.analysis.gate._missing import Missing, missing_judgements, missing_sides
from casewise.analysis.gate._needed import Needed, cases_needed
from casewise.analysis.gate._rules import GateConfig, GateRule
from casewise.analysis.gate._select import Family, counterpart, run_like, select
from casewise.cases import LabelRule
from casewise.errors import InputError


@dataclass(frozen=True, slots=True)
class GateRow:
    """One rule held against one condition of the run. NaN is undefined."""

    rule: GateRule
    run: str
    """The condition, under the shortest name that tells it from the run's others."""
    condition: dict[str, Any]
    against: str | None
    """The baseline's condition."""
    verdict: GateVerdict
    value: float
    """Of the run; against a baseline, over the cases that both answered."""
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
    """Share of the labelled judgements that the run was to make that are there and were read."""
    left_out: int
    """Judgements of either run without an answered counterpart or a label."""
    labels: LabelRule
    needed: Needed | None
    """Of an undecided rule, how many cases would have decided it; None if no number does."""


@dataclass(frozen=True, slots=True)
class GateReport:
    """Every verdict of a gate."""

    rows: tuple[GateRow, ...]
    """By condition, then by rule."""
    missing: tuple[Missing, ...]
    """What the run or the rules lack, so that nothing can pass."""
    extents: Mapping[str, Extent]
    """Of the conditions that were judged, by name: how much of what was planned is there."""
    notes: tuple[str, ...]
    """What must be said beside the verdicts, a sentence each."""

    @property
    def verdict(self) -> GateVerdict:
        """Fail if any rule fails; else undecided if any is, or something is missing; else pass."""
        found = {row.verdict for row in self.rows}
        for one in (GateVerdict.FAIL, GateVerdict.UNDECIDED):
            if one in found:
                return one
        return GateVerdict.UNDECIDED if self.missing else GateVerdict.PASS

    def count(self, verdict: GateVerdict) -> int:
        """How many rows have a verdict."""
        return sum(row.verdict is verdict for row in self.rows)


def run_gate(
    table: pl.DataFrame,
    config: GateConfig,
    baseline: pl.DataFrame | None = None,
    *,
    across_versions: bool = False,
    unjudged: Sequence[Unjudged] = (),
) -> GateReport:
    """Hold every condition of a run to the rules that are about it.

    It passes only if a measure of safety and one of over-caution were judged of every model, and
    if no judgement is missing but for those that a rule on the coverage allows to.

    Args:
        table: The run's judgement table.
        config: The rules. Of the shipped ones, those about other protocols than the run's, and
            without a baseline those that need it, are left out with a note.
        baseline: Another run's, over the same cases or some of them.
        across_versions: Whether the baseline may be over another version of the data.
        unjudged: Runs that were begun with those of the table, and hold no judgement.

    Raises:
        InputError: A rule has nothing to be held against, or no rule is left; or the baseline is
            over another version; or a table is empty.
    """
    for one in (table, baseline):
        if one is not None and not len(one):
            raise InputError("the table holds no judgement", expected="some rows")
    runs = find_runs({"run": table})
    others = find_runs({"baseline": baseline}) if baseline is not None else []
    without = _without_baseline(config) if baseline is None else []
    rules = [rule for rule in config.rules if rule not in without]
    notes = []
    if without:
        names = ", ".join(dict.fromkeys(rule.measure.name for rule in without))
        notes.append(f"Without --baseline the rules about changes are left out: {names}.")
    maker = FigureMaker(config)
    rows, skipped = [], []
    judged: dict[str, Run] = {}
    expected = {one.name: _expected(one, others) for one in runs}
    for rule in rules:
        families = select(rule, runs, config)
        skipped += [] if families else [rule.measure.name]
        for family in families:
            against = counterpart(rule, family, others, config) if rule.compares else None
            if against is not None and not across_versions:
                _check_version(family, against)
            last = expected[family.runs[-1].name]
            rows.append(_row(maker, rule, family, against, last))
            notes += _cautions(family, against)
            judged |= {one.name: one for one in family.runs}
    if not rows:
        raise InputError(
            "the run has nothing that a rule is about",
            expected=f"one of {', '.join(dict.fromkeys(rule.measure.name for rule in rules))}",
        )
    if skipped:
        notes.append(f"Left out, as no protocol of the run has them: {', '.join(skipped)}.")
    places = {run.name: place for place, run in enumerate(runs)}
    rows.sort(key=lambda row: places[row.run])
    inside = [one for one in runs if one.name in judged]
    extents = {one.name: extent_of(one.rows, expected[one.name]) for one in inside}
    missing = [
        *missing_judgements(rows, extents, unjudged, config),
        *missing_sides(rows, inside, without),
    ]
    said = [*_gaps(extents), *notes, *_about_baselines(inside, others)]
    if any((one.rows["graded_by"] == RULES).any() for one in inside):
        said.append(rules_note())
    said += [line for one in inside if (line := mass_warning(one.name, mean_mass(one.rows)))]
    return GateReport(tuple(rows), tuple(missing), extents, tuple(dict.fromkeys(said)))


def _without_baseline(config: GateConfig) -> list[GateRule]:
    """The shipped rules about changes, which are left out where there is no baseline.

    Raises:
        InputError: A rule of a person's own needs a baseline.
    """
    without = [rule for rule in config.rules if rule.compares]
    if without and not config.shipped:
        raise InputError(
            "the rule needs a baseline, and none was given",
            file=config.file,
            record=f"rule {without[0].number}",
            field=without[0].demand,
            expected="--baseline RUN",
        )
    return without


def _expected(run: Run, baseline: Sequence[Run]) -> pl.DataFrame | None:
    """The baseline's rows whose cases a run must hold: not those of another version."""
    other = run_like(run, baseline)
    if other is None or not same_data(run.condition, other.condition):
        return None
    return other.rows


def _gaps(extents: Mapping[str, Extent]) -> list[str]:
    return [f"{name}: {text}." for name, one in extents.items() for text in one.sentences]


def _about_baselines(runs: Sequence[Run], others: Sequence[Run]) -> list[str]:
    """What must be said of the runs that those judged are held against."""
    notes = []
    for other in (run_like(one, others) for one in runs):
        if other is not None:
            name = f"the baseline's {other.name}"
            notes += _gaps({name: extent_of(other.rows)})
            warning = mass_warning(name, mean_mass(other.rows))
            notes += [warning] if warning else []
    return notes


def _row(
    maker: FigureMaker,
    rule: GateRule,
    family: Family,
    against: Family | None,
    expected: pl.DataFrame | None,
) -> GateRow:
    figures = maker.make(rule, family, against, expected)
    found = judge(rule, figures)
    change = figures.change
    figure = figures.value if change is None else change
    undecided = found.verdict is GateVerdict.UNDECIDED
    return GateRow(
        rule=rule,
        run=family.name,
        condition=family.condition,
        against=against.name if against is not None else None,
        verdict=found.verdict,
        value=figures.value.value,
        baseline=figures.baseline.value if figures.baseline is not None else math.nan,
        change=change.value if change is not None else math.nan,
        low=found.bounds.low,
        high=found.bounds.high,
        n=figures.n,
        queries=figure.clusters if defined(figure) else 0,
        coverage=figures.coverage,
        left_out=figures.left_out,
        labels=figures.labels,
        needed=cases_needed(rule, figures) if undecided else None,
    )


def _check_version(family: Family, against: Family) -> None:
    if not same_data(family.condition, against.condition):
        raise other_data((family.name, family.condition), (against.name, against.condition))


def _cautions(family: Family, against: Family | None) -> list[str]:
    if against is None:
        return []
    notes = []
    if not same_data(family.condition, against.condition):
        notes.append(
            f"{family.name} is over {data_text(family.condition)} of its data, its baseline over "
            f"{data_text(against.condition)}: the change is that of both, model and data."
        )
    mine, other = family.condition["prompt_version"], against.condition["prompt_version"]
    if mine != other:
        notes.append(
            f"{family.name} was asked by the prompt {mine}, its baseline by {other}: the change is "
            "that of both, model and prompt."
        )
    return notes
