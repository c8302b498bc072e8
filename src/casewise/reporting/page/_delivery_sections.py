"""Verified, claimed, or not told: what the place of the context does; and saying against doing."""

from typing import Any

import altair as alt

from casewise.analysis import CELLS, Overview, variation_of
from casewise.reporting.page._draw import (
    BLUE,
    GREEN,
    ORANGE,
    ROWS,
    VERMILLION,
    by_run,
    colours,
    finish,
    rows_height,
    tips,
)
from casewise.reporting.page._names import run_names
from casewise.reporting.page._rows import mistakes, spread
from casewise.reporting.page._section import Section
from casewise.sheets import Column, Kind

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
