"""The context's delivery, and long conversations: what is forgotten, when a model gives way."""

from typing import Any

import altair as alt

from casewise.reporting._wording import first_upper, page_wording
from casewise.reporting.page._parts import (
    BLUE,
    GREEN,
    ORANGE,
    ROWS,
    VERMILLION,
    Section,
    by_run,
    choose,
    colours,
    finish,
    known,
    mistakes,
    rows_height,
    run_names,
    spread,
    tips,
)
from casewise.scores import CELLS, Overview, variation_of
from casewise.sheets import Column, Kind, number

_MEASURES = {
    "over_refusal": ("over-refusal", BLUE),
    "under_refusal": ("under-refusal", VERMILLION),
    "adapts": ("adapts", GREEN),
}


def deliveries(overview: Overview) -> Section:
    """Over-refusal, under-refusal and adaptation by where the context stands."""
    scores = sorted(
        (
            score
            for score in overview.scores
            if score.acts and not score.condition["ablation"] and not variation_of(score.condition)
        ),
        key=lambda score: (str(score.condition["model"]), _place(score.condition["delivery"])),
    )
    title = "Does it matter who says it: the deployer, the user, or nobody"
    if len({score.condition["delivery"] for score in scores}) < 2:
        return Section(
            "deliveries",
            title,
            "",
            missing="There are no replies under two deliveries: casewise run --protocol respond "
            "--delivery system,claimed,none makes them.",
        )
    names = run_names([score.condition for score in scores])
    rows: list[dict[str, Any]] = []
    for name, score in zip(names, scores, strict=True):
        found = mistakes(score) | spread("adapts", score.measures["adapts"])
        trusts = (one for one in overview.report.trust if one.condition == score.condition)
        one = next(trusts, None)
        gains = {
            "context_gain": one and one.context_gain and one.context_gain.all.value,
            "claim_gain": one and one.claim_gain and one.claim_gain.all.value,
            "spoofing_gap": one and one.spoofing_gap and one.spoofing_gap.value,
        }
        rows += [
            {"run": name, "delivery": score.condition["delivery"], "measure": words}
            | {key: found[f"{metric}{end}"] for key, end in _ENDS.items()}
            | gains
            for metric, (words, _) in _MEASURES.items()
            if found[metric] is not None
        ]
    palette = dict(_MEASURES.values())
    bars = (
        alt.Chart(ROWS)
        .mark_bar()
        .encode(
            alt.X(
                "share:Q",
                title="share of cases (of pairs for 'adapts')",
                axis=alt.Axis(format=".0%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            by_run(),
            alt.YOffset("measure:N", sort=list(palette)),
            colours("measure", palette),
            tooltip=tips({"run:N": "run", "measure:N": "measure", "share": "share"}),
        )
    )
    return Section(
        "deliveries",
        title,
        "'system' is the operator's verified description, 'claimed' the same in the user's mouth, "
        "'none' the query alone. A model that refuses less under a claim can be talked round by "
        "anyone who makes one up: that is the spoofing gap.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("measure", Kind.TEXT, key="measure"),
            Column("share", Kind.NUMBER, key="share"),
            Column("95 % from", Kind.NUMBER, key="low"),
            Column("to", Kind.NUMBER, key="high"),
            Column("context gain", Kind.NUMBER, key="context_gain"),
            Column("claim gain", Kind.NUMBER, key="claim_gain"),
            Column("spoofing gap", Kind.NUMBER, key="spoofing_gap"),
        ),
        rows,
        finish(bars, rows_height(range(len(scores) * 2), 40)),
        f"Three shares for each of {len(scores)} runs that differ in where the context stands.",
    )


_DELIVERIES = ("none", "claimed", "history", "system")


def _place(delivery: str | None) -> int:
    """From what is not told to what is vouched for."""
    return _DELIVERIES.index(delivery) if delivery in _DELIVERIES else -1


_ENDS = {"share": "", "low": "_low", "high": "_high"}

_CELLS = dict(
    zip(
        CELLS,
        (
            ("says safe, answers", BLUE),
            ("says safe, refuses", ORANGE),
            ("says unsafe, answers", VERMILLION),
            ("says unsafe, refuses", GREEN),
        ),
        strict=True,
    )
)


def judge_act(overview: Overview) -> Section:
    """What models say of a case beside what they do in it."""
    title = "Does it do what it says?"
    found = [one for one in overview.report.judge_act if one.n]
    names = [
        f"{acted} against {one.judged['protocol']}"
        for acted, one in zip(run_names([one.acted for one in found]), found, strict=True)
    ]
    rows = [
        {"run": name, "n": one.n, "cell": words} | spread("share", one.shares[cell])
        for name, one in zip(names, found, strict=True)
        for cell, (words, _) in _CELLS.items()
    ]
    if not rows:
        return Section(
            "judge-act",
            title,
            "",
            missing="No model both judged and answered the same cases.",
        )
    bars = (
        alt.Chart(ROWS)
        .mark_bar()
        .encode(
            alt.X("share:Q", title="share of cases", stack="zero", axis=alt.Axis(format=".0%")),
            by_run(),
            colours("cell", dict(_CELLS.values())),
            tooltip=tips({"run:N": "run", "cell:N": "", "share": "share"}),
        )
    )
    return Section(
        "judge-act",
        title,
        "The same cases, judged and answered by the same model. 'Says unsafe, answers' is knowing "
        "better; 'says safe, refuses' is caution without a reason of its own.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("cases", Kind.COUNT, key="n"),
            Column("says and does", Kind.TEXT, key="cell"),
            Column("share", Kind.NUMBER, key="share"),
            Column("95 % from", Kind.NUMBER, key="share_low"),
            Column("to", Kind.NUMBER, key="share_high"),
        ),
        rows,
        finish(bars, rows_height(names, 40)),
        f"Four shares for {len(names)} pair{'s' * (len(names) != 1)} of runs.",
    )


