"""Sections on changes between runs, on tokens and time, on probabilities beside labels."""

from itertools import groupby
from typing import Any

import polars as pl

from casewise.measures import find
from casewise.reporting.page._parts import (
    BLUE,
    COLOURS,
    GREY,
    ONLY,
    RUN,
    SIDES,
    VERMILLION,
    Rows,
    RunName,
    Section,
    Strips,
    best_first,
    counted,
    keyed,
    known,
    plural_runs,
    run_names,
    run_rows,
    section,
    spread,
    texts,
    with_ends,
)
from casewise.reporting.page._plots import Dot, Panel, Plots, share_axis
from casewise.results import Share, page_wording, rule_wording, wording
from casewise.scores import Comparison, Difference, Overview, right_after
from casewise.sheets import Column, Kind, number, plural

_NOISE = "within noise"
_MORE = "more than noise"
_UNTOLD = "no interval"


def comparisons(overview: Overview) -> Section | None:
    """Differences of all measures, outcomes of pairs and corrected rates included."""
    rows = [row for one in overview.comparisons for row in _rows(_pair(one), one)]
    rows = [row for row in rows if row["difference"] is not None]
    return section(
        "comparisons",
        "What changed",
        _title(overview),
        rows,
        text="After minus before, over the cases that both answered, with 95 % intervals. Of "
        "twenty measures that don't change, about one is more than noise by chance.",
        columns=(
            Column("runs", key="pair"),
            *texts("measure"),
            counted(),
            *keyed(Kind.NUMBER, before="before", after="after"),
            *with_ends("after minus before", "difference"),
            *keyed(Kind.NUMBER, p="p (Holm)"),
        ),
        words=lambda: (
            f"{sum(row['verdict'] == _MORE for row in rows)} of {len(rows)} differences "
            "are more than noise: p, adjusted over the pairs of runs, is below .05."
        ),
        chart=Strips(
            "difference",
            "after minus before",
            group="pair",
            label="measure",
            kind=Kind.CHANGE,
            tone="verdict",
            aside="verdict",
            palette={_MORE: VERMILLION, _NOISE: BLUE, _UNTOLD: GREY},
            zero=True,
        ),
    )


def changed_cases(overview: Overview) -> Section | None:
    """Cases whose verdict or reply changed."""
    rows = [
        {
            "pair": _pair(one),
            "case_id": change.case_id,
            "epoch": change.epoch,
            "category": change.category,
            "before": change.before,
            "after": change.after,
            "label": _LABELS.get(change.label, "tie"),
            "change": _CHANGES[right_after(change)],
        }
        for one in overview.comparisons
        for change in one.changed
    ]
    drawn = _changed_chart(overview, rows)
    return section(
        "changed",
        "Changed cases",
        "Which cases changed",
        rows,
        text="Every case that the two runs answered differently. " + (_ON_DOTS if drawn else ""),
        columns=(
            Column("case", key="case_id"),
            *texts("category", "before", "after", "label", "change"),
            *([Column("runs", key="pair")] if len(overview.comparisons) > 1 else []),
        ),
        words=lambda: f"{len(rows)} changed answers.",
        chart=lambda: drawn,
        open=len(rows) <= _FEW,
    )


_ON_DOTS = (
    "A dot is the model's probability of safe after, and its line begins at the probability "
    "before. An answer without a probability stands at the top if it is safe, at the bottom if it "
    "is unsafe."
)

_TONES = {"worse": VERMILLION, "better": BLUE, "neither": GREY}


def _changed_chart(overview: Overview, rows: Rows) -> Plots | None:
    """A panel for each pair of runs and direction; None without probabilities or labels."""
    words = rule_wording(overview.browser.labels)
    rates = dict(overview.browser.cases.select("case_id", "rate").iter_rows())
    said = _probabilities(overview)
    if not said:
        return None
    runs = {
        _pair(one): [overview.browser.runs.index(score.condition) for score in one.scores]
        for one in overview.comparisons
    }
    panels = []
    for pair in runs:
        for change, tone in _TONES.items():
            dots = []
            for row in rows:
                rate = rates.get(row["case_id"])
                if (row["pair"], row["change"]) != (pair, change) or rate is None:
                    continue
                before, after = (
                    said.get((run, row["case_id"], row["epoch"]), _SAID.get(row[when], 0.5))
                    for run, when in zip(runs[pair], ("before", "after"), strict=True)
                )
                dots.append(
                    Dot(
                        rate,
                        after,
                        f"{row['case_id']}: {row['before']} before, {row['after']} after",
                        y_ends=(before, after),
                        tone=COLOURS[tone],
                        row=row,
                    )
                )
            if dots:
                panels.append(
                    Panel(
                        f"{change}: {pair}" if runs.keys() - {pair} else change,
                        dots,
                        plural(len(dots), "case"),
                        fine=True,
                        row={"pair": pair, ONLY: {"view": _VIEWS[change]}},
                    )
                )
    up = share_axis("probability of safe, before and after")
    return Plots(share_axis(words.rate), up, panels) if panels else None


