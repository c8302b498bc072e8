"""What a report shows: scores, who leads, curves, costs, and every case with its judgements."""

from casewise.analysis.overview._browser import OF_BROWSED_CASE, Browser
from casewise.analysis.overview._categories import CategoryScore
from casewise.analysis.overview._leaders import Leader, is_plain
from casewise.analysis.overview._overview import Overview, make_overview
from casewise.analysis.overview._retention import Retention, RetentionPoint, variation_of
from casewise.analysis.overview._usage import Usage

__all__ = [
    "Browser",
    "CategoryScore",
    "Leader",
    "OF_BROWSED_CASE",
    "Overview",
    "Retention",
    "RetentionPoint",
    "Usage",
    "is_plain",
    "make_overview",
    "variation_of",
]
