"""The three figures over the runs of a folder in time, by version of the model."""

from typing import Any

from casewise.reporting._first_figures import figures_of
from casewise.reporting.page._parts import (
    GREEN,
    VERMILLION,
    Section,
    Strips,
    known,
    run_rows,
    section,
    with_ends,
)
from casewise.scores import EvaluationFacts, Overview, RunFacts, is_changed
from casewise.sheets import Column, Kind


def trends(overview: Overview, facts: EvaluationFacts) -> Section:
    """A line a run and figure, the earliest first; runs whose logs have no date are left out."""
    runs = [
        (when, run, score)
        for run, score in zip(facts.runs, overview.scores, strict=True)
        if (when := _when(run)) and not is_changed(score.condition)
    ]
    runs.sort(key=lambda one: one[0])
    names = run_rows([score.condition | {"model": "", "run_id": ""} for _, _, score in runs])
    rows: list[dict[str, Any]] = []
    for (when, run, score), name in zip(runs, names, strict=True):
        condition = name["condition"].partition(" #")[0]
        for figure in figures_of(score, overview.report.baselines, overview.scores):
            value, low, high = (None, None, None) if figure.unknown else figure.share
            rows.append(
                {
                    "figure": f"{figure.title} ({condition})",
                    "measure": figure.title,
                    "condition": condition,
                    "ended": when,
                    "version": _version(run),
                    "line": f"{when[:16].replace('T', ' ')}  {_version(run)}",
                    "tone": _better(figure.better_up),
                    "n": score.n,
                    "share": value,
                    "share_low": known(low),
                    "share_high": known(high),
                }
            )
    return section(
        "trend",
        "Over time",
        "How the figures moved over time, by version of the model",
        rows if len(runs) > 1 else [],
        missing="A trend takes two runs with a log each: logs say when a run ended.",
        text="From the earliest run to the latest. Two intervals that overlap may still differ: "
        "casewise compare BEFORE AFTER subtracts case by case.",
        columns=(
            Column("ended", Kind.TEXT, key="ended"),
            Column("version", Kind.TEXT, key="version"),
            Column("condition", Kind.TEXT, key="condition"),
            Column("measure", Kind.TEXT, key="measure"),
            Column("cases", Kind.COUNT, key="n"),
            *with_ends("share", "share"),
        ),
        words=lambda: f"{len(runs)} runs, from {runs[0][0][:10]} to {runs[-1][0][:10]}.",
        chart=Strips(
            "share",
            "share of pairs, of safe cases, of unsafe cases",
            group="figure",
            label="line",
            tone="tone",
            palette={_better(True): GREEN, _better(False): VERMILLION},
        ),
    )


def _better(up: bool) -> str:
    return "better the higher" if up else "better the lower"


def _when(run: RunFacts) -> str:
    """When it ended, or else began; empty where no log is at hand."""
    return max((one.completed or one.started or "" for one in run.records), default="")


def _version(run: RunFacts) -> str:
    """The model and the arguments that make it another one, such as a revision."""
    arguments = dict.fromkeys(one for record in run.records for one in record.model_args)
    return ", ".join([run.model, *arguments])
