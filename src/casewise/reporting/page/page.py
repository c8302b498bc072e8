"""The report as one HTML file that opens from disk and calls nothing."""

import base64
import gzip
import json
import math
import re
from dataclasses import replace
from functools import cache
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from casewise import __version__
from casewise.reporting.analyses import as_table
from casewise.reporting.page import asset, script_hash
from casewise.reporting.page.bars import line_rows
from casewise.reporting.page.cases import browser_payload
from casewise.reporting.page.rows import is_bad, run_rows
from casewise.reporting.scores import all_verdicts, pinned, titles
from casewise.results import (
    NO_TREND,
    Overview,
    Trend,
    first_upper,
    leading,
    remarks,
    wording,
)
from casewise.sheets import plural

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""Escapes in JSON for characters that could end a script element or start a comment."""


def plain_json(value: Any) -> Markup:
    """Strict JSON that a script element can hold and a person can read.

    Raises:
        ValueError: A number is undefined or infinite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    for character, code in _ESCAPES.items():
        text = text.replace(character, code)
    return Markup(text)


def packed_json(value: Any) -> str:
    """Strict JSON, gzipped, in base64; the same for the same value, whatever the time.

    Raises:
        ValueError: A number is undefined or infinite.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Lone surrogates, which JSON may hold as escapes, have no UTF-8 form.
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


def report_page(overview: Overview, *, title: str, reveal: bool, trend: bool = False) -> str:
    """The page: state, one sentence, one table, five cases; below, folded, every analysis.

    The same bytes for the same inputs.

    Args:
        overview: What is shown.
        title: The page's heading.
        reveal: Put queries, contexts and replies in, behind a content warning; else their
            lengths stand in, and no text of theirs is anywhere in the page.
        trend: Begin with the latest run against the first, and the measures over time.
    """
    over_time = Trend.of(overview) if trend else None
    notes = list(overview.notes)
    if trend and over_time is None:
        notes.append(f"{first_upper(NO_TREND)}.")
    if over_time and not overview.comparisons:
        overview = replace(overview, browser=overview.browser.after(over_time.steps))
    scores = overview.scores
    result = leading(overview, over_time)
    analyses = [(one, as_table(one)) for one in scores.analyses if one.lines]
    runs = overview.browser.runs
    return _template().render(
        title=title,
        version=__version__,
        about=_about(overview),
        first=[(one, is_bad(one) or not one.is_told) for one in result.leading],
        rows=run_rows(overview, result),
        heads=("Run", "State", *titles(overview.scores)),
        pinned=pinned(all_verdicts(overview, result), overview.scores.baselines),
        analyses=[(one, table.columns, line_rows(one, table, runs)) for one, table in analyses],
        notes=[*notes, *remarks(overview.scores), *_shape(overview), *_without_lines(overview)],
        nan=math.nan,
        reveal=reveal,
        css=Markup(asset("report.css")),
        script=_script(),
        scores=plain_json(scores.record()),
        cases=packed_json(browser_payload(overview.browser, reveal=reveal)),
    )


def _about(overview: Overview) -> list[str]:
    """The line under the title: data set, cases and runs, labels, date."""
    cases = overview.browser.cases
    queries = cases["query_id"].drop_nulls().n_unique()
    data = dict.fromkeys(one.data for one in overview.records if one.data)
    ended = max((one.completed or one.started or "" for one in overview.records), default="")
    return [
        ", ".join(data) or "data not recorded",
        f"{plural(len(cases), 'case')} of {plural(queries, 'query')}",
        plural(len(overview.browser.runs), "run"),
        f"against {wording(*overview.scores).against}",
        *([ended[:10]] if ended else []),
    ]


def _shape(overview: Overview) -> list[str]:
    """Sentences on the contexts and labels of the cases."""
    shape = overview.scores.shape
    return [] if shape is None else list(shape.sentences())


def _without_lines(overview: Overview) -> list[str]:
    """Notes of analyses without lines, then the names of those without a note."""
    empty = [one for one in overview.scores.analyses if not one.lines]
    names = ", ".join(one.id for one in empty if not one.notes)
    notes = [note for one in empty for note in one.notes]
    return [*notes, *([f"The runs have no data for: {names}."] if names else [])]


_SCRIPTS = ("page.js", "pair.js", "cases.js")
"""One script in this order: modules without an address can't import each other."""


@cache
def _script() -> dict[str, str]:
    """The script, with the hash by which the page's policy admits it and nothing else."""
    text = "\n".join(map(asset, _SCRIPTS))
    return {"text": Markup(text), "hash": script_hash(text)}


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    return environment.get_template("report.html.j2")


def _unbroken(text: str) -> Markup:
    """Keep per cent signs on the line of their number, and intervals in brackets whole."""
    text = re.sub(r"(?<=\d) %", "\u00a0%", text)
    return escape(re.sub(r"\((\S+) to (\S+)\)", "(\\1\u00a0to\u00a0\\2)", text))
