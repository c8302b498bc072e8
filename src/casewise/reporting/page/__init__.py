"""The report as one HTML file.

The report's own functions wait behind an import until a page is made: templates take half a second
to import, and every command imports what is reported.
"""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from casewise.files import write_atomically
from casewise.reporting.card import evaluation_card
from casewise.results import Overview

__all__ = ["write_report"]


def write_report(
    overview: Overview, path: Path, *, title: str, reveal: bool, trend: bool = False
) -> None:
    """Write the page, or the card where the name ends in ``.md``.

    Raises:
        OSError: The file can't be written.
    """
    if path.suffix.lower() == ".md":
        text = evaluation_card(overview)
    else:
        from casewise.reporting.page import page

        text = page.report_page(overview, title=title, reveal=reveal, trend=trend)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def script_hash(script: str) -> str:
    """Hash by which a page's policy admits a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def asset(name: str) -> str:
    """A style, script or template of the pages."""
    return (files("casewise.reporting.page") / "assets" / name).read_text("utf-8")
