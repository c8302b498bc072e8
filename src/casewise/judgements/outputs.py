"""Published outputs of CASE-Bench as rows of the judgement table."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from casewise.cases import Case, SharedCases, flags_query, load_output, other_labels
from casewise.judgements.schema import WHOLE, is_withheld
from casewise.protocols import Protocol, published_as

PROMPT_VERSION = "upstream"


def read_outputs(path: Path, shared: SharedCases) -> Iterator[dict[str, Any]]:
    """Rows of a published output file: one a model's answer.

    Args:
        path: The file.
        shared: The cases of files that were read before.

    Raises:
        InputError: The file can't be used.
    """
    for output in load_output(path, shared):
        run = hashlib.sha256(path.read_bytes() + output.model.encode()).hexdigest()[:16]
        protocol = published_as(output.mode)
        condition = {
            "run_id": run,
            "model": output.model,
            "protocol": protocol.name,
            "delivery": "judge",
            "ablation": output.ablation,
            "variant": "published",
            "prompt_version": PROMPT_VERSION,
            "dataset_hash": output.data_hash,
            "dataset_version": output.data_version,
            "epoch": 1,
        }
        for case, answer in zip(output.cases, output.answers, strict=True):
            texts = {"query": case.query, "context": case.context, WHOLE: case}
            yield condition | case_columns(case) | texts | _read_published(protocol, answer)


def case_columns(case: Case) -> dict[str, Any]:
    """Columns of a case."""
    return {
        "case_id": case.id,
        "query_id": case.query_id,
        "category": case.category,
        "intended": case.intended,
        "votes_safe": case.votes_safe,
        "votes_unsafe": case.votes_unsafe,
        "published_safe_rate": case.published_safe_rate,
        "query_flagged": None if is_withheld(case.query) else flags_query(case.query),
        "no_context": True if case.context is None else None,
        "other_labels": other_labels(case),
    }


def _read_published(protocol: Protocol, answer: str | float) -> dict[str, Any]:
    reading = protocol.read_published(answer)
    return {
        "status": str(reading.status),
        "verdict": reading.verdict,
        "p_safe": reading.p_safe,
        "raw_score": reading.raw_score,
        "answer": str(answer),
    }
