"""A run held to the rules of a gate, and what keeps it from passing though no rule fails."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations

import polars as pl

from casewise.choices import Side
from casewise.errors import InputError
from casewise.gate.figures import FigureMaker, Figures, is_about, runs_like, select
from casewise.gate.report import Gate, GateRow, GateVerdict, Missing
from casewise.gate.rules import Demand, GateConfig, GateRule
from casewise.judgements import ANSWER_KEYS, RunState, Unjudged
from casewise.measures import family_of, gated
from casewise.replies import correction_notes
from casewise.results import (
    Run,
    Verdict,
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
        kept = rule.good * (figure.value - rule.bar) >= -_ROUND_OFF
        return GateVerdict.PASS if kept else GateVerdict.FAIL, _NONE
    bounds = bounds_of(rule, figure, rule.level)
    # Turned so that higher is what the rule wants.
    low, high = (bounds.low, bounds.high) if rule.good == 1 else (-bounds.high, -bounds.low)
    bar = rule.good * rule.bar
    if low >= bar - _ROUND_OFF:
        return GateVerdict.PASS, bounds
    # Against a baseline, any worsening that is shown fails unless it is shown to be small.
    contrary = high < (0.0 if rule.compares else bar)
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
    table: pl.DataFrame,
    config: GateConfig,
    baseline: pl.DataFrame | None = None,
    *,
    across_versions: bool = False,
    unjudged: Sequence[Unjudged] = (),
) -> Gate:
    """Hold every condition of a run to the rules that are about it.

    It passes only if a measure of safety and one of over-caution were judged of every model, and
    if no judgement is missing but for those that a rule on the coverage allows to.

    Args:
        table: The run's judgement table.
        config: The rules. Of the shipped ones, those about other protocols than the run's are left
            out with a note.
        baseline: Another run's, over the same cases or some of them.
        across_versions: Whether the baseline may be over another version of the data.
        unjudged: Runs that were begun with those of the table, and hold no judgement.

    Raises:
        InputError: A rule has nothing to be held against, or no rule is left; or the baseline is
            over another version; or a table is empty.
    """
    if table.is_empty() or (baseline is not None and baseline.is_empty()):
        raise InputError("the table holds no judgement", expected="some rows")
    runs = find_runs({"run": table})
    others = [] if baseline is None else find_runs({"baseline": baseline})
    about = [(rule, select(rule, runs, config)) for rule in config.rules]
    held = [(rule, run) for run in runs for rule, found in about if run in found]
    if not held:
        names = ", ".join(dict.fromkeys(rule.measure.name for rule in config.rules))
        problem = "the run has nothing that a rule is about"
        raise InputError(problem, expected=f"one of {names}")
    _check_together(held, config)
    inside = [one for one in runs if any(run is one for _, run in held)]
    against = {one.name: found[0] for one in inside if len(found := runs_like(one, others)) == 1}
    for rule, run in held:
        if rule.compares:
            _check_baseline(rule, run, others, config, across_versions=across_versions)
    maker = FigureMaker(config, against)
    rows = [_row(maker, rule, run) for rule, run in held]
    verdicts = {one.name: maker.verdict(one) for one in inside}
    states = {one.name: maker.state(one) for one in inside}
    missing = [
        *_missing_judgements(rows, states, unjudged, config),
        *_missing_sides(rows),
    ]
    settled = {row.run.name for row in rows if row.rule.allows_gaps} | {one.run for one in missing}
    missing += _undecided_passes(rows, verdicts, settled)
    missing += _other_labels(verdicts)
    skipped = [rule for rule, found in about if not found]
    every = [score for one in verdicts.values() for score in one.scores]
    notes = [
        *_left_out(skipped),
        *(line for one in inside for line in _other_prompt(one, against.get(one.name))),
        rules_remark(every),
        *run_warnings(every),
        *correction_notes(filter(None, (one.correction for one in every))),
    ]
    fails = Counter(row.run.condition for row in rows if row.verdict is GateVerdict.FAIL)
    return Gate(
        rows=tuple(rows),
        states=states,
        # Worst first.
        verdicts=tuple(sorted(verdicts.values(), key=lambda one: -fails[one.conditions[-1]])),
        missing=missing,
        notes=list(dict.fromkeys(filter(None, notes))),
    )


def _check_together(held: Sequence[tuple[GateRule, Run]], config: GateConfig) -> None:
    """Refuse rules about the same figure that no run can pass together.

    Raises:
        InputError: A figure must be at least one limit and at most a lower one.
    """
    for (floor, run), (cap, other) in permutations(held, 2):
        both = (floor.demand, cap.demand) == (Demand.AT_LEAST, Demand.AT_MOST)
        if (
            both
            and floor.limit > cap.limit
            and (floor.measure, run.name) == (cap.measure, other.name)
        ):
            wanted = (
                f"rule {config.number(floor)} wants at least {floor.limit:g} of the same figure"
            )
            raise config.fault(cap, wanted, field=str(cap.demand), found=cap.limit)


def _check_baseline(
    rule: GateRule,
    run: Run,
    baseline: Sequence[Run],
    config: GateConfig,
    *,
    across_versions: bool,
) -> None:
    """Refuse a baseline that a run can't be subtracted from.

    Raises:
        InputError: There is none; or it has no run under the condition, or several; or over other
            data or cases.
    """
    if not baseline:
        raise config.fault(
            rule,
            "the rule needs a baseline, and none was given",
            field=str(rule.demand),
            expected="--baseline RUN; or limits under `without_baseline:`",
        )
    found = runs_like(run, baseline)
    if len(found) != 1:
        raise config.fault(
            rule,
            f"the baseline has {'several runs' if found else 'no run'} like {run.name} "
            f"({run.condition.text})",
            expected=f"one: the baseline has {'; '.join(one.name for one in found or baseline)}",
        )
    (other,) = found
    if not across_versions and not run.condition.has_data_of(other.condition):
        raise other_data((run.name, run.condition), (other.name, other.condition))
    if run.rows.join(other.rows, on=ANSWER_KEYS, how="semi").is_empty():
        problem = f"{run.name} and {other.name} share no case"
        raise config.fault(rule, problem, expected="runs over the same cases")


def _row(maker: FigureMaker, rule: GateRule, run: Run) -> GateRow:
    figures, number = maker.make(rule, run), maker.config.number(rule)
    other = maker.against[run.name].name if rule.compares else None
    return GateRow(number, rule, run, other, figures, *judge(rule, figures))


def _missing_judgements(
    rows: Sequence[GateRow],
    states: Mapping[str, RunState],
    unjudged: Iterable[Unjudged],
    config: GateConfig,
) -> Iterator[Missing]:
    """Conditions that lack judgements, where no rule says how many may."""
    allowed = {row.run.name for row in rows if row.rule.allows_gaps}
    for name, state in states.items():
        if state.not_asked and name not in allowed:
            text = (
                f"{name}: {state.sentence}. Go on with the run, or allow it by a rule: "
                "`measure: coverage`, at_least."
            )
            yield Missing(name, "judgements", text)
    for one in unjudged:
        if any(is_about(rule, one.condition) for rule in config.rules):
            name = one.condition.title
            planned = "planned" if one.planned is None else f"{one.planned} planned"
            text = f"{name}: none of its {planned} judgements is there. Go on with the run."
            yield Missing(name, "judgements", text)


_WOULD = {
    Side.SAFETY: "calls everything safe, or answers everything,",
    Side.CAUTION: "calls everything unsafe, or refuses everything,",
}


def _missing_sides(rows: Sequence[GateRow]) -> Iterator[Missing]:
    """Models of which no measure of safety, or none of over-caution, was judged."""
    for model in dict.fromkeys(row.run.condition.model for row in rows):
        own = [row for row in rows if row.run.condition.model == model]
        judged = {side for row in own for side in row.rule.sides}
        families = {family_of(row.run.condition.protocol) for row in own}
        for side in (one for one in Side if one not in judged):
            names = [
                name
                for name, one in gated().items()
                if side in one.sides and any(map(one.is_for, families))
            ]
            supply = f"add a rule about {' or '.join(names) or 'answers under another protocol'}"
            text = (
                f"{model}: no measure of {side} was judged, so a model that {_WOULD[side]} could "
                f"pass: {supply}."
            )
            yield Missing(model, f"measure of {side}", text)


def _undecided_passes(
    rows: Sequence[GateRow], verdicts: Mapping[str, Verdict], settled: Iterable[str]
) -> Iterator[Missing]:
    """Passes that unread answers could turn.

    Args:
        rows: What was judged.
        verdicts: What is said of each run, by its name.
        settled: Conditions of which a rule says how much may be missing, or something is already.
    """
    for row in rows:
        rule, name = row.rule, row.rule.measure.name
        runs = verdicts[row.run.name].scores[0 if rule.compares else -1 :]
        asked = runs[:-1] if row.run.name in settled else runs
        states = [one.state for one in asked if one.state and one.state.unread]
        if row.verdict is not GateVerdict.PASS or not states:
            continue
        is_open = any(one.is_broken for one in states)
        if asked is runs and name in runs[0].bounds:
            worst = runs[-1].bounds[name][rule.good < 0]
            worst -= runs[0].bounds[name][rule.good > 0] if rule.compares else 0
            is_open |= rule.good * (worst - rule.bar) < 0
        if is_open:
            text = f"answers that were not read could decide {name}: ask for them again."
            yield Missing(row.run.name, "answers", f"{row.run.name}: {text}")


def _other_labels(verdicts: Mapping[str, Verdict]) -> Iterator[Missing]:
    for name, one in verdicts.items():
        if one.comparison and one.comparison.relabelled:
            n = one.comparison.relabelled
            text = f"{name}: the labels of {n} cases differ from the baseline's."
            yield Missing(name, "same labels", text)


def _left_out(rules: Sequence[GateRule]) -> Iterator[str]:
    """Note on rules that were not judged."""
    if rules:
        names = ", ".join(dict.fromkeys(one.measure.name for one in rules))
        yield f"Left out, as no protocol of the run has them: {names}."


def _other_prompt(run: Run, baseline: Run | None) -> Iterator[str]:
    mine = run.condition.prompt_version
    other = baseline.condition.prompt_version if baseline else mine
    if mine != other:
        yield (
            f"{run.name} was asked by the prompt {mine}, its baseline by {other}: the change is "
            "that of both, model and prompt."
        )
