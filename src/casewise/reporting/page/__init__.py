"""The report as one HTML file.

The report's own functions wait behind an import until a page is made: what draws charts takes half
a second to import, and every command imports what is reported.
"""

import base64
import hashlib
from importlib.resources import files

from casewise.results import Overview

__all__ = ["report_page"]


def report_page(overview: Overview, *, title: str, reveal: bool, trend: bool = False) -> str:
    """The whole report as one HTML file; ``page.report_page`` has what each argument is."""
    from casewise.reporting.page import page

    return page.report_page(overview, title=title, reveal=reveal, trend=trend)


def script_hash(script: str) -> str:
    """Hash by which a page's policy admits a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def asset(name: str) -> str:
    """A style, script or template of the pages."""
    return (files("casewise.reporting.page") / "assets" / name).read_text("utf-8")
