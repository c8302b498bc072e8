"""Scores and comparisons as flat JSON values; what is undefined or infinite is null."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from casewise.replies import PROVISIONAL, GraderCorrection, correction_notes, rules_note
from casewise.scores._run_comparison import Comparison, Difference, right_after
from casewise.scores.score import Score, is_provisional
from casewise.sheets import json_interval, json_number
from casewise.statistics import Bin, Estimate


def correction_record(one: GraderCorrection) -> dict[str, Any]:
    """Rates as graded and corrected, and why one is not."""
    record: dict[str, Any] = {"labelled": one.labelled}
    for name, raw in one.raw.items():
        record |= figures(f"{name}_raw", raw) | figures(name, one.corrected[name])
    return record | {"notes": correction_notes([one])}


def comparison_records(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """Comparisons as JSON values: ``pairs`` by two runs and metric, ``comparisons`` by two runs."""
    ladders = [_difference(one, change) for one in comparisons for change in one.ladder]
    return {
        "difference_is": "after - before",
        "pairs": [
            _difference(one, difference) for one in comparisons for difference in one.differences
        ],
        "comparisons": [_comparison(one) for one in comparisons],
    } | ({"evidence": ladders} if ladders else {})


def _difference(one: Comparison, difference: Difference) -> dict[str, Any]:
    found, test = difference.difference, one.mcnemar
    record: dict[str, Any] = {
        "before": one.before,
        "after": one.after,
        "metric": difference.metric,
        "labels": str(one.labels),
        "n": one.n,
        "value_before": json_number(difference.before.value),
        "value_after": json_number(difference.after.value),
        "difference": json_number(found.value),
        "se": json_number(found.se),
        "ci": json_interval(found.interval),
        "p": json_number(found.p),
        "p_holm": json_number(difference.p_holm),
        "detectable": json_number(difference.detectable),
        "queries_moved": int(found.moves.astype(bool).sum()),
        "mcnemar": None,
    }
    if found.reason:
        record["withheld"] = found.reason
    if difference.metric == "accuracy":
        record["mcnemar"] = {
            "b": test.b,
            "c": test.c,
            "p": json_number(test.p),
            "p_holm": json_number(one.mcnemar_holm),
            "p_clustered": json_number(test.p_clustered),
            "p_clustered_holm": json_number(one.clustered_holm),
        }
    return record


def _comparison(one: Comparison) -> dict[str, Any]:
    data = [
        {name: score.condition[f"dataset_{name}"] for name in ("version", "hash")}
        for score in one.scores
    ]
    return {
        "before": one.before,
        "after": one.after,
        "data": data,
        "labels": str(one.labels),
        "weigh_by": str(one.scores[0].weigh_by),
        "n": one.n,
        "left_out": one.left_out,
        "relabelled": one.relabelled,
        PROVISIONAL: any(map(is_provisional, one.scores)),
        "scores": [
            as_record(score) | {"statuses": dict(score.state.statuses) if score.state else {}}
            for score in one.scores
        ],
        "quadrants": _changes(one.quadrants),
        **_corrected(one),
        "changed": [
            {**asdict(change), "after_is_right": right_after(change)} for change in one.changed
        ],
    }


def _corrected(one: Comparison) -> dict[str, Any]:
    """The corrected rates of both runs, and their differences; nothing where none was asked."""
    if not one.corrections:
        return {}
    return {
        "grader_check": [correction_record(correction) for correction in one.corrections],
        "corrected": _changes(one.corrected),
    }


def _changes(found: Sequence[Difference]) -> dict[str, Any]:
    """Differences by metric, each with its p adjusted for the number of pairs of runs."""
    records = changes({one.metric: one.difference for one in found})
    return {one.metric: records[one.metric] | {"p_holm": json_number(one.p_holm)} for one in found}


def changes(found: Mapping[str, Estimate]) -> dict[str, Any]:
    """Differences by metric: ``{difference, se, ci, p}`` each, and why an interval is withheld."""
    return {
        name: {
            "difference": json_number(one.value),
            "se": json_number(one.se),
            "ci": json_interval(one.interval),
            "p": json_number(one.p),
        }
        | ({"withheld": one.reason} if one.reason else {})
        for name, one in found.items()
    }


def _state(score: Score) -> dict[str, Any]:
    """State of a run against its plan; nothing of a group and of a baseline."""
    if (state := score.state) is None:
        return {}
    return {
        "planned": state.planned,
        "judged": state.judged,
        "not_asked": state.not_asked,
        "statuses": dict(state.statuses),
        "stopped": list(state.stopped),
    }


def as_record(score: Score) -> dict[str, Any]:
    """A score: each metric ``m`` with ``m_se`` and ``m_ci``, and what it rests on."""
    record: dict[str, Any] = {
        name: score.condition[name] for name in ("model", "protocol", "delivery", "ablation")
    }
    record |= dict(score.group)
    record |= {
        "labels": str(score.labels),
        "unparsed": str(score.unparsed),
        "weigh_by": str(score.weigh_by),
        "n": score.n,
        **_state(score),
        "cases": score.cases,
        "queries": score.queries,
        "coverage": json_number(score.coverage),
    }
    for name in score.metrics:
        record |= figures(name, score.measures[name])
    quadrants = {name: figures("", score.measures[name]) for name in score.quadrants}
    for suffix in ("", "_se", "_ci") if quadrants else ():
        record[f"quadrants{suffix}"] = {name: one[suffix] for name, one in quadrants.items()}
    record |= {
        "pairs": score.pairs,
        "paired_queries": score.paired_queries,
        **score.left_out,
        "coin": score.coin,
        "withheld": {name: one.reason for name, one in score.measures.items() if one.reason},
        "effective_queries": {
            name: json_number(one.effective)
            for name, one in score.measures.items()
            if one.effective == one.effective
        },
        "rests_on": {
            name: {
                "queries": one.clusters,
                "pairs": one.pairs,
                "effective_queries": json_number(one.effective),
            }
            for name, one in score.measures.items()
            if one.pairs
        },
        "reliability": [bin_record(one) for one in score.bins],
    }
    for name, (low, high) in score.bounds.items():
        record |= {f"{name}_low": json_number(low), f"{name}_high": json_number(high)}
    numbers = ("label_coverage", "mass", "self_agreement")
    record |= {name: json_number(getattr(score, name)) for name in numbers}
    if score.acts:
        record |= {"classes": score.classes, "partly": score.partly}
        record |= {PROVISIONAL: is_provisional(score)}
        record |= {"notes": [rules_note()]} if is_provisional(score) else {}
    record |= {name: value for name, value in score.condition.items() if name not in record}
    record |= {"of": score.condition.of} if score.condition.of is not None else {}
    return record | {"statuses": score.statuses, "cut": score.cut}


def figures(name: str, estimate: Estimate) -> dict[str, Any]:
    """``name``, ``name_se`` and ``name_ci``."""
    return {
        name: json_number(estimate.value),
        f"{name}_se": json_number(estimate.se),
        f"{name}_ci": json_interval(estimate.interval),
    }


def bin_record(one: Bin) -> dict[str, Any]:
    """A bar of the reliability diagram."""
    return {
        "low": one.low,
        "high": one.high,
        "n": one.n,
        "p_safe": json_number(one.p),
        "rate": json_number(one.rate),
    }
