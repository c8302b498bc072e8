"""Replies of the legal study, refused or not by its authors' own labels."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from casewise.cases import read_table
from casewise.scores import make_table


def read(files: Mapping[str, Path]) -> pl.DataFrame:
    """A judgement for each reply; OR-Bench's prompts are all such as should be answered."""
    return make_table(one for path in files.values() for one in _rows(path))


def replies(files: Mapping[str, Path]) -> list[tuple[str, str]]:
    """Prompt and reply of each row; of replies the first 500 characters were published."""
    rows = [row for path in files.values() for _, row in read_table(path).rows]
    return [(row["prompt"], row["reply"]) for row in rows if isinstance(row, dict)]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for _, row in read_table(path).rows:
        assert isinstance(row, dict)
        case = f"{row['topic']}/{row['number']}"
        yield {
            **{"model": row["model"], "variant": row["prefix"], "protocol": "respond"},
            **{"case_id": case, "query_id": case, "category": row["topic"], "status": "ok"},
            **{"epoch": 1, "intended": "safe"},
            "response_class": "refusal" if row["is_refused"] == "True" else "compliance",
        }
