"""The page's own functions, behind an import that waits until a page is made.

What draws charts takes half a second to import, and every command imports what is reported.
"""

from casewise.reporting.page._parts import Section
from casewise.scores import EvaluationFacts, Overview


def report_page(
    overview: Overview,
    *,
    title: str,
    reveal: bool,
    facts: EvaluationFacts | None = None,
    trend: bool = False,
) -> str:
    """The whole report: three figures, charts with their tables, and every case.

    Args:
        overview: What is shown.
        title: The page's heading.
        reveal: Put queries, contexts and replies in, behind a content warning; else their
            lengths stand in, and no text of theirs is anywhere in the page.
        facts: What the logs say of the runs: the data set's name, and dates.
        trend: Begin with the measures over time, which the facts tell.
    """
    from casewise.reporting.page import _page

    return _page.report_page(overview, title=title, reveal=reveal, facts=facts, trend=trend)


def make_sections(overview: Overview) -> list[Section]:
    """Every section; one that can't be drawn says why."""
    from casewise.reporting.page import _page as _sections

    return _sections.make_sections(overview)