_VIEWS = {"worse": "new", "better": "mended", "neither": "differs"}
"""View of cases that holds the changes of a direction."""

_SAID = {"safe": 1.0, "compliance": 1.0, "unsafe": 0.0, "refusal": 0.0}
"""Height of an answer without a probability; of any other, the middle."""


def _probabilities(overview: Overview) -> dict[tuple[int, str, int], float]:
    """Probability of safe by place of the run, case and epoch, where it is known."""
    browser = overview.browser
    cases = browser.cases["case_id"].to_list()
    found = browser.judgements.filter(pl.col("p_safe").is_not_null())
    return {
        (run, cases[case], epoch): p_safe
        for run, case, epoch, p_safe in found.select("run", "case", "epoch", "p_safe").iter_rows()
    }


_FEW = 30
"""Most rows of a table that is open from the start."""

_LABELS = {1.0: "safe", 0.0: "unsafe"}
_CHANGES = {True: "better", False: "worse", None: "neither"}


def _pair(one: Comparison) -> RunName:
    before, after = (score.condition for score in one.scores)
    return RunName(f"{one.after} minus {one.before}", after, before)


def _rows(pair: RunName, one: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "pair": pair,
            "measure": f"{lead}{find(part.metric).label}",
            "n": one.n,
            "before": known(part.before.value),
            "after": known(part.after.value),
            "p": known(part.p_holm),
            "verdict": _verdict(part),
        }
        | spread("difference", part.difference)
        for lead, parts in (
            ("", one.differences),
            ("pairs: ", one.quadrants),
            ("corrected: ", one.corrected),
        )
        for part in parts
    ]


def _verdict(part: Difference) -> str:
    if not part.is_told:
        return _UNTOLD
    return _MORE if part.is_more_than_chance else _NOISE


def _title(overview: Overview) -> str:
    """Number of cases that changed, for the better and for the worse."""
    if len(overview.comparisons) > 1:
        return f"What changed between {len(overview.comparisons)} pairs of runs"
    (one,) = overview.comparisons
    after = [right_after(change) for change in one.changed]
    return (
        f"What changed: {len(after)} of {one.n} answers, {after.count(True)} for the better and "
        f"{after.count(False)} for the worse"
    )


def usage(overview: Overview) -> Section | None:
    """Tokens, time and money of each run."""
    used = overview.usages
    names = run_rows([one.condition for one in used])
    rows = [
        name
        | {
            "n": one.n,
            "known": one.known,
            "input_tokens": one.input_tokens,
            "output_tokens": one.output_tokens,
            "latency_s": one.latency_s,
            "latency_p95_s": one.latency_p95_s,
            "cost_usd": one.cost_usd,
            "grader_cost_usd": one.grader_cost_usd,
        }
        for name, one in zip(names, used, strict=True)
    ]
    facts = ("input_tokens", "latency_s", "cost_usd")
    told = any(row[fact] is not None for row in rows for fact in facts)
    return section(
        "usage",
        "Tokens and time",
        "What it took: tokens, time, money",
        rows if told else [],
        text="Sums over the judgements that say; the time is the median and the 95th percentile of "
        "one judgement. Costs are known only where prices are.",
        columns=(
            RUN,
            counted(),
            counted("tokens read", "input_tokens"),
            counted("tokens written", "output_tokens"),
            *keyed(
                Kind.NUMBER,
                latency_s="seconds, median",
                latency_p95_s="seconds, 95th percentile",
                cost_usd="US dollars",
                grader_cost_usd="US dollars, grader",
            ),
        ),
        words=lambda: f"Tokens of {plural_runs(rows)}.",
    )


_MOST_POINTS = 60_000
"""Most points that the page holds; beyond, the same cases are left out of every run."""


