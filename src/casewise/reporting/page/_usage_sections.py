"""What it took."""

import altair as alt

from casewise.analysis import Overview
from casewise.reporting.page._draw import BLUE, ROWS, by_run, finish, rows_height, tips
from casewise.reporting.page._names import run_names
from casewise.reporting.page._section import Section
from casewise.sheets import Column, Kind


def usage(overview: Overview) -> Section:
    """Tokens, time and money a run."""
    title = "What it took: tokens, time, money"
    used = overview.usages
    names = run_names([one.condition for one in used])
    rows = [
        {
            "run": name,
            "n": one.n,
            "known": one.known,
            "input_tokens": one.input_tokens,
            "output_tokens": one.output_tokens,
            "tokens": None
            if one.input_tokens is None
            else (one.input_tokens + (one.output_tokens or 0)),
            "latency_s": one.latency_s,
            "latency_p95_s": one.latency_p95_s,
            "cost_usd": one.cost_usd,
            "grader_cost_usd": one.grader_cost_usd,
        }
        for name, one in zip(names, used, strict=True)
    ]
    facts = ("input_tokens", "latency_s", "cost_usd")
    if all(row[fact] is None for row in rows for fact in facts):
        return Section(
            "usage",
            title,
            "",
            missing="The judgements don't say: published outputs hold neither tokens nor times.",
        )
    chart = (
        alt.Chart(ROWS)
        .mark_bar(color=BLUE)
        .encode(
            alt.X("tokens:Q", title="tokens, read and written", axis=alt.Axis(format="~s")),
            by_run(),
            tooltip=tips({"run:N": "run", "tokens": "tokens", "latency_s": "seconds a judgement"}),
        )
    )
    return Section(
        "usage",
        title,
        "Sums over the judgements that say; the time is the median and the 95th percentile of one "
        "judgement. Costs are known only where prices are.",
        (
            Column("run", Kind.TEXT, key="run"),
            Column("judgements", Kind.COUNT, key="n"),
            Column("tokens read", Kind.COUNT, key="input_tokens"),
            Column("tokens written", Kind.COUNT, key="output_tokens"),
            Column("seconds, median", Kind.NUMBER, key="latency_s"),
            Column("seconds, 95th percentile", Kind.NUMBER, key="latency_p95_s"),
            Column("US dollars", Kind.NUMBER, key="cost_usd"),
            Column("US dollars, grader", Kind.NUMBER, key="grader_cost_usd"),
        ),
        rows,
        finish(chart, rows_height(rows)),
        f"Tokens of {len(rows)} run{'s' * (len(rows) != 1)}.",
    )
