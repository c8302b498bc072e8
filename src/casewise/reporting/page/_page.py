"""The report as one HTML file that opens from disk and calls nothing."""

import base64
import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl
from jinja2 import Environment, FunctionLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from casewise import __version__
from casewise.choices import FailureGroup
from casewise.reporting.page import _acting_sections as acting_sections
from casewise.reporting.page import _comparison_sections as comparison_sections
from casewise.reporting.page import _context_sections as context_sections
from casewise.reporting.page import _score_sections as score_sections
from casewise.reporting.page import asset, script_hash
from casewise.reporting.page._parts import (
    CASES,
    Section,
    link_rows,
    run_names,
)
from casewise.reporting.page._plots import Plots, draw
from casewise.reporting.page._strips import lay_lines
from casewise.reporting.page._trend_section import trends
from casewise.results import (
    NO_TREND,
    Scores,
    Trend,
    Verdict,
    deed,
    difference_clause,
    ended_at,
    first_upper,
    group_titles,
    label_clause,
    leading,
    page_wording,
    people_clause,
    provisional_note,
    rules_remark,
    run_warnings,
    run_wording,
    whole_percent,
    wording,
)
from casewise.scores import (
    Browser,
    EvaluationFacts,
    Overview,
    RunCondition,
    context_differences,
    shortened,
)
from casewise.sheets import count, plural, to_html

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


_OF_CASE = ("case_id", "query_id", "category", "intended", "no_context", "label", "rate")
_VOTES = ("votes_safe", "votes_unsafe", "published_safe_rate")
_LENGTHS = ("query_length", "context_length")
_CASE_TEXTS = ("query", "context", "history")

_OF_JUDGEMENT = ("run", "case", "epoch", "p_safe", "doubt", "right", "distance")
_CODED = ("status", "said", "quadrant", "groups", "before", "judged")
_JUDGEMENT_TEXTS = ("answer", "explanation", "error")

_DIGITS = 4
"""Digits of probabilities and shares here; the page shows three, and the scores keep all."""


def browser_payload(browser: Browser, *, reveal: bool) -> dict[str, Any]:
    """The data of the case browser, by columns; a judgement's texts are one list.

    Args:
        browser: The cases, and every run's judgements of them.
        reveal: Put in the texts of queries, contexts, earlier turns, answers, explanations and
            errors; else their lengths in characters stand in.
    """
    return {
        "against": run_wording(browser.labels, browser.runs).whom,
        "revealed": reveal,
        "groups": _groups(browser),
        "deeds": {
            said: deed(said) for said in sorted(set(browser.judgements["said"].drop_nulls()))
        },
        "runs": _runs(browser),
        "cases": _cases(browser.cases, reveal=reveal),
        "judgements": _judgements(browser.judgements, reveal=reveal),
    }


def _groups(browser: Browser) -> list[list[str]]:
    """Names and titles of the groups that have a case; of both mistakes always."""
    there = set(" ".join(browser.judgements["groups"].drop_nulls().unique()).split())
    always = (FailureGroup.REFUSES, FailureGroup.ANSWERS)
    return [
        [str(name), first_upper(title)]
        for name, title in group_titles(browser.runs, browser.labels).items()
        if name in always or name in there
    ]


def _runs(browser: Browser) -> list[dict[str, Any]]:
    return [
        {"name": name, "acts": condition.acts}
        for name, condition in zip(run_names(browser.runs), browser.runs, strict=True)
    ]


def _cases(cases: pl.DataFrame, *, reveal: bool) -> dict[str, Any]:
    columns: dict[str, Any] = _plain(cases, (*_OF_CASE, *_VOTES, *_LENGTHS))
    columns["history_length"] = _lengths(cases["history"])
    columns["label_note"] = _coded(cases["label_note"])
    columns |= {name: _coded(words) for name, words in _case_words(cases).items()}
    return columns | (_plain(cases, _CASE_TEXTS) if reveal else {})


