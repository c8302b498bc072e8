"""The report as one HTML file that opens from disk."""

from casewise.reporting.page._lazy import make_sections, report_page
from casewise.reporting.page._parts import Section
from casewise.reporting.page._sentences import verdict_sentences

__all__ = ["Section", "make_sections", "report_page", "verdict_sentences"]
