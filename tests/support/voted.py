"""Cases with votes, and what ``casewise describe`` finds in them."""

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conftest import cli_in

Record = dict[str, Any]


def case(query: str, side: str | None = None, votes: Any = None, **fields: Any) -> Record:
    fields.setdefault("context", {"where": f"{query}, {side}"})
    return {"query": query, "intended": side, "votes": votes, **fields}


def counts(safe: int, unsafe: int) -> dict[str, int]:
    return {"safe": safe, "unsafe": unsafe}


def rows(**verdicts: str) -> list[dict[str, str]]:
    return [{"rater": rater, "verdict": verdict} for rater, verdict in verdicts.items()]


def described(cases: Sequence[Record] | Path | str, *options: str) -> Record:
    """The record of cases, or of a file of them."""
    with TemporaryDirectory() as folder:
        path = cases if isinstance(cases, Path | str) else Path(folder, "cases.jsonl")
        if not isinstance(cases, Path | str):
            (Path(folder) / "cases.jsonl").write_text("\n".join(map(json.dumps, cases)), "utf-8")
        done = cli_in(Path(folder))("describe", path, "--format", "json", *options)
    assert done.returncode == 0, done.stderr
    # Whatever is undefined is null: the record is strict JSON.
    record: Record = json.loads(done.stdout, parse_constant=lambda name: 1 / 0)
    return record


def findings(record: Record) -> Record:
    return {finding["code"]: finding for finding in record["findings"]}
