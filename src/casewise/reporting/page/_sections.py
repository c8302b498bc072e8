"""The sections of the page, in the order in which they are read."""

from dataclasses import replace

from casewise.analysis import Overview
from casewise.reporting._remarks import rules_remark
from casewise.reporting.page._category_sections import categories
from casewise.reporting.page._compare_sections import changed_cases, comparisons
from casewise.reporting.page._context_sections import ablations, shapley
from casewise.reporting.page._delivery_sections import deliveries, judge_act
from casewise.reporting.page._pressure_sections import faithfulness, pressures, swaps
from casewise.reporting.page._probability_sections import reliability, votes
from casewise.reporting.page._score_sections import acting, judging, plane, quadrants
from casewise.reporting.page._section import Section
from casewise.reporting.page._turn_sections import escalation, retention
from casewise.reporting.page._usage_sections import usage


def make_sections(overview: Overview) -> list[Section]:
    """Every section; one that can't be drawn says why."""
    note = rules_remark(overview.scores)
    return [
        replace(one, note=note if _shows_replies(one, overview) else "") for one in _made(overview)
    ]


_OF_REPLIES = {
    *("acting", "plane", "quadrants", "deliveries", "judge-act", "pressures", "retention"),
    *("escalation", "categories"),
}
"""Sections with rates of every model that replies, if they are drawn at all."""


def _shows_replies(section: Section, overview: Overview) -> bool:
    if section.missing:
        return False
    report = overview.report
    also = {
        "ablations": any(row.score.acts and row.change for row in report.rows),
        "swaps": any(one.condition["protocol"] == "respond" for one in report.counterfactuals),
        "comparisons": any(score.acts for one in overview.comparisons for score in one.scores),
    }
    return section.id in _OF_REPLIES or also.get(section.id, False)


def _made(overview: Overview) -> list[Section]:
    return [
        *([comparisons(overview), changed_cases(overview)] if overview.comparisons else []),
        judging(overview),
        acting(overview),
        plane(overview),
        quadrants(overview),
        reliability(overview),
        votes(overview),
        ablations(overview),
        shapley(overview),
        deliveries(overview),
        judge_act(overview),
        pressures(overview),
        retention(overview),
        escalation(overview),
        swaps(overview),
        faithfulness(overview),
        categories(overview),
        usage(overview),
    ]
