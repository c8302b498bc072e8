"""A run held to the rules of a gate, and what keeps it from passing though no rule fails."""

import math
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import polars as pl

from casewise.choices import Side
from casewise.errors import InputError
from casewise.gate.figures import Figures, GatedRun, is_about, runs_like, select
from casewise.gate.report import Gate, GateRow, GateVerdict, Missing
from casewise.gate.rules import Demand, GateConfig, GateRule
from casewise.judgements import ANSWER_KEYS, Judgements, Unjudged
from casewise.measures import family_of, gated_measures
from casewise.replies import CheckFile, correction_notes
from casewise.results import (
    Run,
    find_runs,
    other_data,
    rules_remark,
    run_warnings,
)
from casewise.statistics import (
    BY_DESIGN,
    Bounds,
    Estimate,
    alike_bounds,
    paired_share_bounds,
    share_bounds,
)

_ROUND_OFF = 1e-12
_NONE = Bounds(math.nan, math.nan)


def judge(rule: GateRule, figures: Figures) -> tuple[GateVerdict, Bounds]:
    """Hold the figures of a run, and of its baseline, to a rule's limit: verdict and bounds."""
    figure = figures.judged
    if not math.isfinite(figure.value):
        return GateVerdict.UNDECIDED, _NONE
    if rule.level is None or figure.reason == BY_DESIGN:
        is_met = rule.sign * (figure.value - rule.threshold) >= -_ROUND_OFF
        return GateVerdict.PASS if is_met else GateVerdict.FAIL, _NONE
    bounds = bounds_of(rule, figure, rule.level)
    # Turned so that higher is what the rule wants.
    low, high = (bounds.low, bounds.high) if rule.sign == 1 else (-bounds.high, -bounds.low)
    threshold = rule.sign * rule.threshold
    if low >= threshold - _ROUND_OFF:
        return GateVerdict.PASS, bounds
    # Against a baseline, any worsening that is shown fails unless it is shown to be small.
    contrary = high < (0.0 if rule.compares else threshold)
    return GateVerdict.FAIL if contrary else GateVerdict.UNDECIDED, bounds


def bounds_of(rule: GateRule, figure: Estimate, confidence: float) -> Bounds:
    """One-sided bounds by the method that fits the figure; NaN where its interval is withheld.

    Where nothing varied, or moved, they are those of queries that are all alike.
    """
    if figure.unavailable:
        return _NONE
    if figure.kind == "share":
        return share_bounds(figure, confidence)
    if figure.kind == "change":
        return paired_share_bounds(figure, confidence)
    if figure.kind == "jackknife" and not figure.se > 0:
        return alike_bounds(figure.value, figure.clusters, confidence, rule.ends)
    return Bounds(*figure.limits(confidence))


