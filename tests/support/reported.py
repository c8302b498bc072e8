"""Pages for the tests of the report: of small, withheld and hostile judgements."""

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
from support.tables import judgement, random_table, table

import casewise as cw

Record = dict[str, Any]
"""A case, as a line of a file."""

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


def page_of(source: Any, cases: Sequence[Record] = (), **options: Any) -> str:
    """HTML of the page of judgements; the texts of ``cases`` are in it."""
    with TemporaryDirectory() as folder:
        if cases:
            options["cases"] = Path(folder, "cases.jsonl")
            options["cases"].write_text("\n".join(map(json.dumps, cases)), "utf-8")
        return cw.report(source, Path(folder, "report.html"), **options).read_text("utf-8")


def case_of(row: Mapping[str, Any], query: str, context: Record) -> Record:
    """The case of a row, with these texts."""
    known = {name: row[name] for name in ("category", "intended")}
    return known | {"id": row["case_id"], "query": query, "context": context}


def texts_of(table: pl.DataFrame) -> list[Record]:
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


def two_models(queries: int = 20) -> pl.DataFrame:
    """Two models with texts, and some answers unread."""
    unread = pl.col("case_id").is_in(["q00001-safe", "q00002-unsafe"]) & (
        pl.col("model") == "model-0"
    )
    return with_answers(models(2, queries)).with_columns(
        status=pl.when(unread).then(pl.lit("unparsed")).otherwise("status"),
        verdict=pl.when(unread).then(None).otherwise("verdict"),
        p_safe=pl.when(unread).then(None).otherwise("p_safe"),
    )


def page_of_two(**options: Any) -> str:
    """HTML of the page of two models, with the texts of their cases."""
    judged = two_models()
    return page_of(judged, texts_of(judged), **options)


def hostile_page(**options: Any) -> str:
    """HTML whose every text is hostile that a person or a model writes, ids and names too."""
    texts = dict.fromkeys(("category", "model", "answer", "explanation", "error"), HOSTILE)
    rows = [
        judgement("q", side, 0.7) | texts | {"case_id": f"{side} {HOSTILE}"}
        for side in ("safe", "unsafe")
    ]
    context = {HOSTILE: {HOSTILE: HOSTILE}, "constructor": {"__proto__": "x"}}
    cases = [case_of(row, HOSTILE, {**context, "side": row["intended"]}) for row in rows]
    return page_of(table(*rows), cases, title=HOSTILE, **options)
