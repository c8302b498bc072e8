"""The report as one HTML file that opens from disk."""

from casewise.reporting.page._label_page import label_page
from casewise.reporting.page._lazy import make_sections, report_page
from casewise.reporting.page._sentences import verdict_sentences

__all__ = ["label_page", "make_sections", "report_page", "verdict_sentences"]
