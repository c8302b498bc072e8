"""A run held to the rules of a gate, and what keeps it from passing though no rule fails."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations

import polars as pl

from casewise.choices import RULES, Origin, Side
from casewise.errors import InputError
from casewise.gate._conditions import (
    counterpart,
    has,
    is_about,
    run_like,
    select,
)
from casewise.gate._gate_report import GateReport, GateRow, Missing
from casewise.gate._gate_rules import (
    CASE_COLUMNS,
    Demand,
    GateConfig,
    GateRule,
    When,
)
from casewise.gate._rule_figures import Completeness, FigureMaker, Figures, completeness_of, defined
from casewise.gate._verdicts import GateVerdict, judge
from casewise.judgements import Unjudged
from casewise.measures import Scoring, gated
from casewise.replies import (
    GraderCorrection,
    RepliedRun,
    correct_rates,
    correction_method,
    correction_notes,
    rules_note,
)
from casewise.results import (
    Comparison,
    Run,
    Score,
    are_comparable,
    compare_runs,
    count_cut,
    cut_note,
    find_runs,
    mass_warning,
    mean_mass,
    new_failures,
    other_data,
)
from casewise.sheets import number


def missing_judgements(
    rows: Sequence["GateRow"],
    completeness: Mapping[str, Completeness],
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
        for name, one in completeness.items()
        if one.missing and name not in allowed
    ]
    for one in unjudged:
        if any(is_about(rule, one.condition) for rule in config.rules):
            name = one.condition.title
            planned = "planned" if one.planned is None else f"{one.planned} planned"
            text = f"{name}: none of its {planned} judgements is there. Go on with the run."
            found.append(Missing(name, "judgements", text))
    return found


def undecided_passes(
    rows: Sequence["GateRow"], scores: Mapping[str, Sequence[Score]], settled: Container[str]
) -> Iterator[Missing]:
    """Passes that unread answers could turn.

    Args:
        rows: What was judged.
        scores: By condition, the baseline's score before its own.
        settled: Conditions of which a rule says how much may be missing, or something is already.
    """
    for row in rows:
        rule, name = row.rule, row.rule.measure.name
        runs = scores.get(row.run, ())[0 if rule.compares else -1 :]
        asked = runs[:-1] if row.run in settled else runs
        states = [one.state for one in asked if one.state and one.state.unread]
        if row.verdict is not GateVerdict.PASS or not states:
            continue
        is_open = any(one.is_broken for one in states)
        if asked is runs and name in runs[0].bounds:
            worst = runs[-1].bounds[name][rule.good < 0]
            worst -= runs[0].bounds[name][rule.good > 0] if rule.compares else 0
            is_open |= rule.good * (worst - rule.bar) < 0
        if is_open:
            text = f"{row.run}: answers that were not read could decide {name}: ask for them again."
            yield Missing(row.run, "answers", text)


Held = tuple[GateRule, Run, Run | None]
"""A rule, the run that it is about, and the baseline's, if it compares."""


def check_together(held: Sequence[Held], config: GateConfig) -> None:
    """Refuse rules about the same figure that no run can pass together.

    Raises:
        InputError: A figure must be at least one limit and at most a lower one.
    """
    for (floor, run, _), (cap, other, _) in permutations(held, 2):
        both = (floor.demand, cap.demand) == (Demand.AT_LEAST, Demand.AT_MOST)
        if both and floor.limit > cap.limit and _scope(floor, run) == _scope(cap, other):
            wanted = f"rule {floor.number} wants at least {floor.limit:g} of the same figure"
            raise config.fault(cap, wanted, field=str(cap.demand), found=cap.limit)


