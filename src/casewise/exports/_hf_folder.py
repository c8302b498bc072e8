"""A folder that ``datasets.load_dataset`` reads, with a data card."""

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import polars as pl
import yaml

import casewise
from casewise.cases import Case, dataset_hash, default_rule, to_fields
from casewise.exports._export_form import (
    CONTENT_WARNING,
    Exported,
    ExportRequest,
    about_parquet,
    fill,
    new_folder,
    show_category,
    show_id,
    withhold,
)
from casewise.judgements import Judgements, conditions, length_of
from casewise.measures import label_fields
from casewise.sheets import Column, Kind, Row, Table, figures, to_markdown

_DTYPES: dict[type[pl.DataType], str] = {
    pl.String: "string",
    pl.Int64: "int64",
    pl.Float64: "float64",
    pl.Boolean: "bool",
}
_LICENCES = ("apache-2.0", "cc-by-4.0", "cc-by-sa-4.0", "cc0-1.0", "mit", "odc-by", "odbl")
"""Licences whose names the Hub knows as they stand."""

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")

_CASE_SCHEMA: dict[str, pl.DataType] = {
    "id": pl.String(),
    "query_id": pl.String(),
    "category": pl.String(),
    "intended": pl.String(),
    "votes_safe": pl.Int64(),
    "votes_unsafe": pl.Int64(),
    "published_safe_rate": pl.Float64(),
    "query_length": pl.Int64(),
    "context_length": pl.Int64(),
    "history_turns": pl.Int64(),
}
_CASE_TEXTS = (
    *("query", "context", "history", "votes", "ratings"),
    *("author_vote", "source", "licence", "language", "tags"),
)
_AS_JSON = ("context", "history", "votes", "ratings", "tags")


def write_hf(request: ExportRequest, judgements: Judgements, cases: Mapping[str, Case]) -> Exported:
    """Write ``data/judgements.parquet``, ``data/cases.parquet`` where cases are known, and a card.

    Withheld, the cases are their ids, categories, votes and the lengths of their texts.
    """
    ids = dict.fromkeys(judgements.table["case_id"])
    known = [cases[case_id] for case_id in ids if case_id in cases]
    tables = {"judgements": judgements.table if request.reveal else withhold(judgements.table)}
    notes = list(judgements.notes)
    if known:
        tables["cases"] = case_table(known, reveal=request.reveal)
    else:
        notes.append("the paths hold no cases: the folder has judgements alone (--cases adds them)")
    if known and request.cases is not None and (lacking := len(ids) - len(known)):
        notes.append(f"{lacking} judged ids are not among the given cases")
    data = {name: _parquet(table, reveal=request.reveal) for name, table in tables.items()}
    infos = [_info(name, table, len(data[name])) for name, table in tables.items()]
    card = _card(request, judgements.table, known, tables["judgements"], infos)
    with new_folder(request.out, request.form, reveal=request.reveal) as folder:
        (folder / "data").mkdir()
        for name, content in data.items():
            (folder / "data" / f"{name}.parquet").write_bytes(content)
        (folder / "README.md").write_bytes(card)
    counts = ", ".join(f"{len(table):,} {name}" for name, table in tables.items())
    return Exported(counts, tuple(notes))


def case_table(cases: Sequence[Case], *, reveal: bool) -> pl.DataFrame:
    """One row a case; what has parts (contexts, histories, votes, tags) as JSON texts."""

    def shown(text: str | None, show: Callable[[str], str]) -> str | None:
        return text if reveal or text is None else show(text)

    rows = []
    for case in cases:
        fields = to_fields(case)
        texts = {name: fields.get(name) for name in _CASE_TEXTS}
        texts |= {name: _json(texts[name]) for name in _AS_JSON}
        row: dict[str, Any] = {
            "id": shown(case.id, show_id),
            "query_id": shown(case.query_id, show_id),
            "category": shown(case.category, show_category),
            "intended": case.intended,
            "votes_safe": case.votes_safe,
            "votes_unsafe": case.votes_unsafe,
            "published_safe_rate": case.published_safe_rate,
            "query_length": length_of(case.query),
            "context_length": length_of(texts["context"]),
            "history_turns": len(case.history),
        }
        rows.append(row | (texts if reveal else {}))
    texts_schema: dict[str, pl.DataType] = dict.fromkeys(_CASE_TEXTS, pl.String()) if reveal else {}
    return pl.DataFrame(rows, schema=_CASE_SCHEMA | texts_schema)