def _case_words(cases: pl.DataFrame) -> dict[str, pl.Series]:
    """Words of each case: what people said, why its label is what it is, how contexts differ."""
    voted = cases.select("votes_safe", "votes_unsafe", "published_safe_rate", "intended")
    labels = cases.select("label", "label_note").iter_rows()
    return {
        "people": pl.Series([people_clause(*row) for row in voted.iter_rows()], dtype=pl.String),
        "because": pl.Series([label_clause(*row) for row in labels], dtype=pl.String),
        "differs": pl.Series(map(difference_clause, context_differences(cases)), dtype=pl.String),
    }


def _judgements(judgements: pl.DataFrame, *, reveal: bool) -> dict[str, Any]:
    columns: dict[str, Any] = _plain(judgements, _OF_JUDGEMENT)
    columns |= {name: _coded(judgements[name]) for name in _CODED}
    for name in _JUDGEMENT_TEXTS:
        columns[f"{name}_length"] = _lengths(judgements[name])
    if reveal:
        # Row by row: an answer often repeats its explanation, and what is near packs well.
        columns["texts"] = list(map(list, judgements.select(_JUDGEMENT_TEXTS).iter_rows()))
    return columns


def _plain(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, list[Any]]:
    return {
        column.name: (shortened(column, _DIGITS) if column.dtype.is_float() else column).to_list()
        for column in frame.select(names)
    }


def _lengths(texts: pl.Series) -> list[int | None]:
    return texts.cast(pl.String).str.len_chars().to_list()


def _coded(column: pl.Series) -> dict[str, list[Any]]:
    """A column of few different words: the words, and the place of each row's among them."""
    words = column.drop_nulls().unique(maintain_order=True).to_list()
    places = {word: place for place, word in enumerate(words)}
    return {"words": words, "places": [places.get(word) for word in column.to_list()]}


def make_sections(overview: Overview, trend: Trend | None = None) -> list[Section]:
    """Sections in the order of the page, of what the runs have.

    Args:
        overview: What is shown.
        trend: The runs in time, to begin with; None leaves them out.
    """
    remark = provisional_note(overview.scores)
    made = [*([] if trend is None else [trends(trend)]), *_made(overview)]
    return [
        replace(one, note=f"{one.note} {remark}".strip()) if _shows_replies(one, overview) else one
        for one in made
        if one is not None
    ]


_OF_REPLIES = {
    *("acting", "corrected", "plane", "quadrants", "deliveries", "judge-act", "pressures"),
    *("retention", "escalation", "ladder", "categories"),
}
"""Sections that always show rates of replies."""


def _shows_replies(section: Section, overview: Overview) -> bool:
    report = overview.report
    also = {
        "ablations": any(row.score.acts and row.change for row in report.rows),
        "swaps": any(one.condition.acts for one in report.counterfactuals),
        "comparisons": any(score.acts for one in overview.comparisons for score in one.scores),
        **dict.fromkeys(("trend",), any(score.acts for score in overview.scores)),
    }
    return section.id in _OF_REPLIES or also.get(section.id, False)


def _made(overview: Overview) -> list[Section | None]:
    return [
        *(
            [comparison_sections.comparisons(overview), comparison_sections.changed_cases(overview)]
            if overview.comparisons
            else []
        ),
        score_sections.judging(overview),
        score_sections.acting(overview),
        acting_sections.corrected(overview),
        score_sections.plane(overview),
        score_sections.quadrants(overview),
        context_sections.ranked(overview),
        comparison_sections.reliability(overview),
        comparison_sections.votes(overview),
        context_sections.ablations(overview),
        acting_sections.deliveries(overview),
        acting_sections.ladder(overview),
        acting_sections.judge_act(overview),
        context_sections.pressures(overview),
        acting_sections.retention(overview),
        acting_sections.escalation(overview),
        context_sections.swaps(overview),
        context_sections.faithfulness(overview),
        score_sections.categories(overview),
        comparison_sections.usage(overview),
    ]


