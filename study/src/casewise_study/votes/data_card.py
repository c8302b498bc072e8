"""The data card: how the votes came about, and what they say."""

import hashlib
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib.resources import files
from typing import Any

import casewise
from casewise.sheets import (
    UNDEFINED,
    Column,
    Kind,
    Row,
    Table,
    escape,
    estimate,
    figures,
    money,
    number,
    p_value,
    signed,
    to_markdown,
)
from casewise.statistics import Estimate
from casewise_study.study.language import HEADING
from casewise_study.study.planning import pay_shortfall
from casewise_study.study.reading_times import IMPOSSIBLE, USUAL, least_seconds, reading
from casewise_study.study.schema import Arm, Platform, Study
from casewise_study.study.study_file import study_cases
from casewise_study.votes.cells import NO_INTERVALS
from casewise_study.votes.collected import Collected
from casewise_study.votes.result_files import row_of
from casewise_study.votes.results import Results
from casewise_study.votes.screening_words import observed_in_words, rules_in_words

_MOST_TURNED = 5
"""Labels listed in the card that turn."""

_STEEPEST = 50.0
"""Slopes of logarithms beyond it are no figures."""

_PLATFORMS = {
    Platform.NONE: "By invitation, without a platform.",
    Platform.PROLIFIC: "On Prolific.",
}


@dataclass(frozen=True, slots=True)
class ExportChoices:
    """Files of the folder beside the figures."""

    with_reasons: bool = False
    """Free text may identify whoever wrote it."""
    with_demographics: bool = False
    """So may a combination of answers about oneself."""
    force: bool = False
    """True if an earlier export may be replaced."""


def data_card(results: Results, choices: ExportChoices) -> str:
    """The card as Markdown. Queries and contexts are not in it."""
    return render_markdown("data-card.md.j2", _values(results, choices))