def _json(value: Any) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def _parquet(table: pl.DataFrame, *, reveal: bool) -> bytes:
    out = io.BytesIO()
    table.write_parquet(out, metadata=about_parquet(reveal=reveal))
    return out.getvalue()


def _card(
    request: ExportRequest,
    table: pl.DataFrame,
    cases: Sequence[Case],
    shown: pl.DataFrame,
    infos: Sequence[Mapping[str, Any]],
) -> bytes:
    names = [one["config_name"] for one in infos]
    licence = _licence(cases) if request.reveal else None
    header = {
        "pretty_name": "casewise judgements",
        "license": licence or "other",
        **({} if licence else {"license_name": "see-the-card", "license_link": "README.md"}),
        **({"language": languages} if (languages := _languages(cases)) else {}),
        "tags": ["safety", "contextual-integrity", "llm-evaluation", "casewise"]
        + (["not-for-all-audiences"] if request.reveal else []),
        "size_categories": [_size(len(shown))],
        "configs": [
            {"config_name": name, "default": name == "judgements"}
            | {"data_files": [{"split": "test", "path": f"data/{name}.parquet"}]}
            for name in names
        ],
        "dataset_info": [*infos],
    }
    return fill(
        "hf.md.j2",
        header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True),
        reveal=request.reveal,
        warning=CONTENT_WARNING,
        version=casewise.__version__,
        runs=to_markdown(_runs(table, shown)),
        prompts=_distinct(shown["prompt_version"]),
        hashes=_distinct(shown["dataset_hash"]),
        cases=len(cases),
        cases_hash=dataset_hash(cases) if cases else None,
        licences=_distinct(case.licence for case in cases) if request.reveal else [],
        sources=_distinct(case.source for case in cases) if request.reveal else [],
        columns=list(shown.columns),
    )


def _runs(table: pl.DataFrame, shown: pl.DataFrame) -> Table:
    """A row a run, as the table that is written names it; the label rule as ``score`` takes it."""
    names = ("model", "protocol", "delivery", "ablation", "variant")
    rules = [default_rule(label_fields(part)) for _, part in conditions(table)]
    rows = []
    for rule, (condition, part) in zip(rules, conditions(shown), strict=True):
        named = [condition[name] or None for name in names]
        read = int((part["status"] == "ok").sum())
        rows.append(Row([*named, len(part), read, str(rule)]))
    counts = figures(Kind.COUNT, "judgements", "read")
    return Table([*map(Column, names), *counts, Column("label rule")], rows)


def _info(name: str, table: pl.DataFrame, size: int) -> dict[str, Any]:
    """A configuration in the Hub's terms: columns, rows, bytes in memory and on disk."""
    in_memory = int(table.estimated_size())
    features = [
        {"name": column, "dtype": _DTYPES[type(kind)]} for column, kind in table.schema.items()
    ]
    return {
        "config_name": name,
        "features": features,
        "splits": [{"name": "test", "num_bytes": in_memory, "num_examples": len(table)}],
        "download_size": size,
        "dataset_size": in_memory,
    }


def _licence(cases: Sequence[Case]) -> str | None:
    """The one licence of all cases, as the Hub names it; None where it is another, or several."""
    licences = {(case.licence or "").lower() for case in cases}
    licence = licences.pop() if len(licences) == 1 else None
    return licence if licence in _LICENCES else None


def _languages(cases: Sequence[Case]) -> list[str]:
    return [*filter(_LANGUAGE.fullmatch, _distinct(case.language for case in cases))]


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value})


def _size(n: int) -> str:
    return next((name for limit, name in _SIZES if n < limit), "n>100K")