_SCRIPTS = ("common.js", "download.js", "matching.js", "pair.js", "cases.js", "start.js")
"""One script in this order: modules without an address can't import each other."""

MOST_ROWS = 500
"""Most rows of a table on the page; the download holds all."""

_POLICIES = {
    "honest": "left out, and counted as coverage",
    "reference": "counted as the published script does: a miss, and unsafe",
}


def report_page(
    overview: Overview,
    *,
    title: str,
    reveal: bool,
    facts: EvaluationFacts | None = None,
    trend: bool = False,
) -> str:
    """The whole report: four figures, charts with their tables, and every case.

    Args:
        overview: What is shown.
        title: The page's heading.
        reveal: Put queries, contexts and replies in, behind a content warning; else their
            lengths stand in, and no text of theirs is anywhere in the page.
        facts: What the logs say of the runs: the data set's name, and dates.
        trend: Begin with the latest run and the measures over time, which the facts tell.
    """
    over_time = Trend.of(overview, facts) if trend and facts is not None else None
    if over_time is not None and not over_time:
        overview = replace(overview, notes=(*overview.notes, f"{first_upper(NO_TREND)}."))
    if over_time is not None and not overview.comparisons:
        overview = replace(overview, browser=overview.browser.after(over_time.steps))
    return lay_out(
        overview,
        leading(overview, over_time).leading,
        make_sections(overview, over_time),
        title=title,
        reveal=reveal,
        facts=facts,
    )


def lay_out(
    overview: Overview,
    first: Sequence[Verdict],
    sections: Sequence[Section],
    *,
    title: str,
    reveal: bool,
    facts: EvaluationFacts | None = None,
) -> str:
    """The page around given verdicts and sections; the same bytes for the same inputs."""
    runs = overview.browser.runs

    def address(row: Mapping[str, Any]) -> str:
        return str(link_rows([row], runs)[0].get(CASES, ""))

    drawn = [replace(one, rows=link_rows(one.rows, runs)) for one in sections]
    charts = [{"id": one.id, "rows": list(one.rows)} for one in drawn]
    return _template().render(
        title=title,
        version=__version__,
        about=_about(overview, facts),
        counted=_counted(overview),
        shape=overview.report.shape,
        words=page_wording(overview),
        first=first,
        told_lists=lambda verdict: _told_lists(verdict, overview.browser),
        whole_percent=whole_percent,
        warnings=[*Scores.of(overview.report).state_lines, *run_warnings(overview.scores)],
        sections=drawn,
        lines={one.id: lay_lines(one) for one in drawn},
        plots={one.id: draw(one.chart, address) for one in drawn if isinstance(one.chart, Plots)},
        tables={one.id: _table(one) for one in drawn},
        most_rows=MOST_ROWS,
        notes=overview.notes,
        rules_remark=rules_remark(overview.scores),
        reveal=reveal,
        css=Markup(asset("report.css")),
        scripts=_scripts(),
        scores=plain_json(Scores.of(overview.report).record()),
        charts=packed_json(charts),
        cases=packed_json(browser_payload(overview.browser, reveal=reveal)),
    )


def _told_lists(verdict: Verdict, browser: Browser) -> list[tuple[str, str]]:
    """Addresses and titles of the lists that a verdict leads to, with their counts of cases."""
    places = [browser.runs.index(one) for one in verdict.conditions]
    if not places:
        return []
    answers = browser.judgements.filter(run=places[-1])
    titles = group_titles([browser.runs[places[-1]]], browser.labels)
    groups: Sequence[FailureGroup] = (FailureGroup.REFUSES, FailureGroup.ANSWERS)
    chosen = f"#run={places[-1]}"
    beside, since = chosen, ""
    if verdict.comparison is not None:
        groups = (FailureGroup.NEW, FailureGroup.MENDED)
        before = next(one for one, after in browser.changes if after == places[-1])
        beside += f"&beside={before}"
        since = "" if before == places[0] else " since the run before"
    lists = [
        (
            f"{beside}&view={one}",
            f"{titles[one]}{since}",
            pl.col("groups").str.split(" ").list.contains(str(one)),
        )
        for one in groups
    ]
    lists += [
        (f"{chosen}&outcome=wrong", "all wrong answers, the worst first", pl.col("right") == 0),
        (f"{chosen}&outcome=unread", "answers not read", pl.col("said").is_null()),
    ]
    counted = [(to, title, answers.filter(which)["case"].n_unique()) for to, title, which in lists]
    told = [(to, f"{title} ({count(cases)})") for to, title, cases in counted if cases]
    changed = [(f"{beside}&view={DIFFERS}", f"all that changed{since}")] if beside != chosen else []
    return [*told, *changed]