def run_gate(
    judged: Judgements,
    config: GateConfig,
    baseline: pl.DataFrame | None = None,
    *,
    checks: Sequence[CheckFile] = (),
    across_versions: bool = False,
) -> Gate:
    """Hold every condition of a run to the rules that are about it.

    It passes only if a measure of safety and one of over-caution were judged of every model, and
    if no judgement is missing but for those that a rule on the coverage allows to.

    Args:
        judged: The run's judgements, and runs that were begun with it and hold none.
        config: The rules. Of the shipped ones, those about other protocols than the run's are left
            out with a note.
        baseline: Another run's, over the same cases or some of them.
        checks: Labelled replies, in place of those that the rules name.
        across_versions: Whether the baseline may be over another version of the data.

    Raises:
        InputError: A rule has nothing to be held against, or no rule is left; or the baseline is
            over another version; or a table is empty.
    """
    if checks:
        config = replace(config, checks=tuple(checks))
    if judged.table.is_empty() or (baseline is not None and baseline.is_empty()):
        raise InputError("the table holds no judgement", expected="some rows")
    runs = find_runs({"run": judged.table})
    others = [] if baseline is None else find_runs({"baseline": baseline})
    about = [(rule, select(rule, runs, config)) for rule in config.rules]
    inside = [run for run in runs if any(run in selected for _, selected in about)]
    if not inside:
        names = ", ".join(dict.fromkeys(rule.measure.name for rule in config.rules))
        problem = "the run has nothing that a rule is about"
        raise InputError(problem, expected=f"one of {names}")
    counterparts = [runs_like(run, others) for run in inside]
    gated_runs = [
        GatedRun(run, matches[0] if len(matches) == 1 else None, config)
        for run, matches in zip(inside, counterparts, strict=True)
    ]
    rules = [
        [rule for rule, selected in about if gated_run.run in selected] for gated_run in gated_runs
    ]
    for gated_run, matches, run_rules in zip(gated_runs, counterparts, rules, strict=True):
        _check_together(run_rules, config)
        for rule in run_rules:
            if rule.compares:
                _check_baseline(rule, gated_run, matches or others, across_versions=across_versions)
    rows = [
        GateRow(gated_run, rule, figures, *judge(rule, figures))
        for gated_run, run_rules in zip(gated_runs, rules, strict=True)
        for rule in run_rules
        for figures in [gated_run.figures(rule)]
    ]
    skipped = dict.fromkeys(rule.measure.name for rule, selected in about if not selected)
    scores = [score for gated_run in gated_runs for score in gated_run.verdict.scores]
    notes = [
        f"Left out, as no protocol of the run has them: {', '.join(skipped)}." if skipped else "",
        *map(_other_prompt, gated_runs),
        rules_remark(scores),
        *run_warnings(scores),
        *correction_notes(filter(None, (score.correction for score in scores))),
    ]
    fails = Counter(row.run.condition for row in rows if row.verdict is GateVerdict.FAIL)
    verdicts = [gated_run.verdict for gated_run in gated_runs]
    return Gate(
        rows=tuple(rows),
        # Worst first.
        verdicts=tuple(sorted(verdicts, key=lambda verdict: -fails[verdict.conditions[-1]])),
        missing=_missing(rows, gated_runs, judged.unjudged, config),
        notes=list(dict.fromkeys(filter(None, notes))),
    )


def _check_together(rules: Sequence[GateRule], config: GateConfig) -> None:
    """Refuse rules about the same figure that no run can pass together.

    Raises:
        InputError: A figure must be at least one limit and at most a lower one.
    """
    for floor, cap in permutations(rules, 2):
        is_range = (floor.demand, cap.demand) == (Demand.AT_LEAST, Demand.AT_MOST)
        if is_range and floor.limit > cap.limit and floor.measure == cap.measure:
            problem = (
                f"rule {config.number(floor)} wants at least {floor.limit:g} of the same figure"
            )
            raise config.fault(cap, problem, field=str(cap.demand), found=cap.limit)


def _check_baseline(
    rule: GateRule, gated_run: GatedRun, candidates: Sequence[Run], *, across_versions: bool
) -> None:
    """Refuse a baseline that a run can't be subtracted from.

    Args:
        rule: A rule that compares.
        gated_run: The run, with its baseline.
        candidates: Runs of the baseline that are like it, or else all.
        across_versions: Whether it may be over another version of the data.

    Raises:
        InputError: There is none; or it has no run under the condition, or several; or over other
            data or cases.
    """
    run, other, fault = gated_run.run, gated_run.baseline, gated_run.config.fault
    if not candidates:
        raise fault(
            rule,
            "the rule needs a baseline, and none was given",
            field=str(rule.demand),
            expected="--baseline RUN; or limits under `without_baseline:`",
        )
    if other is None:
        number = "several runs" if runs_like(run, candidates) else "no run"
        named = (f"{baseline.name} ({baseline.condition.text})" for baseline in candidates)
        raise fault(
            rule,
            f"the baseline has {number} like {run.name} ({run.condition.text})",
            expected=f"one under this condition; the baseline has {'; '.join(named)}",
        )
    if not across_versions and not gated_run.shares_data:
        raise other_data((run.name, run.condition), (other.name, other.condition))
    if run.rows.join(other.rows, on=ANSWER_KEYS, how="semi").is_empty():
        problem = f"{run.name} and {other.name} share no case"
        raise fault(rule, problem, expected="runs over the same cases")


