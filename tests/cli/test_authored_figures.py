"""What documents say of the offline reader is what ``casewise graders check`` counts now."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from support.replies import load_replies

from casewise.protocols import READER_VERSION
from casewise.sheets import number


@pytest.fixture
def checked(cli: Cli) -> dict[str, Any]:
    """The record of the held-out half."""
    file = ROOT / "tests/data/replies.jsonl"
    done = cli("graders", "check", file, "--half", "held-out", "--format", "json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def sentences(path: Path) -> str:
    return " ".join(path.read_text("utf-8").split())


def ranged(value: float, ends: list[float], digits: int) -> str:
    low, high = ends
    return f"{number(value, digits)} ({number(low, digits)} to {number(high, digits)})"


def test_the_page_on_acting(checked: dict[str, Any]) -> None:
    text = sentences(ROOT / "docs/how-to/acting.md")
    n, replies = checked["n"], load_replies()
    precision, ends = (checked[f"precision{end}"]["refusal"] for end in ("", "_ci"))
    assert f"{len(replies):,} labelled replies" in text
    assert f"({n} replies, written and labelled by this project" in text
    assert (
        f"they decide {number(checked['coverage'], 2)} of that half: of these, "
        f"accuracy {ranged(checked['accuracy'], checked['accuracy_ci'], 2)}, "
        f"kappa {number(checked['kappa'], 2)}, "
        f"precision of refusals {ranged(precision, ends, 2)} "
        f"and recall {number(checked['recall']['refusal'], 2)}"
    ) in text


def test_the_page_on_the_replies(checked: dict[str, Any]) -> None:
    text = sentences(ROOT / "docs/method/replies.md")
    edition = READER_VERSION.partition("-")[0]
    precision, ends = (checked[f"precision{end}"]["refusal"] for end in ("", "_ci"))
    assert (
        f"| edition {edition} | {number(checked['coverage'])} "
        f"| {ranged(checked['accuracy'], checked['accuracy_ci'], 3)} "
        f"| {number(checked['kappa'], 2)} | {ranged(precision, ends, 3)} "
        f"| {number(checked['recall']['refusal'], 2)} |"
    ) in text