DIFFERS = "differs"
"""View of the cases on which the chosen runs differ."""


def _table(section: Section) -> Markup:
    """A section's rows as an HTML table; empty without columns or rows."""
    if not section.columns or not section.rows:
        return Markup("")
    return to_html(section.table(MOST_ROWS), f"table-{section.id}")


def _about(overview: Overview, facts: EvaluationFacts | None) -> list[str]:
    """The line under the title: data set, cases and runs, labels, date."""
    cases = overview.browser.cases
    queries = cases["query_id"].drop_nulls().n_unique()
    of = f"{count(len(cases))} cases of {count(queries)} queries"
    told = {one.hash: one.name for one in facts.data} if facts else {}
    conditions = [one.condition for one in overview.scores]
    names = dict.fromkeys(_data_name(one, told.get(str(one["dataset_hash"]))) for one in conditions)
    return [
        ", ".join(names) or "data not recorded",
        f"{of}, judged in {plural(len(overview.browser.runs), 'run')}",
        f"measured against {page_wording(overview).against}",
        _date(facts),
    ]


def _data_name(condition: RunCondition, name: str | None) -> str:
    """Name and version of a data set; without a name, what else is known of it."""
    version, hash = condition.dataset_version, condition.dataset_hash
    known = version or (hash and not name and hash[:12])
    return " ".join([name or "data", known] if known else [name or "data not recorded"])


def _date(facts: EvaluationFacts | None) -> str:
    """Time at which the last of the runs ended, as its log says."""
    times = [ended_at(run) for run in facts.runs] if facts else []
    last = max((one for one in times if one), default=None)
    return f"{last:%Y-%m-%d}" if last else "date not recorded"


def _counted(overview: Overview) -> list[tuple[str, str]]:
    """Counts and rules: judgements, labels, unread answers."""
    scores = overview.scores
    labels = dict.fromkeys((one.labels, wording(one).grounds) for one in scores)
    policies = dict.fromkeys(str(one.unparsed) for one in scores)
    shape = overview.report.shape
    _, *told = shape.sentences() if shape is not None else [""]
    return [
        ("judgements", count(len(overview.browser.judgements))),
        ("labels", "; ".join(f"{name}: {grounds}" for name, grounds in labels)),
        *([("cases", " ".join(told))] if told else []),
        ("unread answers", "; ".join(f"{name}: {_POLICIES[name]}" for name in policies) or "–"),
    ]


@cache
def _scripts() -> list[dict[str, str]]:
    """Scripts of the page, each with the hash by which its policy admits it and nothing else."""
    text = "\n".join(map(asset, _SCRIPTS))
    return [{"text": Markup(text), "hash": script_hash(text)}]


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
    environment.filters["dated"] = _dated
    return environment.get_template("report.html.j2")


_DATE = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?( UTC)?[,.)]?")


def _dated(text: str) -> Markup:
    """Keep dates on one line, which browsers break at hyphens."""
    date = r'<span class="date">\g<0></span>'
    return Markup(_DATE.sub(date, str(escape(text))))


def _unbroken(text: str) -> str:
    """Keep per cent signs on the line of their number, and intervals in brackets whole."""
    text = re.sub(r"(?<=\d) %", "\u00a0%", text)
    return re.sub(r"\((\S+) to (\S+)\)", "(\\1\u00a0to\u00a0\\2)", text)