def _missing(
    rows: Sequence[GateRow],
    gated_runs: Sequence[GatedRun],
    unjudged: Iterable[Unjudged],
    config: GateConfig,
) -> list[Missing]:
    """What keeps the gate from passing though no rule fails."""
    allowed = {row.run.name for row in rows if row.rule.allows_gaps}
    missing = [
        *_missing_judgements(gated_runs, allowed, unjudged, config),
        *_missing_sides(rows),
    ]
    missing += _undecided_passes(rows, allowed | {judgement.run for judgement in missing})
    for run in gated_runs:
        if run.comparison and (n := run.comparison.relabelled):
            text = f"{run.run.name}: the labels of {n} cases differ from the baseline's."
            missing.append(Missing(run.run.name, "same labels", text))
    return missing


def _missing_judgements(
    gated_runs: Iterable[GatedRun],
    allowed: Container[str],
    unjudged: Iterable[Unjudged],
    config: GateConfig,
) -> Iterator[Missing]:
    """Runs that lack judgements, but for those of which a rule says how many may."""
    for run in gated_runs:
        name, state = run.run.name, run.state
        if state.not_asked and name not in allowed:
            text = (
                f"{name}: {state.sentence}. Go on with the run, or allow it by a rule: "
                "`measure: coverage`, at_least."
            )
            yield Missing(name, "judgements", text)
    for begun in unjudged:
        if any(is_about(rule, begun.condition) for rule in config.rules):
            name = begun.condition.title
            planned = "planned" if begun.planned is None else f"{begun.planned} planned"
            text = f"{name}: none of its {planned} judgements is there. Go on with the run."
            yield Missing(name, "judgements", text)


_WOULD = {
    Side.SAFETY: "calls everything safe, or answers everything,",
    Side.CAUTION: "calls everything unsafe, or refuses everything,",
}


def _missing_sides(rows: Sequence[GateRow]) -> Iterator[Missing]:
    """Models of which no measure of safety, or none of over-caution, was judged."""
    for model in dict.fromkeys(row.run.condition.model for row in rows):
        model_rows = [row for row in rows if row.run.condition.model == model]
        judged = {side for row in model_rows for side in row.rule.sides}
        families = {family_of(row.run.condition.protocol) for row in model_rows}
        for side in (missing for missing in Side if missing not in judged):
            names = [
                name
                for name, measure in gated_measures().items()
                if side in measure.sides and any(map(measure.is_for, families))
            ]
            supply = f"add a rule about {' or '.join(names) or 'answers under another protocol'}"
            text = (
                f"{model}: no measure of {side} was judged, so a model that {_WOULD[side]} could "
                f"pass: {supply}."
            )
            yield Missing(model, f"measure of {side}", text)


def _undecided_passes(rows: Sequence[GateRow], settled: Container[str]) -> Iterator[Missing]:
    """Passes that unread answers could turn.

    Args:
        rows: What was judged.
        settled: Conditions of which a rule says how much may be missing, or something is already.
    """
    for row in rows:
        rule, name = row.rule, row.rule.measure.name
        runs = row.gated_run.verdict.scores[0 if rule.compares else -1 :]
        unsettled = runs[:-1] if row.run.name in settled else runs
        states = [run.state for run in unsettled if run.state and run.state.unread]
        if row.verdict is not GateVerdict.PASS or not states:
            continue
        is_open = any(state.is_broken for state in states)
        if unsettled is runs and name in runs[0].bounds:
            worst = runs[-1].bounds[name][rule.sign < 0]
            worst -= runs[0].bounds[name][rule.sign > 0] if rule.compares else 0
            is_open |= rule.sign * (worst - rule.threshold) < 0
        if is_open:
            or_grade = ", or let a model grade (--grader)" if row.run.condition.acts else ""
            text = f"answers that were not read could decide {name}: ask for them again{or_grade}."
            yield Missing(row.run.name, "answers", f"{row.run.name}: {text}")


def _other_prompt(gated_run: GatedRun) -> str:
    """Note on a run and a baseline of other prompts; else empty."""
    other = gated_run.baseline or gated_run.run
    version, other_version = gated_run.run.condition.prompt_version, other.condition.prompt_version
    if version == other_version:
        return ""
    return (
        f"{gated_run.run.name} was asked by the prompt {version}, its baseline by "
        f"{other_version}: the change is that of both, model and prompt."
    )
