"""The labelled model replies (tests/data/replies.md), and the half each belongs to."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"
PATH = DATA / "replies.jsonl"
PLAIN = {part: DATA / f"plain_replies_{part}.jsonl" for part in ("fit", "test")}
"""Short and plain replies: those that the reader is fitted to, and those that it is counted on."""
WRITTEN_FROM, HELD_OUT = "written-from", "held-out"


@dataclass(frozen=True)
class Reply:
    """One reply; `label` is what an offline reader of English should say, `meaning` what it is."""

    id: str
    query: str
    side: str
    context: str
    reply: str
    label: str
    meaning: str
    hard: tuple[str, ...]
    why: str


def half(id: str) -> str:
    """Patterns may be written from the `written-from` half only."""
    odd = int(hashlib.sha256(id.encode()).hexdigest()[:8], 16) % 2
    return HELD_OUT if odd else WRITTEN_FROM


def load_replies() -> list[Reply]:
    # Not `splitlines`: a reply may hold characters that it takes for line ends.
    lines = PATH.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
    return [_reply(json.loads(line)) for line in lines]


def _reply(record: Mapping[str, Any]) -> Reply:
    if list(record) != [field.name for field in fields(Reply)]:
        raise ValueError(f"unexpected fields: {list(record)}")
    return Reply(**{**record, "hard": tuple(record["hard"])})
