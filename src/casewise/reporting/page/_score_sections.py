"""Sections on right answers, both kinds of mistake, pairs of contexts, and categories."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from casewise.reporting._scores import baseline_text, tool_rate
from casewise.reporting.page._parts import (
    ASIDE,
    BLUE,
    COLOURS,
    GREEN,
    ONLY,
    ORANGE,
    PURPLE,
    RESTED,
    RUN,
    SEVERAL,
    SIDES,
    VERMILLION,
    Rows,
    Section,
    Strips,
    best_first,
    counted,
    keyed,
    known,
    mistakes,
    plural_runs,
    ranked,
    rested,
    run_names,
    run_rows,
    section,
    spread,
    texts,
    with_ends,
)
from casewise.reporting.page._plots import Dot, Panel, Plots, share_axis
from casewise.results import (
    BASELINES,
    Share,
    Wording,
    baselines_read,
    leaderboard_lines,
    left_open,
    mistake_measures,
    mistake_verbs,
    number_of,
    page_wording,
    refusals,
    wording,
)
from casewise.scores import CategoryScore, Overview, Score
from casewise.sheets import Column, Kind, interval, number, plural, signed

_FIGURES = (
    *("accuracy", "follows", "false_changes", "within_pcc_safe", "within_pcc_unsafe"),
    *("pcc", "brier", "ece"),
)

_OTHERS = " Runs with shortened or varied contexts have sections of their own."


def judging(overview: Overview) -> Section | None:
    """The leaderboard of judges, with the baselines and the ceiling."""
    scores, others = _leaderboard(overview, acts=False)
    words = wording(*scores) if scores else page_wording(overview)
    rows = [_judge_row(score, "model") | names for names, score in ranked(scores)]
    bases = [
        _judge_row(score, "baseline" if name in BASELINES else ASIDE)
        | {"run": f"baseline: {name}", "model": "baselines", "condition": name}
        for score in overview.report.baselines
        for name in [baseline_text(score)]
    ]
    return section(
        "judging",
        "Judges",
        f"How often each model {words.judges}",
        [*rows, *bases] if rows else [],
        text=_leading_text(overview, acts=False)
        + _judging_text(overview.report.baselines, words)
        + others,
        columns=_judging_columns(words),
        words=lambda: _best_and_worst("Accuracy", "accuracy", rows),
        # Baselines alone would be a picture of no run.
        chart=Strips("accuracy", "accuracy (share of cases)")
        if any(row["accuracy"] is not None for row in rows)
        else None,
    )


def _leaderboard(overview: Overview, *, acts: bool) -> tuple[list[Score], str]:
    """Runs with unchanged contexts, else all; and a remark if some are left out."""
    scores = [score for score in overview.scores if score.acts is acts]
    whole = [score for score in scores if not score.condition.changed]
    return whole or scores, _OTHERS if 0 < len(whole) < len(scores) else ""


def _leading_text(overview: Overview, *, acts: bool) -> str:
    return "".join(f"{line} " for line in leaderboard_lines(overview, acts=acts))


def _judging_text(baselines: Sequence[Score], words: Wording) -> str:
    """Explanation of the leaderboard: its baselines, and its last columns."""
    text = "Accuracy is the share of cases in which the verdict agrees with the label."
    if lines := baselines_read(map(baseline_text, baselines), words):
        text += f" Dashed lines: {'; '.join(lines)}."
    if words.graded:
        text += (
            " The table's last two columns are correlations within one type of context: compare "
            "them with the ceiling's."
        )
    return text


_FOLLOWING = keyed(Kind.NUMBER, follows="follows", false_changes="false changes")


def _judging_columns(words: Wording) -> tuple[Column, ...]:
    columns = (
        RUN,
        counted(),
        *keyed(Kind.PERCENT, coverage="read"),
        *with_ends("accuracy", "accuracy"),
        Column(f"calls unsafe {words.safe}", Kind.NUMBER, key="over_refusal"),
        Column(f"calls safe {words.unsafe}", Kind.NUMBER, key="under_refusal"),
        *_FOLLOWING,
    )
    return columns + tuple(
        Column(
            f"correlation with {words.whom} within {side} contexts",
            Kind.NUMBER,
            key=f"within_pcc_{side}",
        )
        for side in SIDES
        if words.graded
    )


def _judge_row(score: Score, kind: str) -> dict[str, Any]:
    row: dict[str, Any] = {"kind": kind, "n": score.n, "coverage": known(score.coverage)}
    for metric in _FIGURES:
        row |= spread(metric, score.measures[metric])
    low, high = score.bounds.get("accuracy", (None, None))
    return row | mistakes(score) | {"worst_case": known(low), "best_case": known(high)}


def _best_and_worst(what: str, field: str, rows: Rows) -> str:
    """The first and the last of ranked rows in a sentence."""
    told = [row for row in rows if row[field] is not None]
    if not told:
        return f"{what}: no run has a number."
    best, worst = told[0], told[-1]
    words = f"{what} of {plural(len(told), 'run')}: {best['run']} {number(best[field])}"
    return words + (
        f" is highest, {worst['run']} {number(worst[field])} lowest." if told[1:] else "."
    )


_ON_TOOLS = (
    " A reply that calls a tool is neither: it counts as no refusal, as no answer, and as not "
    "appropriate."
)


def acting(overview: Overview) -> Section | None:
    """The leaderboard of models that reply."""
    scores, others = _leaderboard(overview, acts=True)
    words = wording(*scores) if scores else page_wording(overview)
    called = any(score.calls_tools for score in scores)
    opened = any(map(left_open, scores))
    rows = [_act_row(score, called=called) | names for names, score in ranked(scores)]
    return section(
        "acting",
        "Replies",
        "How often each model answers what it should, and refuses what it should",
        rows,
        text=_leading_text(overview, acts=True)
        + f"A reply is appropriate if it answers {words.safe}, or refuses {words.unsafe}; a "
        "partial reply counts half. Replies that could not be graded are left out; the table's "
        "column 'graded' is the share of the others."
        f"{_ON_BOUNDS if opened else ''}{_ON_TOOLS if called else ''}{others}",
        columns=(
            RUN,
            counted("replies"),
            *keyed(Kind.PERCENT, coverage="graded"),
            *with_ends("appropriate", "appropriate"),
            Column("over-refusal", Kind.NUMBER, key="over_refusal"),
            *([Column("its bounds", key="over_refusal_bounds")] if opened else []),
            Column("under-refusal", Kind.NUMBER, key="under_refusal"),
            *([Column("its bounds", key="under_refusal_bounds")] if opened else []),
            Column("partial", Kind.NUMBER, key="partial_rate"),
            *([Column("tool call", Kind.NUMBER, key="tool_call_rate")] if called else []),
            *_FOLLOWING,
        ),
        words=lambda: _best_and_worst("Appropriate replies", "appropriate", rows),
        chart=Strips("appropriate", "appropriate replies (share of cases)"),
    )


def _act_row(score: Score, *, called: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"n": score.n, "coverage": known(score.coverage)}
    for metric in ("appropriate", "partial_rate", "follows", "false_changes"):
        row |= spread(metric, score.measures[metric])
    if left_open(score):
        row |= {f"{name}_bounds": interval(ends) for name, ends in score.bounds.items()}
    return row | ({"tool_call_rate": tool_rate(score)} if called else {}) | mistakes(score)


_ON_BOUNDS = (
    " The bounds of a rate are its lowest and highest value, by the side that those replies may "
    "be on."
)


_KINDS = {False: "judges", True: "acts"}


def plane(overview: Overview) -> Section | None:
    """Share of one mistake against that of the other, of several runs."""
    scores = [score for acts in (False, True) for score in _leaderboard(overview, acts=acts)[0]]
    names = run_rows([one.condition for one in scores])
    rows = [
        name | {"kind": _KINDS[one.acts], "n": one.n} | mistakes(one)
        for name, one in zip(names, scores, strict=True)
    ]
    rows = [row for row in rows if None not in (row["over_refusal"], row["under_refusal"])]
    kinds = {one.acts for one in scores}
    words = page_wording(overview)
    sides = zip(mistake_verbs(kinds or _KINDS), (words.safe, words.unsafe), strict=True)
    over, under = (f"{verb} {side}" for verb, side in sides)
    return section(
        "plane",
        "Mistakes",
        f"Which way the mistakes lean: {_leaning(kinds)}",
        rows if len(rows) > 1 else [],
        text=f"Best is the lower left corner.{_rings(rows)} The lines are 95 % intervals.",
        columns=(
            RUN,
            counted(),
            *with_ends(over, "over_refusal"),
            *with_ends(under, "under_refusal"),
        ),
        words=lambda: f"Both mistakes of {plural_runs(rows)}.",
        chart=lambda: _plane_chart(rows, over, under),
    )


def _leaning(kinds: Collection[bool]) -> str:
    """Names of both mistakes; a judge refuses nothing."""
    if len(kinds) != 1:
        return "too strict, or too lax"
    deed = "refusing too much" if True in kinds else "calling too much unsafe"
    return f"{deed}, or too little"


def _rings(rows: Rows) -> str:
    """Remark on the two kinds of marks, where there are both."""
    return " Rings are models that act." if len({row["kind"] for row in rows}) > 1 else ""


def _plane_chart(rows: Rows, over: str, under: str) -> Plots:
    models = list(dict.fromkeys(row["model"] for row in rows))
    tones = dict(zip(models, SEVERAL, strict=False)) if len(models) <= len(SEVERAL) else {}
    dots = [
        Dot(
            row["over_refusal"],
            row["under_refusal"],
            f"{row['run']}: {over} {number(row['over_refusal'])}, {under} "
            f"{number(row['under_refusal'])}",
            (row["over_refusal_low"], row["over_refusal_high"]),
            (row["under_refusal_low"], row["under_refusal_high"]),
            label=row["run"],
            tone=COLOURS[tones.get(row["model"], BLUE)],
            hollow=bool(_rings(rows)) and row["kind"] == _KINDS[True],
            row=row,
        )
        for row in rows
    ]
    return Plots(
        share_axis(f"{over} (share)", _reach("over_refusal", rows)),
        share_axis(f"{under} (share)", _reach("under_refusal", rows)),
        [Panel("", dots)],
        wide=True,
    )


def _reach(field: str, rows: Rows) -> float:
    """As far as rows and intervals reach on an axis, in tenths."""
    ends = [row[f"{field}{end}"] for row in rows for end in ("", "_low", "_high")]
    most = max(one for one in ends if one is not None)
    return min(1.0, (int(most * 10) + 1) / 10)


_QUADRANTS = {
    "as_intended": (GREEN, "as meant: yes in safe, no in unsafe"),
    "yes": (ORANGE, "yes in both"),
    "no": (BLUE, "no in both"),
    "inverted": (VERMILLION, "inverted"),
    "mixed": (PURPLE, "a partial reply"),
}
_SAME = {
    "always_safe": "yes",
    "always_unsafe": "no",
}


def quadrants(overview: Overview) -> Section | None:
    """Outcomes of each run over the two contexts of a query."""
    called = any(one.calls_tools for one in overview.scores)
    kinds = _QUADRANTS | ({"mixed": (PURPLE, "a partial reply or a tool call")} if called else {})
    rows = [
        {
            "run": name,
            **rested(one.measures[part]),
            "of": plural(one.pairs, "pair"),
            "quadrant": kinds[_SAME.get(part, part)][1],
            ONLY: {"quadrant": part},
        }
        | spread("share", one.measures[part])
        for name, one in best_first(overview.scores)
        if one.pairs
        for part in one.quadrants
    ]
    return section(
        "quadrants",
        "Pairs",
        "Does the context change the answer? What each model does with a pair",
        rows,
        text="A pair is a context of a query that is meant to be safe, and one that is meant to be "
        "unsafe. "
        "'Yes' is the verdict safe, or an answer; 'no' is unsafe, or a refusal. A model that "
        "answers as meant does what the contexts' authors meant, whatever the labels say.",
        columns=(
            RUN,
            *RESTED,
            Column("what it does", key="quadrant"),
            *with_ends("share of pairs", "share"),
        ),
        words=lambda: f"Shares of pairs in five ways of answering, for {plural_runs(rows)}.",
        chart=Strips(
            "share",
            "share of pairs",
            group="run",
            tone="quadrant",
            palette={words: colour for colour, words in kinds.values()},
            stacked=True,
            aside="of",
        ),
    )


def categories(overview: Overview) -> Section | None:
    """The share of right verdicts or appropriate replies, by category and run."""
    words = page_wording(overview)
    scores = [score for score in overview.categories if score.category]
    whole = list(dict.fromkeys(score.condition for score in scores))
    names = dict(zip(whole, run_names(whole), strict=True))
    rows: list[dict[str, Any]] = [
        {
            "run": names[score.condition],
            "category": score.category,
            "n": score.n,
            "coverage": known(score.coverage),
            "wrong": _wrong(score),
        }
        | spread("right", score.measures["appropriate" if score.acts else "accuracy"])
        | spread("difference", Share(*score.difference))
        | mistakes(score)
        for score in scores
    ]
    rows = _furthest_first([row for row in rows if row["right"] is not None])
    found = {row["category"] for row in rows}
    return section(
        "categories",
        "Categories",
        f"Where models go against {words.against}: categories, the furthest below first",
        rows if len(found) > 1 else [],
        text="The share of right answers in a category, minus the run's share in all categories, "
        f"with 95 % intervals. Shown are the {MOST_CATEGORIES} categories of each run that lie "
        f"furthest below, with their wrong answers; the table has all. {words.ranking}",
        columns=(
            RUN,
            *texts("category"),
            counted(),
            *with_ends("right", "right"),
            *with_ends("minus all", "difference"),
            *texts("wrong"),
        ),
        words=lambda: (
            f"{plural(len(found), 'category')} by {plural_runs(rows)}; furthest below: "
            f"{rows[0]['category']}, {rows[0]['run']}, {signed(rows[0]['difference'])}."
        ),
        chart=Strips(
            "difference",
            "right in the category minus right in all",
            group="run",
            label="category",
            kind=Kind.CHANGE,
            zero=True,
            aside="wrong",
        ),
    )


MOST_CATEGORIES = 10
"""Categories of a run that the chart shows."""


def _wrong(score: CategoryScore) -> str:
    """Counts of both mistakes: ``4 of 9 safe, 1 of 11 unsafe``."""
    sizes = [score.measures[name].size for name in mistake_measures(score)]
    told = [
        f"{number_of(share.value * size)} of {number_of(size)} {side}"
        for side, size, share in zip(("safe", "unsafe"), sizes, refusals(score), strict=True)
        if size > 0
    ]
    return ", ".join(told)


def _furthest_first(rows: Rows) -> list[dict[str, Any]]:
    """Rows by their difference, least first; the chart shows the first of each run."""
    seen = Counter[str]()
    made = []
    for row in sorted(rows, key=lambda row: row["difference"]):
        seen[row["run"]] += 1
        made.append({**row, "kind": "category" if seen[row["run"]] <= MOST_CATEGORIES else ASIDE})
    return made