def render_markdown(name: str, values: Mapping[str, Any]) -> str:
    """A document that ships with casewise, filled in; nothing is escaped but by its filters."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= _FILTERS
    environment.tests["finite"] = math.isfinite
    text = (files("casewise_study.data") / name).read_text("utf-8")
    return environment.from_string(text).render({"version": casewise.__version__, **values})


def _values(results: Results, choices: ExportChoices) -> dict[str, Any]:
    study = results.study
    path, cases = study.path, study_cases(study)
    return {
        **row_of(results),
        **row_of(choices),
        "study_hash": hashlib.sha256(path.read_bytes()).hexdigest() if path else None,
        "twice": _seen_twice(results.collected),
        "excluded": [one for one in results.collected.people if one.excluded],
        "times": _times_in_words(study),
        "tables": card_tables(results),
        "met": sum(cell.quota_met for cell in results.cells),
        "no_intervals": NO_INTERVALS,
        "converged": results.classes.converged,
        "platform": _PLATFORMS[study.recruitment.platform],
        "rules": [*rules_in_words(study.screening)] or ["No rule was on."],
        "observed": [*observed_in_words(study, results.collected)],
        "planned": _planned_in_words(study),
        "underpaid": pay_shortfall(study, results.funnel.median_minutes),
        "cases_votes": results.votes_words,
        "released": len(results.table.safe),
        "turned": _turned(results),
        "replaced": sum(
            case.votes is not None or case.published_safe_rate is not None for case in cases
        ),
        "sources": [escape(one) for one in dict.fromkeys(case.source for case in cases) if one],
        "licences": [escape(one) for one in dict.fromkeys(case.licence for case in cases) if one],
    }


def _turned(results: Results) -> list[str]:
    """Labels that turn without flagged people, the first of them."""
    lines = [
        f"`{escape(one.case_id)}` ({_arm(one.arm)}): {one.everybody or 'a tie'} with everybody, "
        f"{one.unflagged or 'a tie'} without flagged"
        for one in results.turned[:_MOST_TURNED]
    ]
    more = len(results.turned) - len(lines)
    return [*lines, f"{more} more (`turned` in `summary.json`)"] if more else lines


def _seen_twice(collected: Collected) -> int:
    """Ids with votes on two cells of one query."""
    asked = Counter((vote.rater, vote.query_id) for vote in collected.votes)
    return len({rater for (rater, _), count in asked.items() if count > 1})


def _times_in_words(study: Study) -> str:
    """Describe the time before which answers were refused."""
    least = study.timing.least_seconds
    if least is not None:
        return f"within {least:g} s of showing"
    read = reading(study)
    words = [count / read.speed for count in read.cells]
    low, high = (f"{round(least_seconds(count), 1):g}" for count in (min(words), max(words)))
    return (
        f"within the time that the page's words take at {IMPOSSIBLE * read.speed:.4g} a minute "
        f"({low} to {high} s of showing)"
    )


def _planned_in_words(study: Study) -> str:
    """Describe the times that the pay is planned by."""
    read, pay = reading(study), study.pay
    seconds, besides = pay.seconds_per_task, pay.minutes_besides
    words = USUAL.words * read.speed
    pace = f"by their words at {words:.3g} a minute and {USUAL.answer:g} s to answer"
    return (
        f"{read.case_seconds(USUAL) if seconds is None else seconds:.3g} s a case "
        f"({pace if seconds is None else 'as set in the study file'}) and "
        f"{read.besides_minutes(USUAL) if besides is None else besides:.2g} minutes besides"
    )


def card_tables(results: Results) -> dict[str, Table]:
    """Tables of what people said, by name: the card has them, and the command prints some."""
    return {
        "people": _people(results),
        "arms": _arms(results),
        "agreement": _agreement(results),
        "contrasts": _contrasts(results),
        "sensitivity": _sensitivity(results),
        "drift": _drift(results),
        "panels": _panels(results),
    }


def _people(results: Results) -> Table:
    funnel = results.funnel
    lines = [
        ("came", funnel.came),
        *((_spaced(status), n) for status, n in funnel.by_status.items()),
        ("with counted votes", funnel.people),
        *((f"flagged: {_spaced(rule)}", n) for rule, n in funnel.flagged.items()),
        ("flagged at all", funnel.flagged_any),
    ]
    return Table([Column(""), Column("people", Kind.COUNT)], list(map(Row, lines)))


def _arms(results: Results) -> Table:
    counts = ("cells", "votes", "majority_safe", "majority_unsafe", "ties")
    headings = (name.replace("_", " ") for name in counts)
    share = Column("mean share safe", Kind.ESTIMATE)
    return Table(
        [Column("arm"), *figures(Kind.COUNT, *headings), share],
        [
            Row([one.arm.value, *(getattr(one, name) for name in counts), one.share_safe])
            for one in results.arms
        ],
    )


def _agreement(results: Results) -> Table:
    heads = ("Krippendorff's alpha", "Gwet's AC1", "pairs that agree")
    agreed = ((one.arm.value, one.agreement) for one in results.arms)
    return Table(
        [Column("arm"), *figures(Kind.ESTIMATE, *heads)],
        [
            Row([arm, found.krippendorff_alpha, found.gwet_ac1, found.pairwise])
            for arm, found in agreed
        ],
    )


def _contrasts(results: Results) -> Table:
    columns = [
        Column("arms"),
        Column("queries", Kind.COUNT),
        Column("difference of shares safe", Kind.ESTIMATE),
        Column("p", Kind.P_VALUE),
        *figures(Kind.NUMBER, "Cohen's h", "odds ratio", digits=2),
        *figures(Kind.COUNT, "queries that differ (Holm)", "majorities that flip"),
    ]
    rows = [
        Row(
            [
                f"{contrast.first} less {contrast.second}",
                contrast.queries,
                contrast.difference,
                contrast.difference.p,
                contrast.cohen_h,
                contrast.mantel_haenszel_or,
                contrast.z_tests.holm,
                contrast.majority_flips,
            ]
        )
        for contrast in results.contrasts
    ]
    return Table(columns, rows or [Row([None] * len(columns))])


def _sensitivity(results: Results) -> Table:
    arms = [arm_votes.arm for arm_votes in results.arms]
    pairs = [(contrast.first, contrast.second) for contrast in results.contrasts]
    columns = [
        Column(""),
        *figures(Kind.COUNT, "people", "votes"),
        *figures(Kind.SHARE, *(f"share safe, {_arm(arm)}" for arm in arms)),
        *figures(Kind.NUMBER, "alpha", "AC1"),
        *figures(Kind.CHANGE, *(f"{one} less {other}" for one, other in pairs)),
        *figures(Kind.COUNT, "majorities flipped", "to or from a tie"),
    ]
    rows = []
    for row in results.sensitivity:
        differing = (row.differences.get(pair) for pair in pairs)
        cells = [
            *(row.name, row.people, row.votes),
            *(row.share_safe[arm].value for arm in arms),
            *(row.alpha, row.ac1),
            *(None if each is None else each.value for each in differing),
            *(row.flipped, row.to_tie + row.from_tie),
        ]
        rows.append(Row(cells))
    return Table(columns, rows)


def _drift(results: Results) -> Table:
    """Slopes of shares and of times, which are written otherwise."""
    drift = results.drift
    slopes = (
        ("over ten pages of a person", drift.safe_by_page, drift.speed_by_page),
        ("over a day of the study", drift.safe_by_day, drift.speed_by_day),
    )
    rows = [
        Row([name, estimate(share, with_signs=True), _percent(speed)])
        for name, share, speed in slopes
    ]
    return Table([Column(""), *figures(Kind.ESTIMATE, "share safe", "seconds")], rows)


def _panels(results: Results) -> Table:
    heading = "share safe less everybody's on the same cases"
    return Table(
        [Column("panel"), Column("people", Kind.COUNT), Column(heading, Kind.ESTIMATE)],
        [
            Row(
                [panel.panel or "not named", panel.people, estimate(panel.leaning, with_signs=True)]
            )
            for panel in results.panels.panels
        ],
    )


def quote(text: str) -> str:
    """Text as a quotation in Markdown, whose headings are bold."""
    return "\n".join(f"> {_quoted(line)}".rstrip() for line in text.splitlines())


def _quoted(line: str) -> str:
    heading = line.removeprefix(HEADING)
    return escape(line) if heading == line else f"**{escape(heading)}**"


def _percent(slope: Estimate) -> str:
    """A slope of logarithms as a change in percent: ``+12 % (+3 % to +21 %)``."""
    value, low, high = (_growth(bound) for bound in (slope.value, *slope.interval))
    return value if UNDEFINED in (value, low, high) else f"{value} ({low} to {high})"


def _growth(slope: float) -> str:
    if math.isnan(slope) or abs(slope) >= _STEEPEST:
        return UNDEFINED
    return f"{signed(100 * math.expm1(slope), 0)} %"


def _arm(arm: Arm) -> str:
    return "no context" if arm is Arm.NONE else f"{arm.value} context"


def _spaced(name: StrEnum) -> str:
    return name.value.replace("_", " ")


_FILTERS = {
    "arm": _arm,
    "estimate": estimate,
    "line": escape,
    "money": money,
    "named": lambda name: escape(name) if name else "not named",
    "number": number,
    "p": p_value,
    "quote": quote,
    "table": to_markdown,
}
