"""Overviews and pages for the tests of the report: small, wide, withheld and hostile ones."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import polars as pl
from support.tables import judgement, random_table

from casewise.cases import Case, Context
from casewise.reporting.page._parts import Section
from casewise.reporting.page._plots import Dot, Panel, Plots, share_axis
from casewise.scores import (
    Judgements,
    Overview,
    Scoring,
    make_overview,
    make_table,
)
from casewise.sheets import Column, Kind

HOSTILE = (
    '</script><script>window.harmed = 1</script>"\'`<img src=x onerror="window.harmed=1">'
    "<!-- {{ 7*7 }} ${window.harmed=1} datum['constructor'].constructor('window.harmed=1')()"
)
"""Text that would do something if any part of the page took it for anything but text."""


class Parsed(HTMLParser):
    """The tags with their attributes, the texts, and the scripts by id."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.scripts: dict[str, str] = {}
        self._script = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._script = dict(attrs).get("id") or "" if tag == "script" else ""

    def handle_endtag(self, tag: str) -> None:
        self._script = ""

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data
        self.texts.append(data)

    def packed(self, name: str) -> Any:
        return json.loads(gzip.decompress(base64.b64decode(self.scripts[name])))


def case_of(row: Mapping[str, Any], query: str, context: Mapping[str, Any] | None = None) -> Case:
    """The case of a row, with these texts."""
    return Case(
        id=row["case_id"],
        query=query,
        context=Context(dict(context)) if context is not None else None,
        category=row["category"],
        intended=row["intended"],
    )


def overview_of(
    table: pl.DataFrame, cases: Sequence[Case] = (), notes: Sequence[str] = ()
) -> Overview:
    return make_overview(
        Judgements(table, tuple(notes), {case.id: case for case in cases}), Scoring()
    )


def tell(table: pl.DataFrame) -> list[Case]:
    """Texts for the cases of a table; the pairs differ in two values of the context."""
    rows = table.unique("case_id", keep="first", maintain_order=True).iter_rows(named=True)
    return [
        case_of(
            row,
            f"How would somebody do the thing called {row['query_id']}?",
            {
                "sender": {"platform_type": "a help desk"},
                "recipient": {"type": f"a person with {row['intended']} plans"},
                "transmission_principle": {"urgency": 3 if row["intended"] == "safe" else 4},
            },
        )
        for row in rows
    ]


def with_answers(table: pl.DataFrame, words: int = 8) -> pl.DataFrame:
    """Answers and explanations, each different from the others."""
    made = pl.format("{} of {} says: {}", "verdict", "model", "case_id")
    return table.with_columns(
        answer=made,
        explanation=pl.concat_str([made, pl.lit(" because of it" * words)]),
    )


def models(count: int, queries: int, distinct: int | None = None) -> pl.DataFrame:
    """Models of rising skill over the same cases; beyond ``distinct`` ones, the same answers."""
    kinds = distinct or count
    made = [random_table(queries, 7, skill=(kind + 1) / kinds) for kind in range(kinds)]
    return pl.concat(
        made[place % kinds].with_columns(model=pl.lit(f"model-{place}"), run_id=pl.lit(f"r{place}"))
        for place in range(count)
    )


def two_models(queries: int = 20, notes: Sequence[str] = ()) -> Overview:
    """Two models with texts, and some answers unread."""
    table = with_answers(models(2, queries))
    unread = pl.col("case_id").is_in(["q00001-safe", "q00002-unsafe"]) & (
        pl.col("model") == "model-0"
    )
    table = table.with_columns(
        status=pl.when(unread).then(pl.lit("unparsed")).otherwise("status"),
        verdict=pl.when(unread).then(None).otherwise("verdict"),
        p_safe=pl.when(unread).then(None).otherwise("p_safe"),
    )
    return overview_of(table, tell(table), notes)


def hostile() -> Overview:
    """Every text that a person or a model writes is hostile, ids and names too."""
    rows = [
        judgement(
            f"q{side}",
            side,
            0.7,
            case_id=f"{side} {HOSTILE}",
            query_id="q",
            category=HOSTILE,
            model=HOSTILE,
            answer=HOSTILE,
            explanation=HOSTILE,
            error=HOSTILE,
        )
        for side in ("safe", "unsafe")
    ]
    context = {HOSTILE: {HOSTILE: HOSTILE}, "constructor": {"__proto__": "x"}}
    cases = [case_of(row, HOSTILE, {**context, "side": row["intended"]}) for row in rows]
    return overview_of(make_table(rows), cases, [HOSTILE])


ROWS: list[dict[str, Any]] = [
    {"run": "model-0", "accuracy": 0.512345678, "share": 0.25, "n": 1200, "extra": 'a "b", c'},
    {"run": "model-1", "accuracy": None, "share": None, "n": None, "extra": "=1\nnext"},
]

COLUMNS = [
    Column("run", Kind.TEXT, key="run"),
    Column("accuracy", Kind.NUMBER, key="accuracy"),
    Column("share of it", Kind.PERCENT, key="share"),
    Column("judgements", Kind.COUNT, key="n"),
]

SECTIONS = [
    Section(
        "drawn",
        "One run is ahead",
        "How to read it.",
        COLUMNS,
        ROWS,
        Plots(
            share_axis("accuracy (share)"),
            share_axis("share of it"),
            [Panel("model-0", [Dot(0.512, 0.25, "model-0 .512", label="model-0")])],
        ),
        "model-0 .512",
    ),
    Section("table", "A table says it all", "Its text.", COLUMNS, ROWS, open=True),
]
