"""What of the cases and judgements goes into the page: without ``reveal``, no text of theirs."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from casewise.analysis import Browser
from casewise.reporting._wording import rule_wording
from casewise.reporting.page._names import run_names

_OF_CASE = ("case_id", "query_id", "category", "intended", "label", "rate")
_VOTES = ("votes_safe", "votes_unsafe", "published_safe_rate")
_LENGTHS = ("query_length", "context_length")
_CASE_TEXTS = ("query", "context", "history")

_OF_JUDGEMENT = ("run", "case", "epoch", "p_safe", "right")
_CODED = ("status", "said", "quadrant")
_JUDGEMENT_TEXTS = ("answer", "explanation", "error")

_DIGITS = 4
"""Of probabilities and shares here; the page shows three, and the scores keep all."""


def browser_payload(browser: Browser, *, reveal: bool) -> dict[str, Any]:
    """The data of the case browser, by columns; a judgement's texts are one list.

    Args:
        browser: The cases, and every run's judgements of them.
        reveal: Put in the texts of queries, contexts, earlier turns, answers, explanations and
            errors; else their lengths in characters stand in.
    """
    return {
        "against": rule_wording(browser.labels).whom,
        "revealed": reveal,
        "runs": _runs(browser),
        "cases": _cases(browser.cases, reveal=reveal),
        "judgements": _judgements(browser.judgements, reveal=reveal),
    }


def _runs(browser: Browser) -> list[dict[str, Any]]:
    return [
        {"name": name, "acts": condition["protocol"] == "respond"}
        for name, condition in zip(run_names(browser.runs), browser.runs, strict=True)
    ]


def _cases(cases: pl.DataFrame, *, reveal: bool) -> dict[str, list[Any]]:
    columns = _plain(cases, (*_OF_CASE, *_VOTES, *_LENGTHS))
    columns["history_length"] = _lengths(cases["history"])
    return columns | (_plain(cases, _CASE_TEXTS) if reveal else {})


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
        column.name: (column.round(_DIGITS) if column.dtype.is_float() else column).to_list()
        for column in frame.select(names)
    }


def _lengths(texts: pl.Series) -> list[int | None]:
    return texts.cast(pl.String).str.len_chars().to_list()


def _coded(column: pl.Series) -> dict[str, list[Any]]:
    """Few words told many times: the words, and the place of each among them."""
    words = column.drop_nulls().unique(maintain_order=True).to_list()
    places = {word: place for place, word in enumerate(words)}
    return {"words": words, "places": [places.get(word) for word in column.to_list()]}
