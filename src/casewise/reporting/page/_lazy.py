"""The page's own functions, behind an import that waits until a page is made.

What draws charts takes half a second to import, and every command imports what is reported.
"""

from typing import TYPE_CHECKING

from casewise.scores import EvaluationFacts, Overview

if TYPE_CHECKING:
    from casewise.reporting.page._parts import Section


def report_page(
    overview: Overview,
    *,
    title: str,
    reveal: bool,
    facts: EvaluationFacts | None = None,
    trend: bool = False,
) -> str:
    """The whole report as one HTML file; ``_page.report_page`` has what each argument is."""
    from casewise.reporting.page import _page

    return _page.report_page(overview, title=title, reveal=reveal, facts=facts, trend=trend)


def make_sections(overview: Overview, over_time: EvaluationFacts | None = None) -> "list[Section]":
    """Every section; ``_page.make_sections`` has what each argument is."""
    from casewise.reporting.page import _page

    return _page.make_sections(overview, over_time)
