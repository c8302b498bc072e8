"""The sections of the page, in the order in which they are read."""

from casewise.analysis import Overview
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
