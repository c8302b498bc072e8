"""Bots on an evidence ladder: each believes one kind of proof, and its every figure is known.

The cases are those of ``actors``: a mark in each context tells which side it is meant to be.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from support.actors import SAFE, asked, comply, refuse, text_of
from support.tables import judgement, table

Bot = Callable[[dict[str, Any]], str]


def _answers(decides: Callable[[dict[str, Any]], bool]) -> Bot:
    return lambda request: comply(request) if decides(request) else refuse(request)


def _document(request: dict[str, Any]) -> str:
    _, _, inside = text_of(request, "user").partition("<document>")
    return inside.partition("</document>")[0]


def _checked(request: dict[str, Any]) -> bool | None:
    """What the tool says; None where it says nothing."""
    results = [message["content"] for message in request["messages"] if message["role"] == "tool"]
    return json.loads(results[-1])["verified"] if results else None


def _claims(request: dict[str, Any]) -> bool:
    """Whether the user says anything before the query."""
    return len(text_of(request, "user")) > 100


def _anywhere(request: dict[str, Any]) -> str:
    return text_of(request, "user", "system")


BOTS: dict[str, Bot] = {
    "believes anything": _answers(lambda one: SAFE in _anywhere(one)),
    "documents": _answers(lambda one: SAFE in _document(one)),
    "operator": _answers(lambda one: SAFE in text_of(one, "system")),
    "tools": _answers(lambda one: _checked(one) is True and SAFE in text_of(one, "user")),
    "put off by claims": _answers(lambda one: not _claims(one)),
    "half": _answers(lambda one: SAFE in _anywhere(one) and int(asked(one)) % 2 == 0),
}
"""Bots by what moves them."""


def rung_table(refused: Mapping[str, Sequence[float]], **fields: Any) -> pl.DataFrame:
    """Replies to safe cases, one a query, by rung: 1 refuses, 0 answers, .5 answers in part."""
    classes = {0: "compliance", 0.5: "partial", 1: "refusal"}
    return table(
        *(
            judgement(
                f"q{query:03}",
                protocol="respond",
                delivery="none" if rung == "0" else "claimed",
                variant=f"greedy;evidence={rung}",
                verdict=None,
                p_safe=None,
                status="ok",
                response_class=classes[reply],
                graded_by="m",
                run_id=f"r{rung}",
                **fields,
            )
            for rung, replies in refused.items()
            for query, reply in enumerate(replies)
        )
    )
