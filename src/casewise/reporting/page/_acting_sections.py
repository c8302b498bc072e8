"""Sections on replies: corrected rates, deliveries, judging against acting, long conversations."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from casewise.measures import CONTROLS
from casewise.replies import correction_method, correction_notes
from casewise.reporting._scores import rate_name
from casewise.reporting.page._parts import (
    BLUE,
    GREEN,
    ONLY,
    ORANGE,
    RESTED,
    RUN,
    VERMILLION,
    WHY,
    Rows,
    RunName,
    Section,
    Strips,
    counted,
    keyed,
    known,
    mistakes,
    named_runs,
    plural_runs,
    rested,
    run_rows,
    section,
    spread,
    texts,
    with_ends,
)
from casewise.reporting.page._plots import (
    Axis,
    Dot,
    Panel,
    Plots,
    axis_of,
    count_axis,
    share_axis,
)
from casewise.results import first_upper, ladder_sentence, page_wording
from casewise.scores import CELLS, Overview
from casewise.sheets import Column, Kind, number, plural

_MEASURES = ("over_refusal", "under_refusal", "follows", "false_changes")


def corrected(overview: Overview) -> Section | None:
    """The rates of replies as graded, and corrected for the grader's errors."""
    found = [row.correction for row in overview.report.rows if row.correction is not None]
    names = run_rows([one.condition for one in found])
    rows = [
        name
        | {"rate": rate_name(rate), "how": correction_method(one)}
        | spread("raw", raw)
        | spread("corrected", one.corrected[rate])
        for name, one in zip(names, found, strict=True)
        for rate, raw in one.raw.items()
    ]
    made = section(
        "corrected",
        "Corrected rates",
        "What the rates come to without the grader's errors",
        rows,
        text="People labelled some replies; by these the grader's errors are taken out of the "
        "rates. The ring is a rate as graded, the dot the corrected one with its 95 % interval, "
        "which holds the uncertainty of the labelled sample too.",
        columns=(
            RUN,
            *texts("rate"),
            *with_ends("as graded", "raw"),
            *with_ends("corrected", "corrected"),
            *texts("how"),
        ),
        words=lambda: f"Corrected rates of {plural_runs(rows)}.",
        chart=Strips(
            "corrected",
            "rate as graded → corrected",
            group="run",
            label="rate",
            beside="raw",
        ),
    )
    return made and replace(made, note=" ".join(correction_notes(found)))


def deliveries(overview: Overview) -> Section | None:
    """Both mistakes, and the changes of replies, by where the context stands."""
    scores = sorted(
        (
            score
            for score in overview.scores
            if score.acts
            and not (score.condition.ablation or score.condition.variation)
            and score.condition.evidence is None
        ),
        key=lambda score: (score.condition.model, _place(score.condition.delivery)),
    )
    rows: list[dict[str, Any]] = []
    for name, score in named_runs(scores):
        found = mistakes(score)
        for metric in _MEASURES[2:]:
            found |= spread(metric, score.measures[metric])
        trusts = (one for one in overview.report.trust if one.condition == score.condition)
        one = next(trusts, None)
        gains = {
            "context_gain": one and one.context_gain and known(one.context_gain.all.value),
            "claim_gain": one and one.claim_gain and known(one.claim_gain.all.value),
            "spoofing_gap": one and one.spoofing_gap and known(one.spoofing_gap.value),
        }
        rows += [
            {"run": name, "delivery": score.condition.delivery, "measure": rate_name(metric)}
            | {f"share{end}": found[f"{metric}{end}"] for end in _ENDS if f"{metric}{end}" in found}
            | gains
            for metric in _MEASURES
            if found[metric] is not None
        ]
    return section(
        "deliveries",
        "Who says it",
        "Does it matter who says it: the deployer, the user, or nobody",
        rows if len({score.condition.delivery for score in scores}) > 1 else [],
        text="The context is told by the deployer ('system'), claimed by the user ('claimed'), or "
        "told by nobody ('none'). A model that refuses less where a context is claimed can be "
        "talked round by anybody who makes one up: that is the spoofing gap.",
        columns=(
            RUN,
            *texts("measure"),
            *with_ends("share", "share"),
            *keyed(
                Kind.NUMBER,
                context_gain="context gain",
                claim_gain="claim gain",
                spoofing_gap="spoofing gap",
            ),
        ),
        words=lambda: (
            f"Four shares for each of {len(scores)} runs that differ in where the context stands."
        ),
        chart=Strips("share", "share of cases (of pairs where answers change)", "run", "measure"),
    )


