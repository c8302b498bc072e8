"""Probabilities against labels: are they calibrated, do they follow them case by case?"""

import altair as alt
import polars as pl

from casewise.reporting._wording import page_wording, rule_wording, wording
from casewise.reporting.page._parts import (
    GREY,
    ROWS,
    RUN,
    SIDES,
    Rows,
    Section,
    Spec,
    choose,
    colours,
    counted_cases,
    finish,
    known,
    plural_runs,
    run_names,
    section,
    share,
    share_scale,
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
    return section(
        "reliability",
        "Calibration",
        words.question,
        rows,
        missing="No run gives probabilities: the protocols score and probability do.",
        text="On the dashed diagonal the probabilities mean what they say. Below it the model is "
        "too sure that cases are safe, above it too sure that they are not.",
        columns=(
            RUN,
            Column("bin from", Kind.NUMBER, key="from"),
            Column("to", Kind.NUMBER, key="to"),
            counted_cases("judgements", "judgements"),
            Column("mean probability of safe", Kind.NUMBER, key="p_safe"),
            Column(words.share, Kind.NUMBER, key="rate"),
        ),
        words=lambda: f"Reliability curves of {plural_runs(rows)}, in bins of probability.",
        chart=lambda: _reliability_chart(rows, words.share),
    )


def _reliability_chart(rows: Rows, label: str) -> Spec:
    base = alt.Chart(ROWS).transform_filter("datum.run === chosen")
    x = share("p_safe", "the model's probability of safe")
    y = alt.Y("rate:Q", title=label, axis=alt.Axis(format=".0%"), scale=share_scale("rate"))
    ideal = (
        alt.Chart()
        .mark_rule(strokeDash=[4, 3], color=GREY)
        .encode(x=alt.X(datum=0), y=alt.Y(datum=0), x2=alt.X2Datum(1), y2=alt.Y2Datum(1))
    )
    line = base.mark_line(color=SIDES["safe"]).encode(x, y, order="from:Q")
    told = {"p_safe": "probability", "rate": label, "judgements": "judgements"}
    dots = base.mark_point(filled=True, color=SIDES["safe"]).encode(
        x,
        y,
        size=alt.Size("judgements:Q", legend=alt.Legend(orient="top", title="judgements")),
        tooltip=tips(told),
    )
    names = list(dict.fromkeys(row["run"] for row in rows))
    return finish(alt.layer(ideal, line, dots).add_params(choose(names, "run")), 320)


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
    return section(
        "votes",
        "Case by case",
        f"Case by case: the model's probability beside {words.beside}",
        rows,
        missing="No case has both a label and a model's probability.",
        text=words.clouds,
        columns=(
            RUN,
            Column("case", Kind.TEXT, key="case_id"),
            Column("context", Kind.TEXT, key="context"),
            Column(words.rate, Kind.NUMBER, key="rate"),
            Column("probability of safe", Kind.NUMBER, key="p_safe"),
        ),
        words=lambda: f"{len(rows)} judgements with a probability, each beside {words.beside}.",
        chart=lambda: _votes_chart(rows, words.rate),
    )


def _votes_chart(rows: Rows, label: str) -> Spec:
    palette = {f"meant {side}": colour for side, colour in SIDES.items()} | {"no side meant": GREY}
    palette = some(palette, (row["context"] for row in rows))
    y = alt.Y(
        "p_safe:Q",
        title="the model's probability of safe",
        axis=alt.Axis(format=".0%"),
        scale=share_scale("p_safe"),
    )
    chart = (
        alt.Chart(ROWS)
        .transform_filter("datum.run === chosen")
        .mark_point(filled=True, opacity=0.45, size=28)
        .encode(
            share("rate", label),
            y,
            colours("context", palette, "context"),
            alt.Shape("context:N", scale=alt.Scale(domain=list(palette))),
            tooltip=tips({"case_id:N": "case", "rate": label, "p_safe": "probability"}),
        )
        .add_params(choose(list(dict.fromkeys(row["run"] for row in rows)), "run"))
    )
    return finish(chart, 360)
