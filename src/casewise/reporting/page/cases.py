"""Every case with every run's answers, packed for the page's browser of cases."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from casewise.choices import FailureGroup
from casewise.reporting.names import run_names
from casewise.results import (
    Browser,
    deed,
    first_upper,
    group_titles,
    label_clause,
    people_clause,
    run_wording,
)

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
    said = sorted(set(browser.judgements["said"].drop_nulls()))
    return {
        "against": run_wording(browser.labels, browser.runs).whom,
        "groups": _groups(browser),
        "start": str(FailureGroup.NEW) if browser.changes else "",
        "deeds": {one: deed(one) for one in said},
        "runs": [{"name": name, "acts": run.acts} for name, run in names],
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
