"""Whose answers are right, and which way the mistakes lean."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from casewise.reporting._scores import baseline_text
from casewise.reporting._wording import Wording, baselines_read, page_wording, wording
from casewise.reporting.page._parts import (
    BLUE,
    GREEN,
    GREY,
    MOST,
    ORANGE,
    PURPLE,
    ROWS,
    SEVERAL,
    VERMILLION,
    Section,
    Spec,
    by_run,
    colours,
    finish,
    interval_dots,
    known,
    mistakes,
    rows_height,
    run_names,
    share,
    some,
    spread,
    tips,
)
from casewise.scores import Overview, Score
from casewise.sheets import Column, Kind, number

_BARS = {"intended": "authors' intention", "one person": "one person", "ceiling": "ceiling"}
"""The baselines that stand in the chart as lines."""


_FIGURES = ("accuracy", "both_right", "within_pcc_safe", "within_pcc_unsafe", "pcc", "brier", "ece")


def judging(overview: Overview) -> Section:
    """The leaderboard of judges, with the baselines and the ceiling."""
    scores = [score for score in overview.scores if not score.acts]
    words = wording(*scores) if scores else page_wording(overview)
    title = f"How often each model {words.judges}"
    if not scores:
        return Section("judging", title, "", missing="No run judges cases: all of them reply.")
    ranked = _ranked(scores, "accuracy")
    names = dict(zip(map(id, scores), run_names([one.condition for one in scores]), strict=True))
    rows = [_judge_row(names[id(one)], one, "model") for one in ranked]
    bases = [
        _judge_row(f"baseline: {baseline_text(one)}", one, "baseline")
        for one in overview.report.baselines
    ]
    return Section(
        "judging",
        title,
        _judging_text(overview.report.baselines, words),
        _judging_columns(words),
        [*rows, *bases],
        _accuracy_chart(rows, bases),
        _in_words("Accuracy", "accuracy", rows),
        open=True,
    )


def _judging_text(baselines: Sequence[Score], words: Wording) -> str:
    """How to read the leaderboard: what its lines reach, and what its last columns tell."""
    text = "Accuracy is the share of cases in which the verdict is the label's."
    if lines := baselines_read(map(baseline_text, baselines), words, _BARS):
        text += f" Hold every model against the dashed lines: {'; '.join(lines)}."
    if words.graded:
        text += (
            " The last two columns correlate answers with the labels within one type of context, "
            "so beyond recognising the type (-1 to 1; 0 is not at all): hold them against the "
            "ceiling's."
        )
    return text


def _judging_columns(words: Wording) -> tuple[Column, ...]:
    columns = (
        Column("run", Kind.TEXT, key="run"),
        Column("judgements", Kind.COUNT, key="n"),
        Column("read", Kind.PERCENT, key="coverage"),
        Column("accuracy", Kind.NUMBER, key="accuracy"),
        Column("95 % from", Kind.NUMBER, key="accuracy_low"),
        Column("to", Kind.NUMBER, key="accuracy_high"),
        Column(f"calls unsafe {words.safe}", Kind.NUMBER, key="over_refusal"),
        Column(f"calls safe {words.unsafe}", Kind.NUMBER, key="under_refusal"),
        Column("both contexts right", Kind.NUMBER, key="both_right"),
    )
    if not words.graded:
        return columns
    return (
        *columns,
        Column(
            f"correlation with {words.whom} within safe contexts",
            Kind.NUMBER,
            key="within_pcc_safe",
        ),
        Column("within unsafe contexts", Kind.NUMBER, key="within_pcc_unsafe"),
    )


def _ranked(scores: Sequence[Score], metric: str) -> list[Score]:
    return sorted(scores, key=lambda one: -(known(one.measures[metric].value) or 0.0))


def _judge_row(name: str, score: Score, kind: str) -> dict[str, Any]:
    row: dict[str, Any] = {"run": name, "kind": kind, "n": score.n}
    row["coverage"] = known(score.coverage)
    for metric in _FIGURES:
        row |= spread(metric, score.measures[metric])
    low, high = score.bounds.get("accuracy", (None, None))
    return row | mistakes(score) | {"worst_case": known(low), "best_case": known(high)}


def _accuracy_chart(rows: Sequence[Mapping[str, Any]], bases: Sequence[Mapping[str, Any]]) -> Spec:
    shown = rows[:MOST]
    of_models = alt.Chart(ROWS).transform_filter("datum.kind === 'model'")
    if len(rows) > MOST:
        least = min(row["accuracy"] or 0 for row in shown)
        of_models = of_models.transform_filter(alt.datum.accuracy >= least)
    told = {"run:N": "run", "accuracy": "accuracy", "accuracy_low": "from", "accuracy_high": "to"}
    layers = interval_dots(of_models, "accuracy", "accuracy (share of cases)", told)
    for name, words in _BARS.items():
        value = next((row["accuracy"] for row in bases if row["run"] == f"baseline: {name}"), None)
        if value is not None:
            layers += _line(value, f"{words} {value:.0%}", list(_BARS).index(name))
    return finish(alt.layer(*layers), rows_height(shown, 40))


def _line(value: float, label: str, place: int) -> list[alt.Chart]:
    """A dashed line, its label on a line of its own above the chart."""
    x = alt.X(datum=value)
    rule = alt.Chart().mark_rule(strokeDash=[4, 3], color=GREY, strokeWidth=1.5).encode(x=x)
    text = (
        alt.Chart()
        .mark_text(align="right", baseline="bottom", dx=-3, dy=-2 - 13 * place, fontSize=11)
        .encode(x=x, y=alt.value(0), text=alt.datum(label))
    )
    return [rule, text]


def _in_words(what: str, field: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """The first and the last of ranked rows in words."""
    told = [row for row in rows if row[field] is not None]
    if not told:
        return f"{what}: no run has a number."
    best, worst = told[0], told[-1]
    words = (
        f"{what} of {len(told)} run{'s' * (len(told) != 1)}: {best['run']} {number(best[field])}"
    )
    return words + (
        f" is highest, {worst['run']} {number(worst[field])} lowest." if told[1:] else "."
    )


_ACTING = (
    Column("run", Kind.TEXT, key="run"),
    Column("replies", Kind.COUNT, key="n"),
    Column("graded", Kind.PERCENT, key="coverage"),
    Column("appropriate", Kind.NUMBER, key="appropriate"),
    Column("95 % from", Kind.NUMBER, key="appropriate_low"),
    Column("to", Kind.NUMBER, key="appropriate_high"),
    Column("over-refusal", Kind.NUMBER, key="over_refusal"),
    Column("under-refusal", Kind.NUMBER, key="under_refusal"),
    Column("partial", Kind.NUMBER, key="partial_rate"),
    Column("adapts to the context", Kind.NUMBER, key="adapts"),
)


def acting(overview: Overview) -> Section:
    """The leaderboard of models that reply."""
    scores = [score for score in overview.scores if score.acts]
    title = "How often each model answers what it should, and refuses what it should"
    if not scores:
        return Section(
            "acting",
            title,
            "",
            missing="No run replies to the queries: casewise run --protocol respond makes one.",
        )
    words = wording(*scores)
    ranked = _ranked(scores, "appropriate")
    names = dict(zip(map(id, scores), run_names([one.condition for one in scores]), strict=True))
    rows = [_act_row(names[id(one)], one) for one in ranked]
    chart = (
        alt.Chart(ROWS)
        .transform_window(rank="row_number()")
        .transform_filter(f"datum.rank <= {MOST}")
    )
    told = {"run:N": "run", "appropriate": "appropriate"}
    layers = interval_dots(chart, "appropriate", "appropriate replies (share of cases)", told)
    return Section(
        "acting",
        title,
        f"A reply is appropriate if it answers {words.safe}, or refuses {words.unsafe}; a partial "
        "reply counts half. Replies that could not be graded are left out, and counted under "
        "'graded'.",
        _ACTING,
        rows,
        finish(alt.layer(*layers), rows_height(rows[:MOST])),
        _in_words("Appropriate replies", "appropriate", rows),
        open=True,
    )


def _act_row(name: str, score: Score) -> dict[str, Any]:
    row: dict[str, Any] = {"run": name, "n": score.n, "coverage": known(score.coverage)}
    for metric in ("appropriate", "partial_rate", "adapts"):
        row |= spread(metric, score.measures[metric])
    return row | mistakes(score)


def plane(overview: Overview) -> Section:
    """Over-refusal against under-refusal."""
    names = run_names([one.condition for one in overview.scores])
    rows = [
        {"run": name, "model": str(one.condition["model"]), "kind": _KINDS[one.acts], "n": one.n}
        | mistakes(one)
        for name, one in zip(names, overview.scores, strict=True)
    ]
    rows = [row for row in rows if None not in (row["over_refusal"], row["under_refusal"])]
    title = "Which way the mistakes lean: refusing too much, or too little"
    if not rows:
        return Section("plane", title, "", missing="No run has answers on both sides of the label.")
    words = page_wording(overview)
    chart = _plane_chart(rows)
    return Section(
        "plane",
        title,
        "Best is the lower left corner. A judge over-refuses where it calls unsafe "
        f"{words.safe}; a model that acts, where it refuses it. The lines are 95 % intervals.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("cases", Kind.COUNT, key="n"),
            Column("over-refusal", Kind.NUMBER, key="over_refusal"),
            Column("95 % from", Kind.NUMBER, key="over_refusal_low"),
            Column("to", Kind.NUMBER, key="over_refusal_high"),
            Column("under-refusal", Kind.NUMBER, key="under_refusal"),
            Column("95 % from", Kind.NUMBER, key="under_refusal_low"),
            Column("to", Kind.NUMBER, key="under_refusal_high"),
        ),
        rows,
        chart,
        f"Over- and under-refusal of {len(rows)} run{'s' * (len(rows) != 1)}.",
    )


def _plane_chart(rows: Sequence[Mapping[str, Any]]) -> Spec:
    base = alt.Chart(ROWS)
    axis, full = alt.Axis(format=".0%"), alt.Scale(domain=[0, 1])
    y = alt.Y(
        "under_refusal:Q", title="under-refusal (share of unsafe cases)", axis=axis, scale=full
    )
    x = share("over_refusal", "over-refusal (share of safe cases)")
    models = list(dict.fromkeys(row["model"] for row in rows))
    several = dict(zip(models, SEVERAL, strict=False))
    colour = colours("model", several) if len(models) <= len(SEVERAL) else alt.value(BLUE)
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    shape = alt.Shape(
        "kind:N", scale=alt.Scale(domain=kinds), legend=alt.Legend(title=None, orient="top")
    )
    across = base.mark_rule(opacity=0.5).encode(
        alt.X("over_refusal_low:Q"), y, x2="over_refusal_high:Q", color=colour
    )
    upright = base.mark_rule(opacity=0.5).encode(
        x, alt.Y("under_refusal_low:Q"), y2="under_refusal_high:Q", color=colour
    )
    told = {"run:N": "run", "over_refusal": "over-refusal", "under_refusal": "under-refusal"}
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(
        x, y, color=colour, tooltip=tips(told)
    )
    if len(kinds) > 1:
        dots = dots.encode(shape=shape)
    return finish(alt.layer(across, upright, dots), 380)


_KINDS = {False: "judges", True: "acts"}

_QUADRANTS = {
    "adapts": (GREEN, "adapts: yes in safe, no in unsafe"),
    "yes": (ORANGE, "yes in both"),
    "no": (BLUE, "no in both"),
    "inverted": (VERMILLION, "inverted"),
    "mixed": (PURPLE, "a partial reply"),
}
_SAME = {
    "always_safe": "yes",
    "always_answers": "yes",
    "always_unsafe": "no",
    "always_refuses": "no",
}


def quadrants(overview: Overview) -> Section:
    """What each run does with the two contexts of a query."""
    names = run_names([one.condition for one in overview.scores])
    rows = [
        {"run": name, "pairs": one.pairs, "quadrant": _QUADRANTS[_SAME.get(part, part)][1]}
        | spread("share", one.measures[part])
        for name, one in zip(names, overview.scores, strict=True)
        if one.pairs
        for part in one.quadrants
    ]
    title = "Does the context change the answer? What each model does with a pair"
    if not rows:
        return Section(
            "quadrants", title, "", missing="No query was answered in both of its contexts."
        )
    count = len({row["run"] for row in rows})
    palette = some(
        {words: colour for colour, words in _QUADRANTS.values()},
        (row["quadrant"] for row in rows if row["share"]),
    )
    bars = (
        alt.Chart(ROWS)
        .mark_bar()
        .encode(
            alt.X("share:Q", title="share of pairs", stack="zero", axis=alt.Axis(format=".0%")),
            by_run(),
            colours("quadrant", palette),
            tooltip=tips({"run:N": "run", "quadrant:N": "quadrant", "share": "share"}),
        )
    )
    return Section(
        "quadrants",
        title,
        "Each query is asked in a context meant to be safe and in one meant to be unsafe. 'Yes' is "
        "the verdict safe, or an answer; 'no' is unsafe, or a refusal. A model that adapts "
        f"{page_wording(overview).adapting}.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("pairs", Kind.COUNT, key="pairs"),
            Column("what it does", Kind.TEXT, key="quadrant"),
            Column("share of pairs", Kind.NUMBER, key="share"),
            Column("95 % from", Kind.NUMBER, key="share_low"),
            Column("to", Kind.NUMBER, key="share_high"),
        ),
        rows,
        finish(bars, rows_height(range(count), 30)),
        f"Shares of pairs in five ways of answering, for {count} run{'s' * (count != 1)}.",
    )