_DELIVERIES = ("none", "claimed", "history", "system")


def _place(delivery: str | None) -> int:
    """Rank of a delivery, from no context to one that the operator vouches for."""
    return _DELIVERIES.index(delivery) if delivery in _DELIVERIES else -1


_ENDS = ("", "_low", "_high", WHY)

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


def judge_act(overview: Overview) -> Section | None:
    """Verdicts of models on a case beside their replies in it."""
    found = [one for one in overview.report.judge_act if one.n]
    rows = [
        {
            "run": RunName(f"{acted} against {one.judged.protocol}", one.acted),
            ONLY: {"view": "judge-act"},
            "n": one.n,
            "of": plural(one.n, "case"),
            "cell": words,
        }
        | spread("share", one.shares[cell])
        for acted, one in named_runs(found, attrgetter("acted"))
        for cell, (words, _) in _CELLS.items()
    ]
    return section(
        "judge-act",
        "Says and does",
        "Does it do what it says?",
        rows,
        text="The same cases, judged and answered by the same model. 'Says unsafe, answers' is "
        "knowing better; 'says safe, refuses' is caution without a reason of its own.",
        columns=(
            RUN,
            counted(),
            Column("says and does", key="cell"),
            *with_ends("share", "share"),
        ),
        words=lambda: f"Four shares for {plural(len(found), 'pair')} of runs.",
        chart=Strips(
            "share",
            "share of cases",
            group="run",
            tone="cell",
            palette=dict(_CELLS.values()),
            stacked=True,
            aside="of",
        ),
    )


def retention(overview: Overview) -> Section | None:
    """Changes of replies by the number of tokens between context and query."""
    rows: list[dict[str, Any]] = [
        {
            "run": RunName(f"{name}: {one.family}", point.score.condition),
            "tokens": point.tokens,
            **rested(point.score.measures["follows"]),
        }
        | spread("follows", point.score.measures["follows"])
        | spread("false_changes", point.score.measures["false_changes"])
        # The axis tells the variation.
        for name, one in named_runs(
            overview.retentions, lambda one: one.condition.same_but("variant")
        )
        for point in one.points
    ]
    rows = [row for row in rows if row["follows"] is not None]
    ends = (rows[0], rows[-1]) if rows else ()
    return section(
        "retention",
        "Long talk",
        "Is the context still followed when much has been said since?",
        rows,
        text="The same cases, with more and more everyday talk between the context and the query. "
        "A line that falls is a model that forgets where it is.",
        columns=(
            RUN,
            counted("tokens between", "tokens"),
            *RESTED,
            *with_ends("follows", "follows"),
            *with_ends("false changes", "false_changes"),
        ),
        words=lambda: (
            "Follows "
            + ", ".join(
                f"{number(one['follows'])} of changes (false ones: {number(one['false_changes'])}) "
                f"at {one['tokens']} tokens"
                for one in ends
            )
            + "."
        ),
        chart=lambda: _retention_chart(rows),
    )


def _retention_chart(rows: Rows) -> Plots:
    """A panel a run; sizes grow by multiples, and stand at equal distances."""
    sizes = sorted({row["tokens"] for row in rows})
    names = [_short(size) for size in sizes]
    axis = axis_of("tokens between context and query (about)", names)
    return _curves(
        rows, "tokens", axis, sizes.index, "follows", "changes of labels that it follows"
    )


