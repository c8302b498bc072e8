"""Sections on contexts and their parts, on seeing a context, and on pressure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from casewise.choices import Family, View
from casewise.measures import find, in_view
from casewise.reporting.page._parts import (
    ASIDE,
    BLUE,
    ORANGE,
    RESTED,
    RUN,
    Rows,
    RunName,
    Section,
    Strips,
    counted,
    keyed,
    named_runs,
    plural_runs,
    rested,
    run_names,
    section,
    spread,
    texts,
    with_ends,
)
from casewise.scores import Estimate, Overview, RunCondition, Score
from casewise.sheets import Column, Kind, number, signed

_METRICS = {
    False: ("accuracy", "follows", "false_changes", "pcc"),
    True: ("appropriate", "follows", "false_changes"),
}
"""The measures whose changes are shown: of judges, and of models that act."""

_COLUMNS = (
    RUN,
    counted(),
    *texts("measure"),
    *with_ends("change", "change"),
)


def _change_rows(
    name: str, n: int, found: Mapping[str, Estimate], metrics: Sequence[str]
) -> list[dict[str, Any]]:
    """A row a measure: the change with its interval."""
    return [
        {"run": name, "n": n, "measure": find(metric).words} | spread("change", found[metric])
        for metric in metrics
        if metric in found and found[metric].value == found[metric].value
    ]


def _by_effect(rows: Rows) -> list[dict[str, Any]]:
    """Rows of parts, the least change first; the chart shows the first measure of each."""
    ordered = sorted(rows, key=lambda row: row["change"])
    leads = {row["run"]: row["measure"] for row in reversed(rows)}
    kinds = {False: ASIDE, True: "part"}
    return [{**row, "kind": kinds[leads[row["run"]] == row["measure"]]} for row in ordered]


def _largest_loss(rows: Rows) -> str:
    least = min(rows, key=lambda row: row["change"])
    return (
        f"{len(rows)} changes; the largest loss is {signed(least['change'])} in "
        f"{least['measure']}, {least['run']}."
    )


def ablations(overview: Overview) -> Section | None:
    """The change when parts of the context are removed; in the table each part's share of it."""
    rows = _by_effect(_changes(overview, lambda condition: bool(condition.ablation), _METRICS))
    shown = dict.fromkeys(str(row["measure"]) for row in rows if row["kind"] != ASIDE)
    rows += _shapley_rows(overview)
    return section(
        "ablations",
        "Context removed",
        "What is lost when a part of the context is removed",
        rows,
        text="Shortened minus whole, over the cases that both answered, the largest loss first. "
        "Left of zero the model needed what was taken away. The table has other measures too, and "
        "of runs without every subset of sender, recipient and transmission principle their "
        "Shapley shares, which sum to what the whole context does.",
        columns=_COLUMNS,
        words=lambda: _largest_loss(rows),
        chart=Strips(
            "change",
            f"change in {', '.join(shown)}",
            group="whole",
            label="part",
            kind=Kind.CHANGE,
            zero=True,
        ),
    )


def _shapley_rows(overview: Overview) -> list[dict[str, Any]]:
    """Rows of what each group of parameters adds to a measure, for the table."""
    scored = [row for row in overview.report.rows if row.shapley is not None]
    return [
        one | {"kind": ASIDE}
        for name, row in named_runs(scored, attrgetter("score.condition"))
        if row.shapley is not None
        for group, shares in row.shapley.shares.items()
        for one in _change_rows(
            RunName(f"{name}: share of {group.replace('_', ' ')}", row.score.condition),
            row.shapley.n,
            shares,
            _METRICS[row.score.acts],
        )
    ]


def _changes(
    overview: Overview,
    wanted: Callable[[RunCondition], bool],
    metrics: Mapping[bool, Sequence[str]],
) -> list[dict[str, Any]]:
    """Rows for the changes of the wanted conditions.

    Args:
        overview: What is shown.
        wanted: Tells whether a condition is shown.
        metrics: Measures of judges (False) and of models that act (True).
    """
    scored = sorted(
        (row for row in overview.report.rows if row.change and wanted(row.score.condition)),
        key=lambda row: [str(row.score.condition[key]) for key in ("model", "protocol", "variant")],
    )
    conditions = [row.score.condition for row in scored]
    wholes = run_names([one.same_but("ablation") for one in conditions])
    return [
        one | {"whole": whole.partition(" #")[0], "part": _part(condition)}
        for (name, row), whole, condition in zip(
            named_runs(scored, attrgetter("score.condition")), wholes, conditions, strict=True
        )
        if row.change is not None
        for one in _change_rows(name, row.change.n, row.change.change, metrics[row.score.acts])
    ]


def _part(condition: RunCondition) -> str:
    """The part of the context that was removed, in words; empty for none."""
    return RunCondition(ablation=condition.ablation).text.partition(", ")[2].replace("_", " ")


