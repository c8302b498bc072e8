"""By category: a heat map, and why not to rank by it."""

from typing import Any

import altair as alt

from casewise.reporting._wording import page_wording
from casewise.reporting.page._parts import (
    ROWS,
    STEP,
    Section,
    finish,
    known,
    mistakes,
    run_names,
    spread,
    tips,
)
from casewise.scores import Overview
from casewise.sheets import Column, Kind

_MOST_RUNS = 30
"""Columns that the heat map can show; its table holds them all."""


def categories(overview: Overview) -> Section:
    """The share of right verdicts or appropriate replies, by category and run."""
    words = page_wording(overview)
    title = f"Where models go against {words.against}: right answers by category"
    scores = [score for score in overview.categories if score.category]
    whole = list({_key(score.condition): score.condition for score in scores}.items())
    names = dict(zip((key for key, _ in whole), run_names([one for _, one in whole]), strict=True))
    rows: list[dict[str, Any]] = [
        {
            "run": names[_key(score.condition)],
            "category": score.category,
            "n": score.n,
            "coverage": known(score.coverage),
        }
        | spread("right", score.measures["appropriate" if score.acts else "accuracy"])
        | mistakes(score)
        for score in scores
    ]
    rows = [row for row in rows if row["right"] is not None]
    if len({row["category"] for row in rows}) < 2:
        return Section(
            "categories", title, "", missing="The cases that were answered are of one category."
        )
    shown = list(names.values())[:_MOST_RUNS]
    count = len({row["category"] for row in rows})
    told = {
        "run:N": "run",
        "category:N": "category",
        "right": "right",
        "right_low": "from",
        "right_high": "to",
        "n": "cases",
    }
    chart = (
        alt.Chart(ROWS)
        .transform_filter(alt.FieldOneOfPredicate(field="run", oneOf=shown))
        .mark_rect()
        .encode(
            alt.X("run:N", sort=None, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=180)),
            alt.Y("category:N", title=None, axis=alt.Axis(labelLimit=190)),
            alt.Color(
                "right:Q",
                scale=alt.Scale(scheme="cividis", domain=[0, 1]),
                legend=alt.Legend(title="right", format=".0%", orient="top", gradientLength=160),
            ),
            tooltip=tips(told),
        )
    )
    widest = max(rows, key=lambda row: (row["right_high"] or 0) - (row["right_low"] or 0))
    return Section(
        "categories",
        title,
        words.ranking,
        (
            Column("run", Kind.TEXT, key="run"),
            Column("category", Kind.TEXT, key="category"),
            Column("cases", Kind.COUNT, key="n"),
            Column("right", Kind.NUMBER, key="right"),
            Column("95 % from", Kind.NUMBER, key="right_low"),
            Column("to", Kind.NUMBER, key="right_high"),
            Column("over-refusal", Kind.NUMBER, key="over_refusal"),
            Column("under-refusal", Kind.NUMBER, key="under_refusal"),
        ),
        rows,
        finish(chart, max(4, count) * STEP),
        f"{count} categories by {len(names)} run{'s' * (len(names) != 1)}; the widest interval has "
        f"{widest['n']} cases.",
    )


def _key(condition: object) -> str:
    return repr(sorted(condition.items())) if isinstance(condition, dict) else ""