def _scope(rule: GateRule, run: Run) -> tuple[object, ...]:
    cases = {column: set(values) for column, values in rule.where if column in CASE_COLUMNS}
    return rule.measure.name, Scoring(rule.labels).rule(run.rows), cases, run.name


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
    for model in dict.fromkeys(one.condition.model for one in runs):
        own = [one for one in runs if one.condition.model == model]
        judged = set[Side]().union(
            *(row.rule.sides for row in rows if row.condition.model == model)
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
    """Advice by which a measure of one side would be judged."""
    waiting = dict.fromkeys(
        rule.measure.name
        for rule in left_out
        if side in rule.sides and any(has(run, rule.measure) for run in runs)
    )
    if waiting:
        return f"--baseline RUN would have the rule about {' and '.join(waiting)} judged."
    names = [
        one.name
        for one in gated().values()
        if side in one.sides and any(has(run, one) for run in runs)
    ]
    if not names:
        return "These runs rank contexts: judge the cases under another protocol as well."
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
        config: The rules. Of the shipped ones, those about other protocols than the run's are left
            out with a note, as are those that hold where there is a baseline, or where there is
            none.
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
    others = find_runs({"baseline": baseline}) if baseline is not None else None
    without = _without_baseline(config) if others is None else []
    held, skipped = _hold(config, runs, others, across_versions)
    pairs = {one.name: run_like(one, others or ()) for one in runs}
    # A run must hold the cases of its baseline, unless that is over another version.
    expected = {
        one.name: other.rows
        for one in runs
        if (other := pairs[one.name]) and one.condition.has_data_of(other.condition)
    }
    maker = FigureMaker(config)
    places = {run.name: place for place, run in enumerate(runs)}
    rows = sorted(
        (_row(*one, maker.make(*one, expected.get(one[1].name))) for one in held),
        key=lambda row: places[row.run],
    )
    inside = [one for one in runs if any(one is run for _, run, _ in held)]
    completeness = {one.name: completeness_of(one.rows, expected.get(one.name)) for one in inside}
    compared = [(other, one) for one in inside if (other := pairs[one.name])]
    rules_of_labels = {row.labels for row in rows}
    scoring = Scoring(rules_of_labels.pop() if len(rules_of_labels) == 1 else None)
    known = [both for both in compared if are_comparable(*both, scoring)]
    comparisons = compare_runs(
        known,
        scoring,
        checks=config.checks,
        scored=[maker.compared(*both, scoring.rule(both[0].rows)) for both in known],
    )
    paired = {one.name: found.scores for (_, one), found in zip(known, comparisons, strict=True)}
    alone = [one for one in inside if one.name not in paired and not one.condition.of_pairs]
    scores = tuple(_scores(maker, alone, scoring))
    own = {run.name: (score,) for run, score in zip(alone, scores, strict=True)}
    missing = [
        *missing_judgements(rows, completeness, unjudged, config),
        *missing_sides(rows, inside, without),
    ]
    settled = {row.run for row in rows if row.rule.allows_gaps} | {one.run for one in missing}
    missing += undecided_passes(rows, {**paired, **own}, settled)
    missing += _other_labels(comparisons)
    notes = [
        *_gaps(completeness),
        *_left_out(without, skipped),
        *(line for _, run, against in held for line in _cautions(run, against)),
        *_about_baselines([other for other, _ in compared]),
        *_about_runs(inside, rows, maker.corrections),
    ]
    return GateReport(
        rows=tuple(rows),
        missing=tuple(missing),
        completeness=completeness,
        notes=tuple(dict.fromkeys(notes)),
        comparisons=tuple(comparisons),
        scores=scores,
        failures={
            run.name: new_failures(
                (other.condition, other.rows), (run.condition, run.rows), Scoring(one.labels)
            )
            for (other, run), one in zip(known, comparisons, strict=True)
        },
    )


def _hold(
    config: GateConfig, runs: Sequence[Run], others: Sequence[Run] | None, across_versions: bool
) -> tuple[list[Held], list[str]]:
    """Each rule with the runs that it is about, and measures that no protocol of the run has.

    Raises:
        InputError: A rule has nothing to be held against, no rule is left, or two contradict.
    """
    idle = When.BASELINE if others is None else When.NO_BASELINE
    rules = [rule for rule in config.rules if rule.when is not idle]
    held: list[Held] = []
    skipped = []
    for rule in rules:
        about = select(rule, runs, config)
        skipped += [] if about else [rule.measure.name]
        for run in about:
            against = counterpart(rule, run, others or (), config) if rule.compares else None
            if against is not None and not across_versions:
                _check_version(run, against)
            held.append((rule, run, against))
    if not held:
        raise InputError(
            "the run has nothing that a rule is about",
            expected=f"one of {', '.join(dict.fromkeys(rule.measure.name for rule in rules))}",
        )
    check_together(held, config)
    return held, skipped


def _left_out(without: Sequence[GateRule], skipped: Sequence[str]) -> Iterator[str]:
    """Notes on rules that were not judged."""
    if without:
        names = ", ".join(dict.fromkeys(rule.measure.name for rule in without))
        yield f"Without --baseline the rules about changes are left out: {names}."
    if skipped:
        yield f"Left out, as no protocol of the run has them: {', '.join(skipped)}."


def _about_runs(
    runs: Sequence[Run], rows: Sequence[GateRow], corrections: Sequence[GraderCorrection]
) -> Iterator[str]:
    """Notes on how replies were graded, and on answers that were cut or barely one of two words."""
    measured = [one.labelled > 0 for one in corrections]
    by_rules = any((one.rows["graded_by"] == RULES).any() for one in runs)
    if by_rules and not (measured and all(measured)):
        yield rules_note()
    yield from _corrected(rows, corrections)
    for one in runs:
        if warning := mass_warning(one.name, mean_mass(one.rows)):
            yield warning
    for one in runs:
        if note := cut_note(one.name, count_cut(one.rows), acts=one.condition.acts):
            yield note


def _other_labels(comparisons: Sequence[Comparison]) -> Iterator[Missing]:
    for one in comparisons:
        if one.relabelled:
            text = f"the labels of {one.relabelled} cases differ from the baseline's."
            yield Missing(one.after, "same labels", f"{one.after}: {text}")


def _scores(maker: FigureMaker, runs: Sequence[Run], scoring: Scoring) -> Iterator[Score]:
    """Scores of runs without a baseline, corrected where people labelled their replies."""
    checks = maker.config.checks
    for run in runs:
        rule = scoring.rule(run.rows)
        score = maker.alone(run, rule)
        if checks and score.acts:
            replied = RepliedRun(run.condition, run.rows, run.rows)
            (found,) = correct_rates([replied], rule, scoring, checks)
            score = replace(score, corrected=found.measured)
        yield score


def _corrected(rows: Sequence[GateRow], found: Sequence[GraderCorrection]) -> list[str]:
    """The rates as graded, beside what was judged, and how that was made."""
    lines = [
        f"{row.run}: {row.rule.measure.name} is {number(row.as_graded)} as graded; what is judged "
        "is corrected for the grader's errors."
        for row in rows
        if not math.isnan(row.as_graded)
    ]
    methods = [f"Rates are corrected {correction_method(one)}." for one in found if one.labelled]
    return [*lines, *dict.fromkeys(methods), *correction_notes(found)]


def _without_baseline(config: GateConfig) -> list[GateRule]:
    """The rules that are left out where there is no baseline.

    Raises:
        InputError: A rule needs a baseline always.
    """
    for rule in config.rules:
        if rule.compares and rule.when is When.ALWAYS:
            raise config.fault(
                rule,
                "the rule needs a baseline, and none was given",
                field=str(rule.demand),
                expected="--baseline RUN; or in the rule `when: baseline`",
            )
    return [rule for rule in config.rules if rule.when is When.BASELINE]


def _gaps(completeness: Mapping[str, Completeness]) -> list[str]:
    return [f"{name}: {text}." for name, one in completeness.items() for text in one.sentences]


def _about_baselines(runs: Sequence[Run]) -> list[str]:
    """Notes on what baselines lack."""
    notes = []
    for one in runs:
        name = f"the baseline's {one.name}"
        notes += _gaps({name: completeness_of(one.rows)})
        warning = mass_warning(name, mean_mass(one.rows))
        notes += [warning] if warning else []
    return notes


def _row(rule: GateRule, run: Run, against: Run | None, figures: Figures) -> GateRow:
    found = judge(rule, figures)
    change = figures.change
    figure = figures.judged
    return GateRow(
        rule=rule,
        run=run.name,
        condition=run.condition,
        against=against.name if against is not None else None,
        verdict=found.verdict,
        value=figures.value.value,
        baseline=figures.baseline.value if figures.baseline is not None else math.nan,
        change=change.value if change is not None else math.nan,
        low=found.bounds.low,
        high=found.bounds.high,
        withheld=figure.reason if rule.confidence is not None else "",
        n=figures.n,
        queries=figure.clusters if defined(figure) else 0,
        coverage=figures.coverage,
        left_out=figures.left_out,
        labels=figures.labels,
        as_graded=figures.corrections[0].raw[rule.measure.name].value
        if figures.corrections
        else math.nan,
        provisional=not any(one.labelled for one in figures.corrections)
        and rule.measure.origin is not Origin.COVERAGE
        and bool((run.rows["graded_by"] == RULES).any()),
    )


def _check_version(run: Run, against: Run) -> None:
    if not run.condition.has_data_of(against.condition):
        raise other_data((run.name, run.condition), (against.name, against.condition))


def _cautions(run: Run, against: Run | None) -> Iterator[str]:
    """Notes on what else differs between a run and its baseline."""
    if against is None:
        return
    if not run.condition.has_data_of(against.condition):
        yield (
            f"{run.name} is over {run.condition.data_text} of its data, its baseline over "
            f"{against.condition.data_text}: the change is that of both, model and data."
        )
    mine, other = run.condition.prompt_version, against.condition.prompt_version
    if mine != other:
        yield (
            f"{run.name} was asked by the prompt {mine}, its baseline by {other}: the change is "
            "that of both, model and prompt."
        )
