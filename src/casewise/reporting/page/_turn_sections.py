"""Long conversations: what is forgotten, and when a model gives way."""

from typing import Any

import altair as alt

from casewise.analysis import Overview
from casewise.reporting._wording import first_upper, page_wording
from casewise.reporting.page._draw import BLUE, ROWS, choose, finish, tips
from casewise.reporting.page._names import run_names
from casewise.reporting.page._rows import known, spread
from casewise.reporting.page._section import Section
from casewise.sheets import Column, Kind, number


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
