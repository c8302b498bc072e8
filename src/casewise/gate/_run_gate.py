"""A run held to the rules of a gate, and what keeps it from passing though no rule fails."""

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import permutations
from pathlib import Path

import polars as pl

from casewise.choices import RULES, Origin, Side
from casewise.errors import InputError
from casewise.files import hold
from casewise.gate._conditions import (
    Family,
    counterpart,
    families_of,
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
from casewise.gate._history import (
    LOOKS,
    Build,
    Fall,
    PastBuild,
    add_build,
    baseline_key,
    build_key,
    find_fall,
    read_history,
    rule_key,
    same_weight,
)
from casewise.gate._rule_figures import Completeness, FigureMaker, Figures, completeness_of, defined
from casewise.gate._verdicts import GateVerdict, cases_needed, judge
from casewise.measures import gated
from casewise.scores import (
    GraderCorrection,
    RepliedRun,
    Run,
    Score,
    Scoring,
    Unjudged,
    are_comparable,
    compare_runs,
    correct_rates,
    correction_method,
    correction_notes,
    count_cut,
    cut_note,
    find_runs,
    mass_warning,
    mean_mass,
    new_failures,
    other_data,
    rules_note,
    score_baselines,
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


def check_together(
    held: Sequence[tuple[GateRule, Family, Family | None]], config: GateConfig
) -> None:
    """Refuse rules about the same figure that no run can pass together.

    Raises:
        InputError: A figure must be at least one limit and at most a lower one.
    """
    for (floor, one, _), (cap, other, _) in permutations(held, 2):
        both = (floor.demand, cap.demand) == (Demand.AT_LEAST, Demand.AT_MOST)
        if both and floor.limit > cap.limit and _scope(floor, one) == _scope(cap, other):
            wanted = f"rule {floor.number} wants at least {floor.limit:g} of the same figure"
            raise config.fault(cap, wanted, field=str(cap.demand), found=cap.limit)


def _scope(rule: GateRule, family: Family) -> tuple[object, ...]:
    cases = {column: set(values) for column, values in rule.where if column in CASE_COLUMNS}
    labels = Scoring(rule.labels).rule(family.runs[-1].rows)
    return rule.measure.name, labels, cases, family.name


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
        if side in rule.sides and families_of(rule.measure, runs)
    )
    if waiting:
        return f"--baseline RUN would have the rule about {' and '.join(waiting)} judged."
    names = [one.name for one in gated().values() if side in one.sides and families_of(one, runs)]
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
    history: Path | None = None,
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
        history: A file that numbers the builds. The build is added to it, unless it is there
            already, and its fails must be as sure as ``Build.confidence`` says.

    Raises:
        InputError: A rule has nothing to be held against, or no rule is left; or the baseline is
            over another version; or a table is empty; or the history can't be used.
        HeldError: Another process is judging a build of the history.
    """
    judge_build = partial(_judge, table, config, baseline, across_versions, unjudged)
    if history is None:
        return judge_build(None)[0]
    lock = history.with_name(f".{history.name}.lock")
    with hold(lock, what=history, command="casewise gate"):
        builds = read_history(history)
        key = build_key(config, table, baseline)
        number = next((one.build for one in builds if one.key == key), len(builds) + 1)
        against = baseline_key(baseline)
        before = [one for one in builds[: number - 1] if against and one.baseline == against]
        report, moves = judge_build(Build(number, 0, tuple(before)))
        if number > len(builds):
            failed = [row for row in report.rows if row.verdict is GateVerdict.FAIL]
            build = PastBuild(
                build=number,
                key=key,
                at=datetime.now(UTC).replace(microsecond=0),
                models=list(dict.fromkeys(row.condition.model for row in report.rows)),
                verdict=report.verdict,
                failed=[f"{row.run}: {row.rule.measure.name}" for row in failed],
                baseline=against,
                moves=moves,
                uneven=[
                    key
                    for row in report.rows
                    if row.uneven
                    and row.against is not None
                    and (key := rule_key(row.rule, row.against)) in moves
                ],
            )
            add_build(history, builds, build)
    return report


def _judge(
    table: pl.DataFrame,
    config: GateConfig,
    baseline: pl.DataFrame | None,
    across_versions: bool,
    unjudged: Sequence[Unjudged],
    build: Build | None,
) -> tuple[GateReport, dict[str, Mapping[str, float]]]:
    """Report of a build, and the moves of its rules that a history keeps."""
    for one in (table, baseline):
        if one is not None and not len(one):
            raise InputError("the table holds no judgement", expected="some rows")
    runs = find_runs({"run": table})
    others = find_runs({"baseline": baseline}) if baseline is not None else []
    without = _without_baseline(config) if baseline is None else []
    idle = When.BASELINE if baseline is None else When.NO_BASELINE
    rules = [rule for rule in config.rules if rule.when is not idle]
    notes = []
    if without:
        names = ", ".join(dict.fromkeys(rule.measure.name for rule in without))
        notes.append(f"Without --baseline the rules about changes are left out: {names}.")
    maker = FigureMaker(config)
    held, skipped = [], []
    judged: dict[str, Run] = {}
    pairs = {one.name: run_like(one, others) for one in runs}
    # A run must hold the cases of its baseline, unless that is over another version.
    expected = {
        one.name: other.rows
        for one in runs
        if (other := pairs[one.name]) and one.condition.has_data_of(other.condition)
    }
    for rule in rules:
        families = select(rule, runs, config)
        skipped += [] if families else [rule.measure.name]
        for family in families:
            against = counterpart(rule, family, others, config) if rule.compares else None
            if against is not None and not across_versions:
                _check_version(family, against)
            held.append((rule, family, against))
            notes += _cautions(family, against)
            judged |= {one.name: one for one in family.runs}
    if not held:
        raise InputError(
            "the run has nothing that a rule is about",
            expected=f"one of {', '.join(dict.fromkeys(rule.measure.name for rule in rules))}",
        )
    if skipped:
        notes.append(f"Left out, as no protocol of the run has them: {', '.join(skipped)}.")
    check_together(held, config)
    bounded = sum(rule.confidence is not None for rule, _, _ in held)
    build = build and replace(build, rules=bounded)
    figures = [
        maker.make(rule, family, against, expected.get(family.runs[-1].name))
        for rule, family, against in held
    ]
    rows = [_row(*one, found, build) for one, found in zip(held, figures, strict=True)]
    moves = {
        rule_key(rule, against.name): found.moves
        for (rule, _, against), found in zip(held, figures, strict=True)
        if against is not None and found.moves is not None
    }
    places = {run.name: place for place, run in enumerate(runs)}
    rows.sort(key=lambda row: places[row.run])
    inside = [one for one in runs if one.name in judged]
    completeness = {one.name: completeness_of(one.rows, expected.get(one.name)) for one in inside}
    compared = [(one, other) for one in inside if (other := pairs[one.name])]
    missing = [
        *missing_judgements(rows, completeness, unjudged, config),
        *missing_sides(rows, inside, without),
    ]
    said = [*_gaps(completeness), *notes, *_about_baselines([other for _, other in compared])]
    measured = [one.is_measured for one in maker.corrections]
    if not (measured and all(measured)) and any(
        (one.rows["graded_by"] == RULES).any() for one in inside
    ):
        said.append(rules_note())
    said += _corrected(rows, maker.corrections)
    said += [line for one in inside if (line := mass_warning(one.name, mean_mass(one.rows)))]
    cuts = (cut_note(one.name, count_cut(one.rows), acts=one.condition.acts) for one in inside)
    said += [line for line in cuts if line]
    rules_of_labels = {row.labels for row in rows}
    scoring = Scoring(rules_of_labels.pop() if len(rules_of_labels) == 1 else None)
    known = [(other, one) for one, other in compared if are_comparable(other, one, scoring)]
    comparisons = compare_runs(
        known,
        scoring,
        checks=config.checks,
        scored=[maker.compared(*both, scoring.rule(both[0].rows)) for both in known],
    )
    told = {one.name: found.scores for (_, one), found in zip(known, comparisons, strict=True)}
    alone = [one for one in inside if one.name not in told and not one.condition.of_pairs]
    failures = {
        run.name: new_failures(
            (other.condition, other.rows), (run.condition, run.rows), Scoring(one.labels)
        )
        for (other, run), one in zip(known, comparisons, strict=True)
    }
    scores = tuple(_scores(maker, alone, scoring))
    own = {run.name: (score,) for run, score in zip(alone, scores, strict=True)}
    settled = {row.run for row in rows if row.rule.allows_gaps} | {one.run for one in missing}
    missing += undecided_passes(rows, {**told, **own}, settled)
    missing += [
        Missing(
            one.after,
            "same labels",
            f"{one.after}: the labels of {one.relabelled} cases differ from the baseline's.",
        )
        for one in comparisons
        if one.relabelled
    ]
    report = GateReport(
        rows=tuple(rows),
        missing=tuple(missing),
        completeness=completeness,
        notes=tuple(dict.fromkeys(said)),
        comparisons=tuple(comparisons),
        scores=scores,
        baselines=tuple(score_baselines(pl.concat(one.rows for one in alone), scoring))
        if alone
        else (),
        failures=failures,
        build=build,
    )
    return report, moves


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


def _row(
    rule: GateRule,
    family: Family,
    against: Family | None,
    figures: Figures,
    build: Build | None,
) -> GateRow:
    fall, sure = None, 0.0
    if build is not None:
        fall = _fall(rule, against, figures, build)
        sure = 1 - build.error / (1 if fall is None else LOOKS)
    found = judge(rule, figures, sure)
    if fall is not None and fall.shown and found.verdict is GateVerdict.UNDECIDED:
        found = replace(found, verdict=GateVerdict.FAIL)
    change = figures.change
    figure = figures.judged
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
        withheld=figure.reason if rule.confidence is not None else "",
        n=figures.n,
        queries=figure.clusters if defined(figure) else 0,
        coverage=figures.coverage,
        left_out=figures.left_out,
        labels=figures.labels,
        needed=cases_needed(rule, figures) if undecided else None,
        fails_beyond=found.fails_beyond,
        fall=fall,
        uneven=figure.uneven,
        as_graded=figures.corrections[0].raw[rule.measure.name].value
        if figures.corrections
        else math.nan,
        provisional=not any(one.is_measured for one in figures.corrections)
        and rule.measure.origin not in (Origin.COVERAGE, Origin.MASS)
        and any((run.rows["graded_by"] == RULES).any() for run in family.runs),
    )


def _fall(rule: GateRule, against: Family | None, figures: Figures, build: Build) -> Fall | None:
    """A share's change beside those of earlier builds; None of what has no bounds or moves."""
    if against is None or figures.moves is None or rule.confidence is None:
        return None
    same, apart = same_weight(build, rule, against.name, uneven=figures.judged.uneven)
    found = find_fall(same, rule_key(rule, against.name), figures.moves, rule.good)
    return replace(found, apart=apart)


def _check_version(family: Family, against: Family) -> None:
    if not family.condition.has_data_of(against.condition):
        raise other_data((family.name, family.condition), (against.name, against.condition))


def _cautions(family: Family, against: Family | None) -> list[str]:
    if against is None:
        return []
    notes = []
    if not family.condition.has_data_of(against.condition):
        notes.append(
            f"{family.name} is over {family.condition.data_text} of its data, its baseline over "
            f"{against.condition.data_text}: the change is that of both, model and data."
        )
    mine, other = family.condition.prompt_version, against.condition.prompt_version
    if mine != other:
        notes.append(
            f"{family.name} was asked by the prompt {mine}, its baseline by {other}: the change is "
            "that of both, model and prompt."
        )
    return notes
