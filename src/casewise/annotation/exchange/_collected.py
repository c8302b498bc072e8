"""Stand-in: the plain CSV of what was collected, until the votes give it."""

import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from casewise.annotation.exchange._folder import write_folder
from casewise.annotation.study import Arm, Study
from casewise.annotation.votes import (
    CheckRecord,
    Collected,
    PersonRecord,
    PersonStatus,
    VoteRecord,
)
from casewise.cases import read_text


def write_collected(folder: Path, collected: Collected) -> None:
    """Write it."""
    text = json.dumps(asdict(collected), default=str)
    write_folder(folder, {"collected.json": text.encode()})


def read_collected(path: Path, study: Study) -> Collected:
    """Read it."""
    assert study.design
    loaded = json.loads(read_text(path / "collected.json"))
    return Collected(
        tuple(_person(one) for one in loaded["people"]),
        tuple(_vote(one) for one in loaded["votes"]),
        tuple(CheckRecord(**one) for one in loaded["checks"]),
    )


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _person(one: dict[str, Any]) -> PersonRecord:
    one["status"] = PersonStatus(one["status"])
    one["demographics"] = tuple((name, value) for name, value in one["demographics"])
    one["started"], one["ended"] = _time(one["started"]), _time(one["ended"])
    return PersonRecord(**one)


def _vote(one: dict[str, Any]) -> VoteRecord:
    one["arm"] = Arm(one["arm"])
    one["time"] = _time(one["time"])
    return VoteRecord(**one)
