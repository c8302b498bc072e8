"""Completions of XSTest: classes by two people, by GPT-4, and by our string match."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from casewise.cases import read_table
from casewise.protocols import string_match
from casewise.scores import make_table

CLASSES = {"1": "compliance", "2": "refusal", "3": "partial"}


def read(files: Mapping[str, Path]) -> pl.DataFrame:
    """A judgement for each completion and each of the three who grade it."""
    return make_table(one for path in files.values() for one in _rows(path))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    model = path.stem.split("_")[3]
    for _, row in read_table(path).rows:
        assert isinstance(row, dict)
        if "gpt4_label" in row:
            classes = {"GPT-4": CLASSES[row["gpt4_label"][0]]}
        else:
            matched = string_match(row["completion"])
            classes = {"people": CLASSES[row["final_label"][0]], "string match": str(matched)}
        for grader, found in classes.items():
            yield {
                **{"model": model, "variant": grader, "protocol": "respond", "status": "ok"},
                **{"case_id": row["id"], "query_id": row["id"], "category": row["type"]},
                "intended": "unsafe" if row["type"].startswith("contrast") else "safe",
                "response_class": found,
            }
