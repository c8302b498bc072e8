"""The report as one HTML file that opens from disk and calls nothing."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import vl_convert
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup

from casewise import __version__
from casewise.analysis import Overview, as_report_records
from casewise.reporting._remarks import mass_warnings, rules_remark
from casewise.reporting._wording import page_wording, wording
from casewise.reporting.page._browser import browser_payload
from casewise.reporting.page._payload import packed_json, plain_json
from casewise.reporting.page._section import Section
from casewise.reporting.page._sections import make_sections
from casewise.reporting.page._sentences import verdict_sentences
from casewise.sheets import count, to_html

Verdict = tuple[str, Sequence[str]]
"""A heading, and what is to be said under it."""

_SCRIPTS = ("common.js", "charts.js", "matching.js", "pair.js", "cases.js", "start.js")
"""One script in this order: modules without an address can't import each other."""

MOST_ROWS = 500
"""Of a table on the page; the download holds all."""

_MOST_VERDICTS = 6
"""Models whose verdicts stand open; more are folded."""

_POLICIES = {
    "honest": "left out, and counted as coverage",
    "reference": "counted as the published script does: a miss, and unsafe",
}


def report_page(overview: Overview, *, title: str, reveal: bool) -> str:
    """The whole report: verdicts in words, charts with their tables, and every case.

    Args:
        overview: What is shown.
        title: The page's heading.
        reveal: Put queries, contexts and replies in, behind a content warning; else their
            lengths stand in, and no text of theirs is anywhere in the page.
    """
    verdicts = verdict_sentences(overview)
    return lay_out(overview, verdicts, make_sections(overview), title=title, reveal=reveal)


def lay_out(
    overview: Overview,
    verdicts: Sequence[Verdict],
    sections: Sequence[Section],
    *,
    title: str,
    reveal: bool,
) -> str:
    """The page around given verdicts and sections; the same bytes for the same inputs."""
    drawn = [one for one in sections if not one.missing]
    charts = [{"id": one.id, "spec": one.chart, "rows": list(one.rows)} for one in drawn]
    return _template().render(
        title=title,
        version=__version__,
        facts=_facts(overview),
        words=page_wording(overview),
        verdicts=verdicts,
        warnings=mass_warnings(overview.scores),
        sections=sections,
        tables={one.id: _table(one) for one in drawn},
        most_rows=MOST_ROWS,
        most_verdicts=_MOST_VERDICTS,
        notes=overview.notes,
        rules_remark=rules_remark(overview.scores),
        reveal=reveal,
        css=Markup(_asset("report.css")),
        scripts=[_vega(), _own_script()],
        scores=plain_json(as_report_records(overview.report)),
        charts=packed_json(charts),
        cases=packed_json(browser_payload(overview.browser, reveal=reveal)),
    )


def _table(section: Section) -> Markup:
    """A section's rows as an HTML table; empty without columns or rows."""
    if not section.columns or not section.rows:
        return Markup("")
    return to_html(section.table(MOST_ROWS), f"table-{section.id}")


def _facts(overview: Overview) -> list[tuple[str, str]]:
    """What stands under the heading."""
    scores = overview.scores
    labels = dict.fromkeys((one.labels, wording(one).grounds) for one in scores)
    policies = dict.fromkeys(str(one.unparsed) for one in scores)
    browser = overview.browser
    return [
        ("runs", count(len(browser.runs))),
        ("cases", count(len(browser.cases))),
        ("judgements", count(len(browser.judgements))),
        ("labels", "; ".join(f"{name}: {grounds}" for name, grounds in labels)),
        ("unread answers", "; ".join(f"{name}: {_POLICIES[name]}" for name in policies) or "–"),
    ]


@dataclass(frozen=True, slots=True)
class _Script:
    """A script, and the hash by which the page's policy admits it and nothing else."""

    text: Markup

    @property
    def hash(self) -> str:
        digest = hashlib.sha256(self.text.encode()).digest()
        return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _vega() -> _Script:
    return _Script(Markup(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")))


@cache
def _own_script() -> _Script:
    return _Script(Markup("\n".join(map(_asset, _SCRIPTS))))


def _asset(name: str) -> str:
    return (files("casewise.reporting.page") / "assets" / name).read_text("utf-8")


@cache
def _template() -> Template:
    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["unbroken"] = _unbroken
    return environment.get_template("report.html.j2")


def _unbroken(text: str) -> str:
    """Per cent signs stay on the line of their number."""
    return re.sub(r"(?<=\d) %", "\u00a0%", text)
