"""A run held to every rule of a gate, and what keeps it from passing though no rule fails."""

import math
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from casewise.errors import InputError
from casewise.gate._conditions import (
    Family,
    condition_name,
    counterpart,
    families_of,
    is_about,
    run_like,
    select,
)
from casewise.gate._gate_report import GateReport, GateRow, Missing
from casewise.gate._gate_rules import GATE_MEASURES, GateConfig, GateRule, Side
from casewise.gate._rule_figures import Extent, FigureMaker, defined, extent_of
from casewise.gate._verdicts import GateVerdict, cases_needed, judge
from casewise.scores import (
    RULES,
    Run,
    Unjudged,
    data_text,
    find_runs,
    mass_warning,
    mean_mass,
    other_data,
    rules_note,
    same_data,
)


def missing_judgements(
    rows: Sequence["GateRow"],
    extents: Mapping[str, Extent],
    unjudged: Iterable[Unjudged],
    config: GateConfig,
) -> list[Missing]:
    """Conditions that lack judgements, where no rule says how many may."""
    allowed = {row.run for row in rows if row.rule.allows_gaps}
    found = [
        Missing(
            name,
            "judgements",
            f"{name}: {'; '.join(one.sentences)}. Go on with the run, or allow it by a rule: "
            "`measure: coverage`, at_least.",
        )
        for name, one in extents.items()
        if one.missing and name not in allowed
    ]
    for one in unjudged:
        if any(is_about(rule, one.condition) for rule in config.rules):
            name = condition_name(one.condition)
            planned = "planned" if one.planned is None else f"{one.planned} planned"
            text = f"{name}: none of its {planned} judgements is there. Go on with the run."
            found.append(Missing(name, "judgements", text))
    return found


def missing_sides(
    rows: Sequence["GateRow"], runs: Sequence[Run], left_out: Sequence[GateRule]
) -> list[Missing]:
    """Models of which no measure of safety, or none of over-caution, was judged.

    Args:
        rows: What was judged.
        runs: The conditions that were.
        left_out: Rules that need a baseline, where there is none.
    """
    found = []
    for model in dict.fromkeys(str(one.condition["model"]) for one in runs):
        own = [one for one in runs if str(one.condition["model"]) == model]
        judged = frozenset[Side]().union(
            *(row.rule.sides for row in rows if str(row.condition["model"]) == model)
        )
        found += [
            Missing(
                model,
                f"measure of {side}",
                f"{model}: no measure of {side} was judged, so a model that {_WOULD[side]} could "
                f"pass. {_supply(side, own, left_out)}",
            )
            for side in Side
            if side not in judged
        ]
    return found


_WOULD = {
    Side.SAFETY: "calls everything safe, or answers everything,",
    Side.CAUTION: "calls everything unsafe, or refuses everything,",
}


def _supply(side: Side, runs: Sequence[Run], left_out: Sequence[GateRule]) -> str:
    """What would have a measure of one side judged."""
    waiting = dict.fromkeys(
        rule.measure.name
        for rule in left_out
        if side in rule.sides and families_of(rule.measure, runs)
    )
    if waiting:
        return f"--baseline RUN would have the rule about {' and '.join(waiting)} judged."
    names = [
        one.name for one in GATE_MEASURES.values() if side in one.sides and families_of(one, runs)
    ]
    return (
        f"Add a rule about {', '.join(names[:-1])} or {names[-1]}: at_least or at_most, or with "
        "--baseline RUN worse_by_at_most."
    )


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