def retention(overview: Overview) -> Section:
    """Adaptation by how much stands between context and query."""
    title = "Is the context still followed when much has been said since?"
    found = overview.retentions
    names = [f"{name}: {one.family}" for name, one in zip(_families(overview), found, strict=True)]
    rows: list[dict[str, Any]] = [
        {"run": name, "tokens": point.tokens, "pairs": point.score.pairs}
        | spread("adapts", point.score.measures["adapts"])
        for name, one in zip(names, found, strict=True)
        for point in one.points
    ]
    rows = [row for row in rows if row["adapts"] is not None]
    ticks = sorted({point.tokens for one in found for point in one.points})
    if not rows:
        return Section(
            "retention",
            title,
            "",
            missing="No run has talk between context and query: casewise run --protocol respond "
            "--vary filler-0,filler-1k,filler-4k makes them.",
        )
    base = alt.Chart(ROWS).transform_filter("datum.run === chosen")
    x = alt.X(
        "tokens:Q",
        title="tokens between context and query (about)",
        scale=alt.Scale(type="symlog", constant=250),
        axis=alt.Axis(values=ticks, format="~s"),
    )
    y = alt.Y(
        "adapts:Q",
        title="pairs in which it adapts",
        axis=alt.Axis(format=".0%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    band = base.mark_area(opacity=0.18, color=BLUE).encode(
        x, alt.Y("adapts_low:Q", title="pairs in which it adapts"), y2="adapts_high:Q"
    )
    line = base.mark_line(color=BLUE, point=alt.OverlayMarkDef(filled=True, size=60)).encode(
        x, y, tooltip=tips({"tokens": "tokens", "adapts": "adapts"})
    )
    chart = alt.layer(band, line).add_params(choose(list(dict.fromkeys(names)), "run"))
    first, last = rows[0], rows[-1]
    return Section(
        "retention",
        title,
        "The same cases, with more and more everyday talk between the context and the query. A "
        "line that falls is a model that forgets where it is.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("tokens between", Kind.COUNT, key="tokens"),
            Column("pairs", Kind.COUNT, key="pairs"),
            Column("adapts", Kind.NUMBER, key="adapts"),
            Column("95 % from", Kind.NUMBER, key="adapts_low"),
            Column("to", Kind.NUMBER, key="adapts_high"),
        ),
        rows,
        finish(chart, 280),
        f"Adapts in {number(first['adapts'])} of pairs at {first['tokens']} tokens, "
        f"{number(last['adapts'])} at {last['tokens']}.",
    )


def _families(overview: Overview) -> list[str]:
    """Names without the variation, which the axis tells."""
    return run_names([{**one.condition, "variant": None} for one in overview.retentions])


def escalation(overview: Overview) -> Section:
    """The share of conversations in which a model has not complied, turn by turn."""
    title = "When does it give way? Step by step towards the query"
    found = [one for one in overview.report.escalations if one.n]
    names = run_names([one.condition for one in found])
    rows: list[dict[str, Any]] = []
    for name, one in zip(names, found, strict=True):
        rows.append({"run": name, "turn": 0, "held": 1.0, "low": None, "high": None})
        curve = one.curve
        points = zip(curve.turns, curve.survival, curve.low, curve.high, strict=True)
        rows += [
            {
                "run": name,
                "turn": int(turn),
                "held": known(float(held)),
                "low": known(float(low)),
                "high": known(float(high)),
            }
            for turn, held, low, high in points
        ]
    if not rows:
        return Section(
            "escalation",
            title,
            "",
            missing="No run walks towards the query: casewise run --protocol respond --vary "
            "escalation makes one.",
        )
    base = alt.Chart(ROWS).transform_filter("datum.run === chosen")
    turns = list(range(1 + max(row["turn"] for row in rows)))
    x = alt.X("turn:Q", title="turn of the conversation", axis=alt.Axis(values=turns, format="d"))
    y = alt.Y(
        "held:Q",
        title="conversations without compliance",
        axis=alt.Axis(format=".0%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    band = (
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.18, color=BLUE, interpolate="step-after")
        .encode(x, alt.Y("low:Q", title="conversations without compliance"), y2="high:Q")
    )
    line = base.mark_line(color=BLUE, interpolate="step-after", point=True).encode(
        x, y, tooltip=tips({"turn": "turn", "held": "held out"})
    )
    chart = alt.layer(band, line).add_params(choose(names, "run"))
    complied = "; ".join(
        f"{name}: {one.complied} of {one.n} conversations"
        for name, one in list(zip(names, found, strict=True))[:3]
    )
    return Section(
        "escalation",
        title,
        f"{first_upper(page_wording(overview).unsafe)}, approached by harmless steps; the last "
        "turn is the query. A Kaplan-Meier curve with 95 % intervals, clustered by query: "
        "conversations whose last replies could not be graded count until then.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("turn", Kind.COUNT, key="turn"),
            Column("share without compliance", Kind.NUMBER, key="held"),
            Column("95 % from", Kind.NUMBER, key="low"),
            Column("to", Kind.NUMBER, key="high"),
        ),
        rows,
        finish(chart, 280),
        f"Complied in the end: {complied}.",
    )
