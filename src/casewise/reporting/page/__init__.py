"""The report as one HTML file, and the page on which people label replies.

The report's own functions wait behind an import until a page is made: what draws charts takes half
a second to import, and every command imports what is reported.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from casewise.cases import digest
from casewise.files import guard_cell
from casewise.replies import SHEET_COLUMNS, DrawnReply
from casewise.scores import EvaluationFacts, Overview

__all__ = ["label_page", "report_page"]


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


_SHOWN = ("query", "context", "reply")


def label_page(replies: Sequence[DrawnReply], name: str, *, served: bool = False) -> str:
    """The page, in HTML; it shows nothing of the model, the context or what the grader said.

    Args:
        replies: In the order of showing, with their labels so far.
        name: Of the sheet that it saves.
        served: Whether ``casewise graders label`` serves it, and is sent each label at once; else
            it works from disk, and saves the sheet as a download.
    """
    script = asset("label.js")
    data: dict[str, Any] = {
        "name": name,
        "served": served,
        "labels": [reply.label for reply in replies],
        "shown": [{field: getattr(reply, field) for field in _SHOWN} for reply in replies],
    }
    if not served:
        cells = [[getattr(reply, column) for column in SHEET_COLUMNS] for reply in replies]
        data |= {
            # Labels are kept in the browser under it until they are saved.
            "key": f"casewise-labels-{digest([reply.id for reply in replies])}",
            "columns": SHEET_COLUMNS,
            "rows": [
                [guard_cell(one) if isinstance(one, str) else one for one in r] for r in cells
            ],
        }
    # No text ends the element that holds it.
    written = json.dumps(data).replace("<", "\\u003c")
    page = asset("label.html").replace("{{ hash }}", script_hash(script))
    page = page.replace("{{ connect }}", "; connect-src 'self'" if served else "")
    return page.replace("{{ script }}", script).replace("{{ data }}", written)


def script_hash(script: str) -> str:
    """Hash by which a page's policy admits a script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def asset(name: str) -> str:
    """A style, script or template of the pages."""
    return (files("casewise.reporting.page") / "assets" / name).read_text("utf-8")