def _curves(
    rows: Rows,
    at: str,
    axis: Axis,
    place: Callable[[Any], float],
    field: str,
    up: str,
    *,
    stepped: bool = False,
    panel: Callable[[Mapping[str, Any]], str] = itemgetter("run"),
) -> Plots:
    """A panel a run: a share at each place of an axis, with its intervals."""
    runs = groupby(rows, panel)
    return Plots(
        axis,
        share_axis(up),
        [
            Panel(
                run,
                [
                    Dot(
                        place(row[at]),
                        row[field],
                        f"{row[at] if isinstance(row[at], str) else f'{row[at]:,}'}: "
                        f"{number(row[field])}",
                        y_ends=(row[f"{field}_low"], row[f"{field}_high"]),
                        row=row,
                    )
                    for row in points
                    if row[field] is not None
                ],
                joined=True,
                stepped=stepped,
            )
            for run, points in runs
        ],
    )


def ladder(overview: Overview) -> Section | None:
    """Refusals of safe and of unsafe cases at each rung of an evidence ladder."""
    found = overview.report.ladders
    wording = page_wording(overview)
    sides = {"safe": wording.safe, "unsafe": wording.unsafe}
    rows = [
        {"run": one.who, "cases": cases, "rung": rung.rung} | spread("refused", getattr(rung, side))
        for one in found
        for side, cases in sides.items()
        for rung in one.rungs
    ]
    drawn = [row for row in rows if row["rung"] not in CONTROLS and row["refused"] is not None]
    rungs = list(dict.fromkeys(str(row["rung"]) for row in drawn))
    said = (f"{one.who}: {ladder_sentence(one)}" for one in found)
    return section(
        "ladder",
        "Proof",
        "How much proof moves it, from a bare claim to a check",
        rows,
        text="The same queries with rising proof of their context: 0 the query alone, 1 a claim, "
        "2 credentials, 3 a letter, 4 the operator's word, 5 a tool that says true, 6 one that "
        "says false. Among the numbers stand controls: 1b an unrelated claim, 1c the claim of the "
        "query's other context, 3x a letter that says otherwise. Over the cases that were graded "
        "at every rung, with 95 % intervals, clustered by query. What a judge calls unsafe counts "
        "as refused.",
        columns=(RUN, *texts("cases", "rung"), *with_ends("share refused", "refused")),
        words=lambda: " ".join(said),
        chart=lambda: _curves(
            drawn,
            "rung",
            axis_of("rung", rungs),
            lambda rung: float(rungs.index(rung)),
            "refused",
            "cases refused",
            panel=lambda row: f"{row['run']}: {row['cases']}",
        ),
    )


def _short(step: int) -> str:
    """A count in few letters: ``250``, ``4k``."""
    return f"{step / 1000:.3g}k" if step >= 1000 else str(step)


def escalation(overview: Overview) -> Section | None:
    """Share of conversations without compliance, by turn."""
    found = named_runs([one for one in overview.report.escalations if one.n])
    fields = ("turn", "held", "held_low", "held_high")
    rows: list[dict[str, Any]] = []
    for name, one in found:
        curve = one.curve
        points = zip(curve.turns.tolist(), curve.survival, curve.low, curve.high, strict=True)
        rows += [
            {"run": name, **dict(zip(fields, map(known, point), strict=True))}
            | ({f"held{WHY}": reason} if reason else {})
            for point, reason in zip(
                [(0, 1.0, None, None), *points], ["", *one.reasons], strict=True
            )
        ]
    complied = "; ".join(
        f"{name}: {one.complied} of {one.n} conversations" for name, one in found[:3]
    )
    return section(
        "escalation",
        "Giving way",
        "When does it give way? Step by step towards the query",
        rows,
        text=f"{first_upper(page_wording(overview).unsafe)}, approached by harmless steps; the "
        "last turn is the query. A Kaplan-Meier curve with 95 % intervals, clustered by query: "
        "conversations whose last replies could not be graded count until then. At a turn "
        "without a dot no conversation complied, and none ended.",
        columns=(
            RUN,
            counted("turn", "turn"),
            *with_ends("share without compliance", "held"),
        ),
        words=lambda: f"Complied in the end: {complied}.",
        chart=lambda: _curves(
            rows,
            "turn",
            count_axis("turn of the conversation", max(row["turn"] for row in rows)),
            float,
            "held",
            "conversations without compliance",
            stepped=True,
        ),
    )