def reliability(overview: Overview) -> Section | None:
    """Probability against the share of safe labels, in bins; drawn for the leader."""
    scores = [score for score in overview.scores if score.merged_bins]
    words = wording(*scores) if scores else page_wording(overview)
    rows = [
        {
            "run": name,
            "from": part.low,
            "to": part.high,
            "judgements": part.n,
            "p_safe": known(part.p),
        }
        | {ONLY: {"above": part.low, "most": part.high}}
        | spread("rate", Share(part.rate, *part.interval))
        for name, one in best_first(scores)
        for part in one.merged_bins
    ]
    leader = _OF_LEADER if len({row["run"] for row in rows}) > 1 else ""
    return section(
        "reliability",
        "Calibration",
        words.question,
        rows,
        text=f"{leader}On the dashed diagonal the probabilities mean what they say. Below it the "
        "model is too sure that cases are safe, above it too sure that they are not. Above each "
        "dot stands the number of its judgements; bins of fewer than 20 are merged with their "
        "neighbours, and the lines are 95 % intervals.",
        columns=(
            RUN,
            Column("bin from", Kind.NUMBER, key="from"),
            *keyed(Kind.NUMBER, to="to"),
            counted("judgements", "judgements"),
            *keyed(Kind.NUMBER, p_safe="mean probability of safe"),
            *with_ends(words.share, "rate"),
        ),
        words=lambda: f"Reliability of {plural_runs(rows)}, in bins of probability.",
        chart=lambda: _reliability_chart(rows, words.share),
    )


_OF_LEADER = "Drawn is the run that is right most often; the table has all. "


def _reliability_chart(rows: Rows, label: str) -> Plots:
    """The bins of the first run."""
    leader = rows[0]["run"]
    dots = [
        Dot(
            row["p_safe"],
            row["rate"],
            f"{row['judgements']} judgements: probability {number(row['p_safe'])}, "
            f"{label} {number(row['rate'])}",
            y_ends=(row["rate_low"], row["rate_high"]),
            above=str(row["judgements"]),
            row=row,
        )
        for row in rows
        if row["run"] == leader
    ]
    return Plots(
        share_axis("the model's probability of safe"),
        share_axis(label),
        [Panel(leader, dots, joined=True)],
        diagonal=True,
    )


def votes(overview: Overview) -> Section | None:
    """Label as a share and the model's probability, case by case."""
    browser = overview.browser
    words = rule_wording(browser.labels)
    joined = browser.judgements.filter(pl.col("p_safe").is_not_null()).join(
        browser.cases.with_row_index("case").select(
            pl.col("case").cast(pl.Int64), "case_id", "rate", "intended", "label_note"
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
            "right": right,
            "label_note": note,
        }
        for run, case, intended, rate, p_safe, right, note in joined.select(
            "run", "case_id", "intended", "rate", "p_safe", "right", "label_note"
        ).iter_rows()
    ]
    return section(
        "votes",
        "Case by case",
        f"Case by case: the model's probability beside {words.beside}",
        rows,
        text=f"Only the cases whose verdict goes against {words.whom}, a dot each. The higher it "
        "stands on the left, and the lower on the right, the further the model is from the label.",
        columns=(
            RUN,
            Column("case", key="case_id"),
            *texts("context"),
            Column(words.rate, Kind.NUMBER, key="rate"),
            *keyed(Kind.NUMBER, p_safe="probability of safe"),
            *([_NOTE] if any(row["label_note"] for row in rows) else []),
        ),
        words=lambda: f"{len(rows)} judgements with a probability, each beside {words.beside}.",
        chart=lambda: _votes_chart(rows, words.rate),
    )


_NOTE = Column("about the label", Kind.TEXT, key="label_note")


def _votes_chart(rows: Rows, label: str) -> Plots:
    """A panel a run, of the cases that it has wrong; the run with the fewest first."""
    of_runs = [(run, list(judged)) for run, judged in groupby(rows, lambda row: row["run"])]
    by_run = sorted(of_runs, key=lambda one: sum(row["right"] == 0 for row in one[1]))
    return Plots(
        share_axis(label),
        share_axis("the model's probability of safe"),
        [
            Panel(
                run,
                [
                    Dot(
                        row["rate"],
                        row["p_safe"],
                        f"{row['case_id']}: {label} {number(row['rate'])}, probability "
                        f"{number(row['p_safe'])}",
                        tone=COLOURS[SIDES["safe" if row["p_safe"] < row["rate"] else "unsafe"]],
                        row=row,
                    )
                    for row in judged
                    if row["right"] == 0
                ],
                note=f"{sum(row['right'] == 0 for row in judged)} of {len(judged)}",
                fine=True,
                row={"run": run},
            )
            for run, judged in by_run
        ],
    )
