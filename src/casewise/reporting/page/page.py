"""The report as one HTML file that opens from disk and calls nothing."""

import base64
import gzip
import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from casewise import __version__
from casewise.choices import FailureGroup
from casewise.judgements import without_paths
from casewise.protocols import RunCondition
from casewise.reporting.analyses import as_table
from casewise.reporting.names import run_names
from casewise.reporting.page import asset, script_hash
from casewise.reporting.page.bars import line_rows
from casewise.reporting.page.rows import is_bad, run_rows
from casewise.reporting.scores import all_verdicts
from casewise.results import (
    NO_TREND,
    Browser,
    Overview,
    Trend,
    figure_titles,
    first_upper,
    group_titles,
    label_clause,
    leading,
    make_browser,
    people_clause,
    pinned_rows,
    predicate,
    remarks,
    run_wording,
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
    scores = overview.scores
    result = leading(overview, over_time)
    analyses = [(analysis, as_table(analysis)) for analysis in scores.analyses if analysis.lines]
    empty = [analysis for analysis in scores.analyses if not analysis.lines]
    notes += [
        *remarks(scores),
        *scores.shape,
        *(note for analysis in empty for note in analysis.notes),
    ]
    if nameless := ", ".join(analysis.id for analysis in empty if not analysis.notes):
        notes.append(f"The runs have no data for: {nameless}.")
    runs = [condition for condition, _ in scores.runs]
    places = {run: place for place, run in enumerate(runs)}
    steps: Sequence[tuple[RunCondition, ...]] = over_time.steps if over_time else ()
    steps = [
        verdict.conditions for verdict in all_verdicts(overview, result) if verdict.comparison
    ] or steps
    changes = [(places[a], places[b]) for a, b in steps if {a, b} <= places.keys()]
    browser = make_browser(scores.table, scores.runs, scores.scoring, overview.cases, changes)
    return _template().render(
        title=title,
        version=__version__,
        about=_about(overview, browser),
        first=[
            (
                replace(verdict, subject=without_paths(verdict.subject)),
                is_bad(verdict) or not verdict.is_decided,
            )
            for verdict in result.leading
        ],
        rows=run_rows(overview, result),
        heads=("Run", "State", *figure_titles(*overview.scores)),
        pinned=pinned_rows(all_verdicts(overview, result), scores.baselines),
        analyses=[
            (analysis, table.columns, line_rows(analysis, table, runs))
            for analysis, table in analyses
        ],
        notes=notes,
        nan=math.nan,
        reveal=reveal,
        css=Markup(asset("report.css")),
        script=_script(),
        scores=plain_json(scores.record()),
        cases=packed_json(browser_payload(browser, reveal=reveal)),
    )


def _about(overview: Overview, browser: Browser) -> list[str]:
    """The line under the title: data set, cases and runs, labels, date."""
    cases = browser.cases
    queries = cases["query_id"].drop_nulls().n_unique()
    data = dict.fromkeys(record.data for record in overview.records if record.data)
    ended = max(
        (record.completed or record.started or "" for record in overview.records), default=""
    )
    return [
        ", ".join(data) or "data not recorded",
        f"{plural(len(cases), 'case')} of {plural(queries, 'query')}",
        plural(len(browser.runs), "run"),
        f"against {wording(*overview.scores).against}",
        *([ended[:10]] if ended else []),
    ]


_SCRIPTS = ("page.js", "cases.js")
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


# --- the cases, packed for the page's script ------------------------------------------------------

_OF_CASE = ("case_id", "query_id", "category", "intended", "no_context", "label", "rate")
_VOTES = ("votes_safe", "votes_unsafe", "published_safe_rate")
_LENGTHS = ("query_length", "context_length")
_CASE_TEXTS = ("query", "context", "history")

_OF_JUDGEMENT = ("run", "case", "epoch", "p_safe", "doubt", "right", "distance")
_CODED = ("status", "said", "groups", "before")
_JUDGEMENT_TEXTS = ("answer", "explanation", "error")

_DIGITS = 5
"""Digits of probabilities and shares; the page shows three."""


def browser_payload(browser: Browser, *, reveal: bool) -> dict[str, Any]:
    """The data of the browser of cases, by columns; a judgement's texts are one list.

    Args:
        browser: The cases, and every run's judgements of them.
        reveal: Put in the texts of queries, contexts, earlier turns, answers, explanations and
            errors; else their lengths in characters stand in.
    """
    names = zip(run_names(browser.runs), browser.runs, strict=True)
    answers = sorted(set(browser.judgements["said"].drop_nulls()))
    return {
        "against": run_wording(browser.labels, browser.runs).whom,
        "groups": _groups(browser),
        "start": str(FailureGroup.NEW) if browser.has_changes else "",
        "deeds": {answer: predicate(answer) for answer in answers},
        "runs": [{"name": name, "acts": run.acts} for name, run in names],
        "cases": _cases(browser.cases, reveal=reveal),
        "judgements": _judgements(browser.judgements, reveal=reveal),
    }


def _groups(browser: Browser) -> list[list[str]]:
    """Names and titles of the groups that have a case; of both mistakes always."""
    groups = set(" ".join(browser.judgements["groups"].drop_nulls().unique()).split())
    always = (FailureGroup.REFUSES, FailureGroup.ANSWERS)
    return [
        [str(name), first_upper(title)]
        for name, title in group_titles(browser.runs, browser.labels).items()
        if name in always or name in groups
    ]


def _cases(cases: pl.DataFrame, *, reveal: bool) -> dict[str, Any]:
    voted = cases.select("votes_safe", "votes_unsafe", "published_safe_rate", "intended")
    labels = cases.select("label", "label_note")
    words = {
        "people": [people_clause(*row) for row in voted.iter_rows()],
        "because": [label_clause(*row) for row in labels.iter_rows()],
    }
    columns: dict[str, Any] = _plain(cases, (*_OF_CASE, *_VOTES, *_LENGTHS))
    columns["history_length"] = _lengths(cases["history"])
    columns["label_note"] = _coded(cases["label_note"])
    columns |= {name: _coded(pl.Series(column, dtype=pl.String)) for name, column in words.items()}
    return columns | (_plain(cases, _CASE_TEXTS) if reveal else {})


def _judgements(judgements: pl.DataFrame, *, reveal: bool) -> dict[str, Any]:
    columns: dict[str, Any] = _plain(judgements, _OF_JUDGEMENT)
    columns |= {name: _coded(judgements[name]) for name in _CODED}
    columns |= {f"{name}_length": _lengths(judgements[name]) for name in _JUDGEMENT_TEXTS}
    if reveal:
        # Row by row: an answer often repeats its explanation, and what is near packs well.
        columns["texts"] = list(map(list, judgements.select(_JUDGEMENT_TEXTS).iter_rows()))
    return columns


def _plain(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, list[Any]]:
    return {
        column.name: (column.round(_DIGITS) if column.dtype.is_float() else column).to_list()
        for column in frame.select(names)
    }


def _lengths(texts: pl.Series) -> list[int | None]:
    return texts.cast(pl.String).str.len_chars().to_list()


def _coded(column: pl.Series) -> dict[str, list[Any]]:
    """A column of few different words: the words, and the place of each row's among them."""
    words = column.drop_nulls().unique(maintain_order=True).to_list()
    places = {word: place for place, word in enumerate(words)}
    return {"words": words, "places": [places.get(word) for word in column.to_list()]}