def pressures(overview: Overview) -> Section | None:
    """The change when a conversation is varied; retention and escalation have their own curves."""
    curves = {point.score.condition for one in overview.retentions for point in one.points}
    rows = _changes(
        overview,
        lambda condition: (
            condition.variation_name not in ("", "escalation") and condition not in curves
        ),
        {False: ("accuracy", "follows", "false_changes"), True: ("under_refusal", "over_refusal")},
    )
    return section(
        "pressures",
        "Pressure",
        "What pressure does: the change when somebody leans on the model",
        rows,
        text="The same cases with one thing changed: false authority, urgency, a claim of the safe "
        "context, a context taken back... Changed minus plain, over the cases that both answered. "
        "Right of zero in under-refusal, the model gave way.",
        columns=_COLUMNS,
        words=lambda: _largest_loss(rows),
        chart=Strips(
            "change",
            "change (of a share)",
            group="run",
            label="measure",
            kind=Kind.CHANGE,
            zero=True,
        ),
    )


def swaps(overview: Overview) -> Section | None:
    """Share in which one part of the twin's context flips the verdict or the reply."""
    rows = [
        {"run": f"{name}: {part.replace('_', ' ')}", "of": name, "part": part.replace("_", " ")}
        | dict[str, Any](n=swapped.n)
        | spread("flips", swapped.flip_rate)
        | spread("toward", swapped.toward)
        for name, one in named_runs(overview.report.counterfactuals)
        for part, swapped in one.swaps.items()
    ]
    rows = [row for row in rows if row["flips"] is not None]
    return section(
        "swaps",
        "Swaps",
        "The smallest change that flips the model",
        rows,
        text="One part of each context is taken from its twin. What flips most is what the model "
        "goes by; a part that ought to matter and flips nothing is not read.",
        columns=(
            Column("run and part", key="run"),
            counted(),
            *with_ends("flips", "flips"),
            *keyed(Kind.NUMBER, toward="to the twin's side"),
        ),
        words=lambda: f"Flip rates of {len(rows)} swapped parts.",
        chart=Strips("flips", "cases whose answer becomes the other one", "of", "part"),
    )


def faithfulness(overview: Overview) -> Section | None:
    """Change of verdicts when a parameter is removed, by whether the explanation leans on it."""
    rows: list[dict[str, Any]] = [
        {"run": name, "what": what, "measured": f"{name}: {what}", "leans": leans, "n": n}
        | spread("change", change)
        | spread("difference", moved.difference)
        for name, one in named_runs(overview.report.faithfulness)
        for what, moved in (("verdict changes", one.verdict), ("P(safe) moves", one.p_safe))
        if moved is not None
        for leans, n, change in (
            ("leaned on", moved.n_mentioned, moved.mentioned),
            ("passed over", moved.n_unmentioned, moved.unmentioned),
        )
    ]
    return section(
        "faithfulness",
        "Explanations",
        "Do explanations name what changes the verdict?",
        rows,
        text="A parameter is removed. If explanations are faithful, the verdict changes more often "
        "where the explanation leans on it than where it passes it over: a difference above 0.",
        columns=(
            RUN,
            *keyed(Kind.TEXT, what="measured", leans="the explanation"),
            counted("answers"),
            *with_ends("change", "change"),
            *with_ends("difference", "difference"),
        ),
        words=lambda: "; ".join(
            f"{row['measured']}: {number(row['change'])} where {row['leans']}" for row in rows[:6]
        ),
        chart=Strips(
            "change",
            "change when the parameter is removed (share, or of P(safe))",
            group="measured",
            label="leans",
            tone="leans",
            palette={"leaned on": BLUE, "passed over": ORANGE},
        ),
    )


def ranked(overview: Overview) -> Section | None:
    """Which of two contexts models find the more appropriate, beside what their numbers rank."""
    rows: list[dict[str, Any]] = [
        {
            "run": name,
            "measure": measure.words,
            **rested(found),
        }
        | spread("figure", found)
        for name, one in named_runs(overview.report.ranked, _asked_as)
        for measure in in_view(View.RANKED, Family.PAIRS)
        for found in [one.measures[measure.name]]
        if found.value == found.value
    ]
    return section(
        "ranked",
        "Two contexts",
        "Which of two contexts of a query does the model find more appropriate?",
        rows,
        text="A pair weighs as much as its two labels differ. A model that can't tell the contexts "
        "apart ranks half of them as labels do, whatever its threshold; one that goes by the order "
        "in which it reads them names the first in more or fewer than half.",
        columns=(
            RUN,
            Column("measure", Kind.TEXT, key="measure"),
            *RESTED,
            *with_ends("figure", "figure"),
        ),
        words=lambda: f"{len(rows)} figures of {plural_runs(rows)}.",
        chart=Strips("figure", "share", group="run", label="measure"),
    )


def _asked_as(score: Score) -> RunCondition:
    """The condition under the protocol that was asked, whose numbers may rank the pairs."""
    condition = score.condition
    return replace(condition, protocol=condition.of or condition.protocol)
