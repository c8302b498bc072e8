"""Probabilities against labels: are they calibrated, do they follow them case by case?"""

import altair as alt
import polars as pl

from casewise.reporting._wording import page_wording, rule_wording, wording
from casewise.reporting.page._parts import (
    GREY,
    ROWS,
    SIDES,
    Section,
    choose,
    colours,
    finish,
    known,
    run_names,
    share,
    some,
    tips,
)
from casewise.scores import Overview
from casewise.sheets import Column, Kind

_MOST_POINTS = 60_000
"""Points that the page can hold; of more, every run is thinned alike."""


def reliability(overview: Overview) -> Section:
    """Reliability curves: the probability given, and the share of safe in the labels."""
    scores = [score for score in overview.scores if any(one.n for one in score.bins)]
    words = wording(*scores) if scores else page_wording(overview)
    title = words.question
    if not scores:
        return Section(
            "reliability",
            title,
            "",
            missing="No run gives probabilities: the protocols score and probability do.",
        )
    names = run_names([one.condition for one in scores])
    rows = [
        {
            "run": name,
            "from": part.low,
            "to": part.high,
            "judgements": part.n,
            "p_safe": known(part.p),
            "rate": known(part.rate),
        }
        for name, one in zip(names, scores, strict=True)
        for part in one.bins
        if part.n
    ]
    base = alt.Chart(ROWS).transform_filter("datum.run === chosen")
    axis = alt.Axis(format=".0%")
    full = alt.Scale(domain=[0, 1])
    x = alt.X("p_safe:Q", title="the model's probability of safe", axis=axis, scale=full)
    y = alt.Y("rate:Q", title=words.share, axis=axis, scale=full)
    ideal = (
        alt.Chart()
        .mark_rule(strokeDash=[4, 3], color=GREY)
        .encode(x=alt.X(datum=0), y=alt.Y(datum=0), x2=alt.X2Datum(1), y2=alt.Y2Datum(1))
    )
    line = base.mark_line(color=SIDES["safe"]).encode(x, y, order="from:Q")
    told = {"p_safe": "probability", "rate": words.share, "judgements": "judgements"}
    dots = base.mark_point(filled=True, color=SIDES["safe"]).encode(
        x,
        y,
        size=alt.Size("judgements:Q", legend=alt.Legend(orient="top", title="judgements")),
        tooltip=tips(told),
    )
    chart = alt.layer(ideal, line, dots).add_params(choose(names, "run"))
    return Section(
        "reliability",
        title,
        "On the dashed diagonal the probabilities mean what they say. Below it the model is too "
        "sure that cases are safe, above it too sure that they are not.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("bin from", Kind.NUMBER, key="from"),
            Column("to", Kind.NUMBER, key="to"),
            Column("judgements", Kind.COUNT, key="judgements"),
            Column("mean probability of safe", Kind.NUMBER, key="p_safe"),
            Column(words.share, Kind.NUMBER, key="rate"),
        ),
        rows,
        finish(chart, 320),
        f"Reliability curves of {len(names)} run{'s' * (len(names) != 1)}, in bins of probability.",
    )


def votes(overview: Overview) -> Section:
    """Each case: its label as a share, and the model's probability."""
    browser = overview.browser
    words = rule_wording(browser.labels)
    joined = browser.judgements.filter(pl.col("p_safe").is_not_null()).join(
        browser.cases.with_row_index("case").select(
            pl.col("case").cast(pl.Int64), "case_id", "rate", "intended"
        ),
        on="case",
    )
    joined = joined.filter(pl.col("rate").is_not_null())
    title = f"Case by case: the model's probability beside {words.beside}"
    if not len(joined):
        return Section(
            "votes",
            title,
            "",
            missing="No case has both a label and a model's probability.",
        )
    if len(joined) > _MOST_POINTS:
        kept = browser.cases.height * _MOST_POINTS // len(joined)
        joined = joined.filter(pl.col("case") < kept)
    names = run_names(browser.runs)
    rows = [
        {
            "run": names[run],
            "case_id": case,
            "context": f"meant {intended}" if intended else "no side meant",
            "rate": rate,
            "p_safe": p_safe,
        }
        for run, case, intended, rate, p_safe in joined.select(
            "run", "case_id", "intended", "rate", "p_safe"
        ).iter_rows()
    ]
    runs = list(dict.fromkeys(row["run"] for row in rows))
    x = share("rate", words.rate)
    y = alt.Y(
        "p_safe:Q",
        title="the model's probability of safe",
        axis=alt.Axis(format=".0%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    palette = {f"meant {side}": colour for side, colour in SIDES.items()} | {"no side meant": GREY}
    palette = some(palette, (row["context"] for row in rows))
    shape = alt.Shape("context:N", scale=alt.Scale(domain=list(palette)))
    chart = (
        alt.Chart(ROWS)
        .transform_filter("datum.run === chosen")
        .mark_point(filled=True, opacity=0.45, size=28)
        .encode(
            x,
            y,
            colours("context", palette, "context"),
            shape,
            tooltip=tips({"case_id:N": "case", "rate": words.rate, "p_safe": "probability"}),
        )
        .add_params(choose(runs, "run"))
    )
    return Section(
        "votes",
        title,
        words.clouds,
        (
            Column("run", Kind.TEXT, key="run"),
            Column("case", Kind.TEXT, key="case_id"),
            Column("context", Kind.TEXT, key="context"),
            Column(words.rate, Kind.NUMBER, key="rate"),
            Column("probability of safe", Kind.NUMBER, key="p_safe"),
        ),
        rows,
        finish(chart, 360),
        f"{len(rows)} judgements with a probability, each beside {words.beside}.",
    )
